"""A part of the config: the experiments that `only` names, the backends of `frameworks`."""

from msgspec.structs import replace

from paragone.base.errors import UserError
from paragone.config.environments import framework_of
from paragone.config.expand import known_name
from paragone.config.run_spec import as_list
from paragone.config.schema import Config, Experiment, MatrixRow

MULTIPLYING = ("tensorflow", "torch", "torch_xla", "jax")  # engines with matrix products


def narrow(config: Config) -> list[str]:
    """Leave out, in place, what `only` or `frameworks` does not name, if they name any.

    Without the primary experiment, the first of `only` that is left, or of all, is primary; without the
    baseline, the first backend of the first experiment with the figure that has one. Returns sentences on
    what `frameworks` has left out. Raises `UserError` for an unknown name, and for given runs, which are what
    they are.
    """
    if config.only:
        names = {known_name(config.experiments, name, "only") for name in config.only}
        config.experiments = {
            name: block for name, block in config.experiments.items() if name in names
        }
        _choose_primary(config)
    if not config.frameworks:
        return []
    if isinstance(config.records_only, dict):
        raise UserError("frameworks: given runs are drawn whole, as those of bundles; leave it out")
    return _to_frameworks(config)


def _choose_primary(config: Config) -> None:
    left = config.experiments
    if config.primary.experiment not in left:
        first = next(name for name in [*config.only, *left] if name in left)
        config.primary = replace(config.primary, experiment=first)


def _to_frameworks(config: Config) -> list[str]:
    experiments, frameworks = config.experiments, " or ".join(config.frameworks)
    absent = {
        name
        for name, block in config.backends.items()
        if framework_of(block.environment) not in {None, *config.frameworks}
    }
    matrices = {name: _without(absent, block.matrix) for name, block in experiments.items()}
    left = {
        name: replace(experiments[name], matrix=rows) for name, rows in matrices.items() if rows
    }
    if not left:
        raise UserError(
            f"frameworks: no experiment has a backend of {frameworks}; name another framework"
        )
    config.experiments = left
    _choose_primary(config)
    if config.baseline in absent:
        drawn = {name: block for name, block in left.items() if "variants" in block.figures}
        config.baseline = next(iter(_trained(drawn or left)))
    # Shares of a peak need products.
    multiplying = [name for name in config.matmul.backends if name not in absent]
    possible = [name for name in _trained(left) if config.backends[name].engine in MULTIPLYING]
    config.matmul = replace(config.matmul, backends=multiplying or possible[:1])
    sentences = {
        f"not of {frameworks}, as `frameworks` has it": absent & {*_trained(experiments)},
        "experiments of which nothing is left": {*experiments} - {*left},
    }
    return [f"{', '.join(sorted(names))}: {why}." for why, names in sentences.items() if names]


def _trained(experiments: dict[str, Experiment]) -> dict[str, None]:
    rows = [row for block in experiments.values() for row in block.matrix]
    return dict.fromkeys(name for row in rows for name in as_list(row.backend))


def _without(absent: set[str], rows: list[MatrixRow]) -> list[MatrixRow]:
    kept = [
        replace(row, backend=[name for name in as_list(row.backend) if name not in absent])
        for row in rows
    ]
    return [row for row in kept if row.backend]
