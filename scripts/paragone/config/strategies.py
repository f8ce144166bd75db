"""What an engine's module declares, read without importing its framework.

Each has `STRATEGIES = {name: how its replicas are spread over workers}` and `BATCH_NORM`, what is normalized
together and whose running statistics evaluate: WHOLE, MEAN or FIRST. One that has other feeds than
BATCHES has `FEEDS`, one that can be tuned `TUNED = {option: what it does}`, of the backends'
`tuned.options`, one whose program is partitioned over every device that its process has `DRIVES_ALL = True`.
Standard library only: the Snakefile imports this module at parse time.
"""

from functools import cache
from pathlib import Path
from typing import Any

from paragone.base import plugins
from paragone.base.errors import UserError
from paragone.base.source_files import literal, names_of
from paragone.config.run_spec import BATCHES

ONE_WORKER = "one worker"  # one process drives all replicas
ONE_REPLICA_EACH = "one replica each"  # as many processes as replicas
SEVERAL_WORKERS = "several workers"  # any number of processes that divides the replicas evenly

WHOLE = "whole"  # the global batch
MEAN = "mean"  # each replica's part; the mean of their statistics
FIRST = "first"  # each replica's part; the statistics of the first replica


def strategies(engine: str) -> dict[str, str]:
    """The strategies of an engine and how each spreads its replicas over workers."""
    found = _declared(engine, "STRATEGIES")
    known = {ONE_WORKER, ONE_REPLICA_EACH, SEVERAL_WORKERS}
    if not isinstance(found, dict) or not found or not {*found.values()} <= known:
        raise UserError(
            f"{_file(engine)}: STRATEGIES = {found!r} is no dictionary from names to "
            f"{', '.join(map(repr, sorted(known)))}"
        )
    return found


def batch_norm(engine: str) -> str:
    """What an engine normalizes together: WHOLE, MEAN or FIRST."""
    found: str = _declared(engine, "BATCH_NORM")
    if found not in (known := (WHOLE, MEAN, FIRST)):
        raise UserError(f"{_file(engine)}: BATCH_NORM = {found!r} is none of {known}")
    return found


def feeds(engine: str) -> tuple[str, ...]:
    """How batches can get to an engine's devices; by default each is copied as it is drawn."""
    return _declared(engine, "FEEDS", (BATCHES,))


def tuning_options(engine: str) -> dict[str, str]:
    """The options by which an engine can be tuned, and what each does."""
    return _declared(engine, "TUNED", {})


def drives_all(engine: str) -> bool:
    """Whether an engine has a replica on every device that there is, and cannot have fewer."""
    return _declared(engine, "DRIVES_ALL", False)


def is_here(engine: str) -> bool:
    """Whether the project or a plugin has an engine."""
    return plugins.file_of(f"engines/{engine}.py") is not None


def check_engine(engine: str) -> None:
    """Raise `UserError` that names the file for an engine that does not declare all that it must."""
    strategies(engine)
    batch_norm(engine)
    if "ENGINE" not in names_of(_file(engine)):
        raise UserError(f"{_file(engine)}: has no `ENGINE = ...`, the class of the engine; add it")


def _file(engine: str) -> Path:
    file = plugins.file_of(f"engines/{engine}.py")
    if file is None:
        known = ", ".join(plugins.names_in("engines"))
        raise UserError(f"there is no engine {engine!r}; there are {known}")
    return file


def _declared(engine: str, name: str, default: Any = None) -> Any:
    file = _file(engine)
    value = _literal(file, name)
    if value is None and default is None:
        raise UserError(f"{file}: does not declare {name} = ...; see docs/extending.md#an-engine")
    return default if value is None else value


_literal = cache(literal)  # a matrix asks for each of its runs


def workers_of(engine: str, strategy: str, replicas: int) -> int:
    """As many workers as a strategy has by default: one for all replicas, or one for each.

    Raises `UserError` for a strategy that the engine does not have.
    """
    if strategy not in (known := strategies(engine)):
        raise UserError(f"engine {engine} has no strategy {strategy!r}; it has {', '.join(known)}")
    return 1 if known[strategy] == ONE_WORKER else replicas
