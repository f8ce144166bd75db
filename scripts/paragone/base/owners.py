"""Whose a folder is, asked in a way that also holds where a file system maps owners."""

import os
import tempfile
from pathlib import Path


def is_own(folder: Path) -> bool:
    """Whether this process's files belong to the same user as the folder that they are made in.

    Numbers of users are not compared: on a file system that maps owners, own files may carry another one.
    """
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            return os.fstat(file.fileno()).st_uid == folder.stat().st_uid
    except PermissionError:
        return False
