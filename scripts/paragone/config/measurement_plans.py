"""What backends are to measure beside training: matrix products and all-reduces.

Standard library only: the Snakefile imports this module at parse time.
"""

from collections.abc import Iterable
from typing import Any

from paragone.base.errors import UserError
from paragone.config.expand import named_backend
from paragone.config.run_spec import Spec

FIGURE = "scaling"
STRONG, WEAK = "strong", "weak"


def products(config: dict[str, Any]) -> dict[str, dict[str, str]]:
    """What the block `matmul` asks for: backend name -> name, engine, strategy, device.

    Raises `UserError` for an unknown name.
    """
    names = config["matmul"]["backends"]
    return {name: named_backend(config, name, "matmul.backends") for name in names}


def squares(config: dict[str, Any], backend: dict[str, str]) -> list[int]:
    """The sides of the square products that are multiplied on the device of a backend."""
    key = "squares" if backend["device"] == "cpu" else "accelerator_squares"
    return config["matmul"][key]


def all_reduces(
    config: dict[str, Any], experiments: dict[str, list[Spec]]
) -> dict[str, dict[str, Any]]:
    """What experiments with the figure `scaling` ask for.

    Backend name -> {"backend": its name, engine, strategy, device; "replicas": sorted counts}.
    `experiments`: the runs of each. One replica is always among the counts: the cost of the call
    itself. Raises `UserError` for an experiment that is neither strong nor weak scaling.
    """
    found: dict[str, dict[str, Any]] = {}
    for name, runs in experiments.items():
        if FIGURE not in config["experiments"][name]["figures"]:
            continue
        batches = {(one.global_batch, one.per_replica_batch) for one in runs}
        if len({one.workload["name"] for one in runs}) > 1 or kind(batches) is None:
            raise UserError(
                f"experiments.{name}: the figure {FIGURE!r} needs one workload and one global batch "
                "(strong scaling) or one batch per replica (weak scaling) in its whole matrix"
            )
        for one in runs:
            entry = found.setdefault(one.backend["name"], {"backend": one.backend, "replicas": [1]})
            entry["replicas"] = sorted({*entry["replicas"], one.replicas})
    return {name: found[name] for name in config["backends"] if name in found}


def kind(batches: Iterable[tuple[int, int]]) -> str | None:
    """`strong` for one global batch, `weak` for one per-replica batch, None for neither.

    `batches`: (global, per replica) of each run.
    """
    whole, each = (set(sizes) for sizes in zip(*batches, strict=True))
    if len(whole) == 1:
        return STRONG
    return WEAK if len(each) == 1 else None
