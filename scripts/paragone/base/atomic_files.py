"""Text files that are complete or not there."""

import os
from pathlib import Path


def write_text(text: str, path: Path) -> None:
    """Write under a temporary name, then rename; folders are made."""
    partial = path.with_name(f".{path.name}.partial")
    path.parent.mkdir(parents=True, exist_ok=True)
    partial.write_text(text)
    os.replace(partial, path)
