"""What a program is asked to do: one JSON document, decoded into one type.

    python scripts/train.py job.json

The rules write these documents, see rules/common.smk.
"""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from paragone.base.atomic_files import write_bytes
from paragone.base.errors import UserError


class Job(msgspec.Struct, forbid_unknown_fields=True):
    """The document of a program; its keys are the fields."""


def read_job(kind: Any, arguments: Sequence[str] | None = None) -> Any:
    """Decode the document that the command line names as a `kind`: a type, or one of several with a tag.

    It may be a list of objects, whose keys are put together: a rule writes one with what decides the
    result, and one with files and resources. Raises `UserError` that names the file and the key.
    """
    names = sys.argv[1:] if arguments is None else arguments
    if len(names) != 1:
        raise UserError(
            "write the name of one JSON document after the program's, see rules/common.smk"
        )
    try:
        document = msgspec.json.decode(Path(names[0]).read_bytes())
        objects = document if isinstance(document, list) else [document]
        keys = {key: value for part in objects for key, value in part.items()}
        return msgspec.convert(keys, kind, dec_hook=_decoded)
    except (msgspec.MsgspecError, UnicodeDecodeError, AttributeError) as error:
        raise UserError(f"{names[0]}: not a job of this program: {error}") from error


def write_job(job: Job, folder: Path) -> Path:
    """Write the document of another program into a folder; return its path."""
    path = folder / "job.json"
    write_bytes(msgspec.json.encode(job, enc_hook=str), path)
    return path


def _decoded(kind: type[Any], value: Any) -> Any:
    """Return a path as such; msgspec decodes everything else."""
    return kind(value)
