"""Which module trains an engine's steps under its framework's own profiler.

Standard library only: the Snakefile imports this module at parse time.
"""

from paragone.base import plugins

# Of engines that have no module of their own name: that of their framework.
_SHARED = {
    "keras_fit": "tensorflow",
    "torch_compile": "torch",
    "torch_ddp": "torch",
    "torch_fsdp": "torch",
    "torch_xla_multiprocess": "torch_xla",
}


def profiler_of(engine: str) -> str | None:
    """The module in `engines/`, of the project or a plugin, not imported; None if there is none."""
    name = f"{_SHARED.get(engine, engine)}_profile"
    return name if plugins.file_of(f"engines/{name}.py") else None


def loaded_for(engine: str) -> list[str]:
    """The dotted names of what profiling an engine's steps loads by name beside the engine."""
    name = profiler_of(engine)
    return [f"paragone.engines.{name}"] if name else []
