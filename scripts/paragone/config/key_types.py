"""Types that keys of several blocks of a config have."""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from paragone.base.typed_json import Count

Text = Annotated[str, Meta(min_length=1)]
# Names become those of files, of which one may have several.
_OF_NAMES = "at most 64 small letters, digits and"
# Packages, as the index names them, and the version of each.
Versions = dict[str, str]
Name = Annotated[
    str, Meta(pattern=r"^[a-z][a-z0-9-]{0,63}$(?!\n)", description=f"{_OF_NAMES} -, a letter first")
]
Word = Annotated[
    str, Meta(pattern=r"^[a-z][a-z0-9_]{0,63}$(?!\n)", description=f"{_OF_NAMES} _, a letter first")
]
Sha256 = Annotated[str, Meta(pattern="^[0-9a-f]{64}$")]
Sizes = Annotated[list[Count], Meta(min_length=1)]
Precision = Literal["bfloat16", "float32", "float64"]
Tuning = Literal["as-installed", "tuned"]
Files = Annotated[
    dict[Annotated[str, Meta(pattern="^[A-Za-z0-9_.-]+$")], Sha256], Meta(min_length=1)
]
KerasFile = Annotated[
    dict[Annotated[str, Meta(pattern=r"^[A-Za-z0-9_.-]+\.h5$")], Sha256],
    Meta(min_length=1, max_length=1),
]


class Closed(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """A block without other keys."""
