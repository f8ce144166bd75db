"""What made records say of machines, processes and their neighbors."""

from paragone.base import digests


def make_process(first_epoch: int, host: str, rank: int, config: str) -> dict:
    """A process of the made machine of this name; its times are not set."""
    machine = {
        "host": host,
        "system": "Linux",
        "processor": "Example CPU 3.0 GHz",
        "cores": 2,
        "memory_gib": 8,
        "accelerators": [],
        "driver": None,
    }
    return {
        "rank": rank,
        "started": "2026-01-01T00:00:00+00:00",  # until its times are set
        "ended": None,
        "age": None,
        "first_epoch": first_epoch,
        "machine": {"fingerprint": digests.sha256_of(machine), **machine},
        "cores": 2,
        "devices": ["cpu:0"],
        "threads": 2,
        "variables": {},
        "system_threads": 12,
        "software": {"python": "3.11.9", "numpy": "2.3.0"},
        "git": {"commit": "c" * 40, "dirty": False},
        "config_sha256": config,
        "manifest_sha256": "a" * 64,
        "load": {"before": 0.1, "life": make_activity(10.0)},  # neighbors had 2 % of the host
        "memory": {"peak_host_bytes": 2**30, "peak_device_bytes": None},
        "modes": {"math_mode": "ieee", "deterministic": True, "collectives": None},
        "programs": None,
        "epochs": [],
    }


def make_activity(seconds: float, others: float = 0.02, **changes: float | None) -> dict:
    """Of a host with two cores of which the run has one and others have this share."""
    made = {"seconds": seconds, "run": seconds, "busy": seconds * (1 + 2 * others)}
    made |= {"idle": 2 * seconds - made["busy"], "stolen": 0.0}
    made |= {"quota_throttled": 0.0}
    return made | dict.fromkeys(["heat_throttles", "accelerator_joules"]) | changes
