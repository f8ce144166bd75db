"""Which code made a result."""

import subprocess
from pathlib import Path
from typing import Any

_CODE = Path(__file__).parents[2]


def git_state(folder: Path = _CODE) -> dict[str, Any] | None:
    """The commit that `folder` is checked out at, and whether tracked files differ from it (`dirty`).

    None outside a repository, before its first commit, or without git.
    """
    line = ["git", "status", "--porcelain=v2", "--branch", "--untracked-files=no"]
    try:
        done = subprocess.run(line, cwd=folder, capture_output=True, text=True, check=False)
    except OSError:
        return None
    lines = done.stdout.splitlines()
    commit = next((text.split()[-1] for text in lines if text.startswith("# branch.oid")), None)
    if done.returncode or commit in (None, "(initial)"):
        return None
    return {"commit": commit, "dirty": any(not text.startswith("#") for text in lines)}
