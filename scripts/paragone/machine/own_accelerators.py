"""Which accelerators this process sees, by what tells them apart whatever number they have in it.

Slurm starts one task per GPU so that each task's only GPU is number 0: equal numbers are then other GPUs.
"""

import os
from pathlib import Path

from paragone.machine import nvml


def identities() -> list[str]:
    """Return what is equal for two processes of a host if and only if they share the visible accelerators.

    Their UUIDs where NVML has them; else their numbers on the host, where Slurm has given them to this
    process; else the numbers or names in CUDA_VISIBLE_DEVICES.
    """
    visible = _words("CUDA_VISIBLE_DEVICES")
    if there := nvml.uuids():
        if visible is None:
            return there
        # CUDA ignores what follows a number that it does not have, -1 among them.
        known = {str(number): uuid for number, uuid in enumerate(there)}
        return [known.get(word, word) for word in visible]
    # Before CUDA's variable: those are numbers on the host, also where a control group hides the others.
    return _words("SLURM_STEP_GPUS") or visible or []


def tpu_is_attached() -> bool:
    """Return whether the kernel has a TPU: /dev/accel0 and so on up to v4, /dev/vfio/0 and so on from v5e."""
    return any(Path("/dev").glob("accel[0-9]*")) or any(Path("/dev/vfio").glob("[0-9]*"))


def _words(variable: str) -> list[str] | None:
    value = os.environ.get(variable)
    return None if value is None else [word.strip() for word in value.split(",") if word.strip()]
