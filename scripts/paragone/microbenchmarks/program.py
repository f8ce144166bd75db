"""A process that measures: the cores that it may use, and what other processes do meanwhile."""

import os

from msgspec.structs import replace

from paragone.machine import limits, process_entry
from paragone.machine.activity import HostWatch
from paragone.records.run_record import MeasuringProcess


class Measuring:
    """This process while it measures: at most `threads` cores, and what other processes do."""

    def __init__(self, threads: int) -> None:
        self._host = HostWatch([os.getpid()])
        self.threads = limits.claim_cores(threads)
        self._process = replace(process_entry.at_start(), threads=self.threads)

    def stop(self) -> MeasuringProcess:
        """Return the process as the result holds it. Call it right after the work."""
        load = replace(self._process.load, life=self._host.life())
        return replace(self._process, load=load)
