"""The lock file: what is known of data whose checksums no config lists, written by their first use.

By data set: `files`, name -> SHA-256, and `stand_in`, the shapes that a synthetic stand-in needs. The user
keeps the file beside the config: with it, other data under the same name are an error.
"""

import json
from pathlib import Path
from typing import Any

from filelock import BaseFileLock, FileLock

from paragone.base.atomic_files import write_json
from paragone.base.errors import UserError


def entry(path: Path, dataset: str) -> dict[str, Any]:
    """What the lock file says of a data set, {} if nothing; `UserError` for a file that is no lock file."""
    return _read(path).get(dataset, {})


def update(path: Path, dataset: str, **facts: Any) -> None:
    """Add facts to a data set's entry; other processes may do so at the same time."""
    with _locked(path):
        _add(path, dataset, facts)


def check(path: Path, dataset: str, files: dict[str, str]) -> None:
    """Hold checksums (name -> SHA-256) against those of the first use, or write them if this is the first.

    Raises `UserError` that names a file that is new, gone or changed.
    """
    with _locked(path):
        known = entry(path, dataset).get("files")
        if known is None:
            _add(path, dataset, {"files": files})
            return
    for name in sorted({*known, *files}):
        if known.get(name) != files.get(name):
            state = "is gone" if name not in files else "is new" if name not in known else "changed"
            raise UserError(
                f"{name} of data set {dataset} {state} since its first use: SHA-256 "
                f"{files.get(name, 'none')}, {path} says {known.get(name, 'none')}. Restore the file, or, "
                f"if this is meant, remove {dataset} from {path}"
            )


def _locked(path: Path) -> BaseFileLock:
    """To be held while what the file says is read and changed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    return FileLock(path.with_name(f".{path.name}.lock"))


def _add(path: Path, dataset: str, facts: dict[str, Any]) -> None:
    content = _read(path)
    content[dataset] = content.get(dataset, {}) | facts
    write_json(dict(sorted(content.items())), path)


def _read(path: Path) -> dict[str, dict[str, Any]]:
    try:
        content = json.loads(path.read_bytes())
    except FileNotFoundError:
        return {}
    except ValueError as error:
        raise UserError(f"{path}: not a lock file of data sets ({error}); remove it") from None
    if not isinstance(content, dict) or not all(isinstance(one, dict) for one in content.values()):
        raise UserError(f"{path}: not a lock file of data sets; remove it")
    return content
