"""What `snakemake conform` tries: each way of training that takes something from a plugin.

Standard library only: the Snakefile imports this module at parse time.
"""

from dataclasses import replace
from typing import Any

from paragone.base import plugins
from paragone.config.datasets import block_of, data_modules
from paragone.config.run_spec import Spec

EPOCHS, STEPS = 3, 4  # of a trial: one to end it after, one to go on with, and one more


def trials(config: dict[str, Any], runs: dict[str, Spec]) -> dict[str, Spec]:
    """One short run for each workload and backend of some run, by "<workload>.<backend>".

    Only those of which model, optimizer, data or engine are from a plugin; on the fewest replicas of any run.
    """
    found: dict[str, Spec] = {}
    if not plugins.folders():
        return found
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


def from_plugins(config: dict[str, Any], spec: Spec) -> bool:
    """Whether plugins bring the model, the optimizer, the data or the engine of a run."""
    model, optimizer = spec.workload["model"]["name"], spec.workload["optimizer"]["name"]
    modules = data_modules(block_of(config, spec.workload["dataset"], "datasets"))
    return (
        any(model in plugins.added(file) for file in plugins.paths_of("MODELS"))
        or optimizer in plugins.added("engines/reference.py")
        or any(plugins.brings(_file(name)) for name in modules)
        or plugins.brings(f"engines/{spec.backend['engine']}.py")
    )


def _file(module: str) -> str:
    """The path in the library, or in a plugin, of a dotted name."""
    return f"{module.partition('.')[2].replace('.', '/')}.py"
