"""The options of programs that train one run, which scripts/launch.py passes to its workers."""

import argparse
from collections.abc import Callable
from pathlib import Path

from paragone.base.processes import IN_FILE
from paragone.base.ranks import JOIN_TIMEOUT

Options = dict[str, tuple[Callable[[str], object], bool, str]]
# Of every worker: what it reads, and with how many cores.
_READING: Options = {
    "spec": (str, True, "specification of the run, JSON"),
    "manifest": (Path, True, "manifest of its data set"),
    "data-folder": (Path, True, "`data.folder` of the config"),
    "weights": (Path, False, "file that scripts/fetch.py --model wrote"),
    "first-steps": (Path, False, "what probe.py expects of its first steps"),
    "threads": (int, True, "CPU cores to use at most, per host"),
}
# Of a worker that trains to the end.
_TRAINING: Options = {
    "checkpoints": (Path, True, "folder to resume from"),
    "place": (int, False, "place of this run in the order of all, from 1 on"),
    "places": (int, False, "how many runs this order has"),
    "record": (Path, True, "record.json to write"),
    "predictions": (Path, True, "predictions.npz to write"),
}


def add_options(parser: argparse.ArgumentParser, *names: str) -> None:
    """Add some of the options of a run to a program."""
    for name in names:
        kind, required, text = (_READING | _TRAINING)[name]
        nargs = None if required else "?"  # rules name the file that there is, or none
        parser.add_argument(f"--{name}", type=kind, required=required, nargs=nargs, help=text)


def run_parser(description: str | None) -> argparse.ArgumentParser:
    """Return the options that launch.py and train.py share."""
    parser = worker_parser(description)
    add_options(parser, *_TRAINING)
    return parser


def worker_parser(description: str | None) -> argparse.ArgumentParser:
    """Return the options of every worker of a run or of a contest."""
    parser = argparse.ArgumentParser(description=description, fromfile_prefix_chars=IN_FILE)
    add_options(parser, *_READING)
    parser.add_argument(
        "--join-timeout",
        type=float,
        default=JOIN_TIMEOUT,
        help="seconds that workers wait for each other: before, in and after training",
    )
    return parser


def run_arguments(options: argparse.Namespace) -> list[str]:
    """Return the command line that gives another program the same options."""
    names = (*_READING, *_TRAINING, "join-timeout")
    values = {name: getattr(options, name.replace("-", "_")) for name in names}
    return [f"--{name}={value}" for name, value in values.items() if value is not None]
