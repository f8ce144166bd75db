"""A part of the config: the experiments that `only` names, the backends of `frameworks`.

Standard library only: the Snakefile imports this module at parse time.
"""

from typing import Any

from paragone.base.errors import UserError
from paragone.config.run_spec import as_list

# What `envs/` has an environment of; that of a GPU or TPU begins with the same name.
FRAMEWORKS = ("tensorflow", "torch", "torch-xla", "jax")
MULTIPLYING = ("tensorflow", "torch", "torch_xla", "jax")  # engines with matrix products
RELATIVE = "variants"  # the figure of everything relative to the baseline


def narrow(config: dict[str, Any]) -> list[str]:
    """Leave out, in place, what `only` or `frameworks` does not name, if they name any.

    Without the primary experiment, the first of `only` that is left, or of all, is primary; without the
    baseline, the first backend of the first experiment with the figure that has one. Returns sentences on
    what `frameworks` has left out. Raises `UserError` for an unknown name, and for given runs, which are what
    they are.
    """
    _to_experiments(config, config["only"])
    if not config["frameworks"]:
        return []
    if isinstance(config["records_only"], dict):
        raise UserError("frameworks: given runs are drawn whole, as those of bundles; leave it out")
    return _to_frameworks(config)


def framework_of(environment: str) -> str | None:
    """The framework of an environment; None for one of a plugin's own."""
    frameworks = [name for name in FRAMEWORKS if f"{environment}-".startswith(f"{name}-")]
    return max(frameworks, key=len, default=None)


def _to_experiments(config: dict[str, Any], names: list[str]) -> None:
    experiments = config["experiments"]
    if not names:
        return
    for name in names:
        if name not in experiments:
            raise UserError(
                f"only: there is no experiment {name!r}; known are {', '.join(experiments)}"
            )
    config["experiments"] = {name: block for name, block in experiments.items() if name in names}
    if config["primary"]["experiment"] not in names:
        config["primary"] = config["primary"] | {"experiment": names[0]}


def _to_frameworks(config: dict[str, Any]) -> list[str]:
    """Leave out the backends of other frameworks wherever they are named, and what is then without any."""
    frameworks, experiments = config["frameworks"], config["experiments"]
    absent = {
        name
        for name, block in config["backends"].items()
        if framework_of(block["environment"]) not in {None, *frameworks}
    }
    matrices = {name: _without(absent, block["matrix"]) for name, block in experiments.items()}
    left = {name: experiments[name] | {"matrix": rows} for name, rows in matrices.items() if rows}
    if not left:
        raise UserError(
            f"frameworks: no experiment has a backend of {' or '.join(frameworks)}; name another framework"
        )
    config["experiments"] = left
    _put_in_place(config, absent)
    sentences = {
        f"not of {' or '.join(frameworks)}, as `frameworks` has it": absent
        & {*_trained(experiments)},
        "experiments of which nothing is left": {*experiments} - {*left},
    }
    return [f"{', '.join(sorted(names))}: {why}." for why, names in sentences.items() if names]


def _put_in_place(config: dict[str, Any], absent: set[str]) -> None:
    """Another primary question, baseline, and backend of products, where theirs are left out."""
    left, backends = config["experiments"], config["backends"]
    if config["primary"]["experiment"] not in left:
        first = next(name for name in [*config["only"], *left] if name in left)
        config["primary"] = config["primary"] | {"experiment": first}
    if config["baseline"] in absent:
        drawn = {name: block for name, block in left.items() if RELATIVE in block["figures"]}
        config["baseline"] = next(iter(_trained(drawn or left)))
    # Shares of a peak need products.
    multiplying = [name for name in config["matmul"]["backends"] if name not in absent]
    possible = [name for name in _trained(left) if backends[name]["engine"] in MULTIPLYING]
    config["matmul"] = config["matmul"] | {"backends": multiplying or possible[:1]}


def _trained(experiments: dict[str, Any]) -> dict[str, None]:
    """The backends of experiments, in order."""
    return dict.fromkeys(name for block in experiments.values() for name in _named(block["matrix"]))


def _without(absent: set[str], rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows of a matrix without these backends; a row that has no other is left out."""
    kept = [
        row | {"backend": [name for name in _named([row]) if name not in absent]} for row in rows
    ]
    return [row for row in kept if row["backend"]]


def _named(rows: list[dict[str, Any]]) -> list[str]:
    """The backends that rows name."""
    return [name for row in rows for name in as_list(row["backend"])]
