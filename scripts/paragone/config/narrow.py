"""A part of the config: the experiments that `only` names, the backends of `frameworks`.

Standard library only: the Snakefile imports this module at parse time.
"""

from typing import Any

from paragone.base.errors import UserError

# What `envs/` has an environment of; that of a GPU or TPU begins with the same name.
FRAMEWORKS = ("tensorflow", "torch", "torch-xla", "jax")
COMPILING = "jax"  # by its XLA, programs are compiled ahead of time


def narrow(config: dict[str, Any]) -> list[str]:
    """Leave out, in place, what `only` or `frameworks` does not name, if they name any.

    The first experiment that is left is then the primary question, unless the primary one is among them,
    and the first backend the baseline, likewise.
    Returns sentences on what `frameworks` has left out. Raises `UserError` for an unknown name.
    """
    _to_experiments(config, config["only"])
    if not config["frameworks"]:
        return []
    return _to_frameworks(config)


def framework_of(environment: str) -> str | None:
    """The framework of an environment; None for one of a plugin's own."""
    named = [name for name in FRAMEWORKS if f"{environment}-".startswith(f"{name}-")]
    return max(named, key=len, default=None)


def _to_experiments(config: dict[str, Any], named: list[str]) -> None:
    known = config["experiments"]
    if not named:
        return
    for name in named:
        if name not in known:
            raise UserError(f"only: there is no experiment {name!r}; known are {', '.join(known)}")
    config["experiments"] = {name: block for name, block in known.items() if name in named}
    config["ahead_of_time"] = config["ahead_of_time"] | {"studies": {}}
    if config["primary"]["experiment"] not in named:
        config["primary"] = config["primary"] | {"experiment": named[0]}


def _to_frameworks(config: dict[str, Any]) -> list[str]:
    """Leave out the backends of other frameworks wherever they are named, and what is then without any."""
    named = config["frameworks"]
    absent = {
        name
        for name, block in config["backends"].items()
        if framework_of(block["environment"]) not in {None, *named}
    }
    known = config["experiments"]
    left = {
        name: block | {"matrix": matrix}
        for name, block in known.items()
        if (matrix := _without(absent, block["matrix"]))
    }
    if not left:
        raise UserError(
            f"frameworks: no experiment has a backend of {' or '.join(named)}; name another framework"
        )
    studies = {name: _of_study(absent, block) for name, block in _compiled(config).items()}
    studies = {name: block for name, block in studies.items() if block["programs"]}
    lost = {*known, *config["ahead_of_time"]["studies"]} - {*left, *studies}
    config["experiments"] = left
    config["ahead_of_time"] = config["ahead_of_time"] | {"studies": studies}
    if config["primary"]["experiment"] not in left:
        config["primary"] = config["primary"] | {"experiment": next(iter(left))}
    if config["baseline"] in absent:
        config["baseline"] = _first(left)
    # Shares of a peak need products.
    multiplying = [name for name in config["matmul"]["backends"] if name not in absent]
    config["matmul"] = config["matmul"] | {"backends": multiplying or [_first(left)]}
    used = {name for block in known.values() for name in _named(block["matrix"])}
    words = [
        (used & absent, f"not of {' or '.join(named)}, as `frameworks` has it"),
        (lost, "nothing is left of them"),
    ]
    return [f"{', '.join(sorted(names))}: {why}." for names, why in words if names]


def _compiled(config: dict[str, Any]) -> dict[str, Any]:
    """The studies of programs that can be compiled."""
    return config["ahead_of_time"]["studies"] if COMPILING in config["frameworks"] else {}


def _of_study(absent: set[str], block: dict[str, Any]) -> dict[str, Any]:
    lists = ("programs", "largest_batch", "validation")
    return block | {key: _without(absent, block[key]) for key in lists if key in block}


def _without(absent: set[str], rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows of a matrix or a study without these backends; a row that has no other is left out."""
    kept = [
        row | {"backend": [name for name in _named([row]) if name not in absent]} for row in rows
    ]
    return [row for row in kept if row["backend"]]


def _named(rows: list[dict[str, Any]]) -> list[str]:
    """The backends that rows name."""
    each = [row["backend"] for row in rows]
    return [name for one in each for name in (one if isinstance(one, list) else [one])]


def _first(experiments: dict[str, Any]) -> str:
    """The first backend that trains."""
    return next(name for block in experiments.values() for name in _named(block["matrix"]))
