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
