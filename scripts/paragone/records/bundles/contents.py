"""What a bundle holds, and the list of it that the bundle carries."""

import re
from dataclasses import asdict, dataclass
from typing import Any

from paragone.base import canonical_json

SCHEMA = 1
LISTING, CONFIG = "bundle.json", "config.json"
# Files of a folder of results that a bundle may hold, by their names there: no name leads out of a folder.
ALLOWED = re.compile(
    r"runs/\w[\w.-]*/(record\.json|predictions\.npz)"
    r"|data/(tfds/)?\w+/manifest\.json"
    r"|parity/\w[\w-]*\.json"
    r"|(matmul|allreduce)/\w[\w-]*\.json"
    rf"|{re.escape(CONFIG)}"
)


@dataclass(frozen=True)
class Listing:
    """The content of `bundle.json`.

    `files`: SHA-256 and bytes by name. `experiments`: the runs of each. `machines`: as in tables.
    `digest`: SHA-256 of the canonical JSON of `files`; two bundles of the same content have the same.
    """

    schema: int
    digest: str
    license: str
    machines: list[str]
    experiments: dict[str, list[str]]
    files: dict[str, dict[str, Any]]

    def to_json(self) -> dict[str, Any]:
        """As JSON data."""
        return asdict(self)


def digest(files: dict[str, dict[str, Any]]) -> str:
    """The digest of the files of a bundle."""
    return canonical_json.sha256(files)
