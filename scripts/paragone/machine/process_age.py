"""How long this process has been running, by the kernel's clock."""

import os
import time
from pathlib import Path


def age() -> float:
    """Seconds since this process started.

    From the kernel's clock since boot: psutil is wrong by up to a second, because it adds the
    time of the boot in whole seconds.
    """
    fields = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
    started = int(fields[19]) / os.sysconf("SC_CLK_TCK")  # field 22 of all, after name and state
    return time.clock_gettime(time.CLOCK_BOOTTIME) - started
