"""What the programs that measure products and all-reduces have in common: options, process, module."""

import argparse
import os
from importlib.util import find_spec
from pathlib import Path

import msgspec
from msgspec.structs import replace

from paragone.base.errors import UserError
from paragone.base.processes import IN_FILE
from paragone.config.run_spec import Backend
from paragone.machine import limits, process_entry
from paragone.machine.activity import HostWatch
from paragone.records.run_record import MeasuringProcess


def measuring_parser(description: str | None) -> argparse.ArgumentParser:
    """The options that both programs have."""
    parser = argparse.ArgumentParser(description=description, fromfile_prefix_chars=IN_FILE)
    parser.add_argument(
        "--backend", type=_backend, required=True, help="JSON: name, engine, strategy, device"
    )
    parser.add_argument("--repeats", type=int, required=True, help="timed runs of each case")
    parser.add_argument("--threads", type=int, required=True, help="CPU cores to use at most")
    parser.add_argument("--output", type=Path, required=True, help="result to write, JSON")
    return parser


class Measuring:
    """This process while it measures: at most `threads` cores, and what other processes do."""

    def __init__(self, threads: int) -> None:
        self._host = HostWatch([os.getpid()])
        self.threads = limits.claim_cores(threads)
        self._process = replace(process_entry.at_start(), threads=self.threads)

    def stop(self) -> MeasuringProcess:
        """The process as the result holds it. Call it right after the work."""
        load = process_entry.load_at_end(self._process.load, self._host.life())
        return replace(self._process, load=load)


def module_of(engine: str, package: str, what: str, remedy: str) -> str:
    """The dotted name of the module of an engine in a package of this room, not imported.

    Raises `UserError` that names the remedy where there is none.
    """
    name = f"paragone.microbenchmarks.{package}.{engine}"
    if find_spec(name) is None:
        raise UserError(
            f"--backend: no {what} for engine {engine!r}; add "
            f"scripts/paragone/microbenchmarks/{package}/{engine}.py "
            f"or {remedy}"
        )
    return name


def _backend(text: str) -> Backend:
    try:
        return msgspec.json.decode(text, type=Backend)
    except (msgspec.MsgspecError, UnicodeError) as error:
        raise UserError(
            f"--backend: {text!r} is not a backend ({error}); it needs name, engine, strategy, device"
        ) from None
