"""Where the folders of plugins are: programs inherit it from the workflow."""

import os
from pathlib import Path

VARIABLE = "PARAGONE_PLUGINS"  # absolute paths, as PATH has them
# Where plugins may have modules.
PACKAGES = (
    "models",
    "engines",
    "data/forms",
    "data/builders",
    "reporting/figures",
    "reporting/tables",
)


def folders() -> list[Path]:
    """The folders of all plugins, in the order of the config."""
    return [Path(name) for name in os.environ.get(VARIABLE, "").split(os.pathsep) if name]


def place_in_plugin(error: BaseException) -> str:
    """File and line of the innermost call in a plugin that an error went through; "" if there is none."""
    trace, innermost = error.__traceback__, ""
    packages = [folder / package for folder in folders() for package in PACKAGES]
    while trace:
        file = Path(trace.tb_frame.f_code.co_filename)
        if any(file.is_relative_to(place) for place in packages):
            innermost = f"{file}, line {trace.tb_lineno}"
        trace = trace.tb_next
    return innermost
