"""What `snakemake conform` tries: each way of training that takes something from a plugin.

Standard library only: the Snakefile imports this module at parse time.
"""

from dataclasses import replace
from typing import Any

from paragone.base import plugins
from paragone.config.datasets import block_of, data_modules
from paragone.config.run_spec import Spec

EPOCHS, STEPS = 3, 4  # of a trial: one to end it after, one to go on with, and one more
_MODELS = ("models/torch.py", "models/tensorflow.py", "models/jax.py")


def trials(config: dict[str, Any], runs: dict[str, Spec]) -> dict[str, Spec]:
    """One short run for each workload and backend of some run, by "<workload>.<backend>".

    Only those of which model, optimizer, data or engine are from a plugin; on the fewest replicas of any run.
    """
    found: dict[str, Spec] = {}
    for spec in sorted(runs.values(), key=lambda one: one.replicas):
        if from_plugins(config, spec):
            workload = {key: value for key, value in spec.workload.items() if key != "target"}
            short = replace(
                spec,
                workload=workload,
                epochs=EPOCHS,
                steps_per_epoch=min(STEPS, spec.steps_per_epoch or STEPS),
                precision="float32",
                seed=config["seed"],
                tuning={},
            )
            found.setdefault(f"{spec.workload['name']}.{spec.backend['name']}", short)
    return found


def from_plugins(config: dict[str, Any], spec: Spec) -> list[str]:
    """Which parts of a run plugins bring: "model", "optimizer", "data", "engine"."""
    modules = data_modules(block_of(config, spec.workload["dataset"], "datasets"))
    brought = {
        "model": any(spec.workload["model"]["name"] in plugins.added(file) for file in _MODELS),
        "optimizer": spec.workload["optimizer"]["name"] in plugins.added("engines/reference.py"),
        "data": any(plugins.brings(_file(name)) for name in modules),
        "engine": plugins.brings(f"engines/{spec.backend['engine']}.py"),
    }
    return [part for part, true in brought.items() if true]


def _file(module: str) -> str:
    """The path in the library, or in a plugin, of a dotted name."""
    return f"{module.partition('.')[2].replace('.', '/')}.py"
