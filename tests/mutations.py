"""Records with one field changed by a few percent or by one digit, and whether the rules see it."""

import json
import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from unit.make_records import sealed

from paragone.analysis import compliance

Broken = set[tuple[str, str, str]]  # rule, run, key

# What nothing else in the records of an experiment determines: what was learned, what was found to be
# there, and counters that are read once. Of these the digest alone can say that they were changed.
UNDETERMINED = (
    r"epochs\.\d+\.(train|test)_(loss|accuracy)",  # accuracies: by less or more than whole examples
    r"epochs\.\d+\.(train|input|evaluate)_seconds",  # and other clocks: within the tolerance of their sum
    r"window\.\d+\.(steps|seconds)",
    r"clocks\..*",
    r"model\.final_weights",
    r"efficiency\.(train_flop_per_example|counter)",  # other frameworks' counts may differ
    r"first_steps\..*",  # deviations within what is allowed
    r"schedule\..*",
    r"processes\.\d+\.(started|ended|age|cores|threads|devices\.\d+|system_threads|memory\..*)",
    r"processes\.\d+\.(load|epochs|window)\..*",
    r"processes\.\d+\.(software\..*|git\.dirty)",  # software: in a cell of one run
)


def fields(data: Any, prefix: str = "") -> Iterator[tuple[Any, Any, str]]:
    """Container, key and dotted path of every value that is not null."""
    for key, value in data.items() if isinstance(data, dict) else enumerate(data):
        if isinstance(value, dict | list):
            yield from fields(value, f"{prefix}{key}.")
        elif value is not None:
            yield data, key, f"{prefix}{key}"


def mutate(value: Any, draw: random.Random) -> Any:
    """Another value: of a number a few percent more or less, or another digit or letter at one place."""
    if isinstance(value, bool):
        return not value
    while True:
        if isinstance(value, str) or draw.random() < 0.5:
            text = str(value)
            at = draw.choice([place for place, letter in enumerate(text) if letter.isalnum()])
            others = "0123456789" if text[at].isdigit() else "abcdef"
            text = text[:at] + draw.choice(others.replace(text[at], "")) + text[at + 1 :]
        else:
            text = str(type(value)(value * (1 + draw.choice([-1, 1]) * draw.uniform(0.01, 0.05))))
        if isinstance(value, str) or re.fullmatch(r"(0|[1-9]\d*)(\.\d+)?(e[+-]\d+)?", text):
            other = type(value)(text)
            if other != value:
                return other


class Mutations:
    """Records of one experiment in a folder, changed one field at a time."""

    def __init__(self, records: list[Path], parity: list[Path], manifests: list[Path]) -> None:
        self._records = records
        self._inputs = parity, manifests, {"real": {path.parent.name for path in records}}
        self._whole = self._broken()

    def run(self, count: int, seed: int) -> Iterator[tuple[str, Broken, Broken]]:
        """Of each of `count` random changes: its field; what the rules find; the same with a new digest."""
        draw = random.Random(seed)
        for _ in range(count):
            path = draw.choice(self._records)
            text = path.read_text()
            data = json.loads(text)
            container, key, name = _draw_field(data, draw)
            container[key] = mutate(container[key], draw)
            try:
                yield name, self._of(path, data), self._of(path, sealed(data))
            finally:
                path.write_text(text)

    def _of(self, path: Path, data: dict[str, Any]) -> Broken:
        path.write_text(json.dumps(data))
        return self._broken() - self._whole

    def _broken(self) -> Broken:
        breaches = compliance.find(self._records, *self._inputs)
        return {(breach.rule, breach.run, breach.where) for breach in breaches}


def _draw_field(data: dict[str, Any], draw: random.Random) -> tuple[Any, Any, str]:
    """Of every kind of field equally often: a longer speed window has more entries, and no more kinds."""
    kinds: dict[str, list[tuple[Any, Any, str]]] = {}
    for container, key, name in fields(data):
        if key != "digest":
            kinds.setdefault(re.sub(r"\b\d+\b", "*", name), []).append((container, key, name))
    return draw.choice(kinds[draw.choice(sorted(kinds))])


def determined(name: str) -> bool:
    """Whether something else in the records says what the field is."""
    return not any(re.fullmatch(pattern, name) for pattern in UNDETERMINED)
