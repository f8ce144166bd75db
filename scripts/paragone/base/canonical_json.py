"""One text for JSON data, whatever the order of its keys, and the hash of that text."""

import hashlib
import json
from typing import Any


def canonical(data: dict[str, Any]) -> str:
    """JSON with sorted keys and no spaces."""
    return json.dumps(data, sort_keys=True, separators=(",", ":"))


def sha256(data: dict[str, Any]) -> str:
    """SHA-256 of the canonical JSON, in hexadecimal."""
    return hashlib.sha256(canonical(data).encode()).hexdigest()
