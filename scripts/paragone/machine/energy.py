"""The energy that the machine draws, as sensors report it; never an estimate."""

import time
from pathlib import Path
from threading import Lock, Thread

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
        self._zones = [zone for zone in zones if _text(zone, "name").startswith("package")]
        self._drawn, self._reading = 0, Lock()
        try:
            self._last = [_read(zone, "energy_uj") for zone in self._zones]
            self._range = [_read(zone, "max_energy_range_uj") for zone in self._zones]
        except OSError:  # the counters are root's on most machines
            self._zones, self._last, self._range = [], [], []
        if self._zones:
            Thread(target=self._sample, args=(period,), daemon=True).start()

    def joules(self) -> dict[str, float | None]:
        """Return joules since a fixed moment: `cpu_joules`, `accelerator_joules`; None without a sensor."""
        self._advance()
        cpu = self._drawn / 1e6 if self._zones else None
        return {"cpu_joules": cpu, "accelerator_joules": nvml.joules()}

    def _sample(self, period: float) -> None:
        while True:
            time.sleep(period)
            self._advance()

    def _advance(self) -> None:
        """Add what was drawn since the last reading; a counter starts again from 0 at its range."""
        with self._reading:
            now = [_read(zone, "energy_uj") for zone in self._zones]
            for new, old, size in zip(now, self._last, self._range, strict=True):
                self._drawn += new - old if new >= old else new - old + size
            self._last = now


def _read(zone: Path, name: str) -> int:
    return int(_text(zone, name))


def _text(zone: Path, name: str) -> str:
    return (zone / name).read_text(encoding="utf-8")
