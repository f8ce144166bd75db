"""The energy that the machine draws while a process runs, as sensors report it; never an estimate."""

from pathlib import Path
from threading import Event, Thread

from paragone.machine import nvml

RAPL = Path("/sys/class/powercap")
PERIOD = 20.0  # seconds: the smallest counters known, 65 kJ, wrap after that only above 3 kW


class EnergyMeter:
    """Counts joules from its creation: of all processor packages, and of all accelerators.

    Sensors count devices, not processes: idle parts and other processes are included.
    """

    def __init__(self, rapl: Path = RAPL, period: float = PERIOD) -> None:
        # intel-rapl:0 is a package (AMD's too have this name); intel-rapl:0:1 is a part of one.
        zones = [zone for zone in rapl.glob("intel-rapl:*") if zone.name.count(":") == 1]
        self._zones = [zone for zone in zones if (zone / "name").read_text().startswith("package")]
        self._drawn, self._accelerators = 0, nvml.joules()
        self._done = Event()
        try:
            self._last = [_read(zone, "energy_uj") for zone in self._zones]
            self._range = [_read(zone, "max_energy_range_uj") for zone in self._zones]
        except OSError:  # the counters are root's on most machines
            self._zones = []
        if self._zones:
            self._sampler = Thread(target=self._sample, args=(period,), daemon=True)
            self._sampler.start()

    def stop(self) -> dict[str, float | None]:
        """Joules since the start: `cpu_joules`, `accelerator_joules`; None where no sensor measures."""
        cpu = None
        if self._zones:
            self._done.set()
            self._sampler.join()
            self._advance()
            cpu = self._drawn / 1e6
        before, now = self._accelerators, nvml.joules()
        drawn = None if before is None or now is None else now - before
        return {"cpu_joules": cpu, "accelerator_joules": drawn}

    def _sample(self, period: float) -> None:
        while not self._done.wait(period):
            self._advance()

    def _advance(self) -> None:
        """Add what was drawn since the last reading; a counter starts again from 0 at its range."""
        now = [_read(zone, "energy_uj") for zone in self._zones]
        for new, old, size in zip(now, self._last, self._range, strict=True):
            self._drawn += new - old if new >= old else new - old + size
        self._last = now


def _read(zone: Path, name: str) -> int:
    return int((zone / name).read_text())
