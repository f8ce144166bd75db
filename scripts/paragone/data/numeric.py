"""Numbers that become others when they are stored, or seem to mean something else: notices on them."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

COLUMNS = 1000  # that are looked at, of a table
# What programs write where a value is missing.
MISSING = [sign * (10.0**digits - 1) for digits in range(2, 7) for sign in (1, -1)]
MISSING += [-99.9, -999.9, -999.25, -32768, -(2.0**31)]


class Conversion:
    """The conversion of inputs or labels to the type in which they are stored, a part at a time.

    Changes are those of whole numbers, and of columns in which values become equal.
    """

    def __init__(self, role: str, dtype: Any, columns: Sequence[str] = ()) -> None:
        self._role, self._dtype, self._columns = role, np.dtype(dtype), columns
        self._count, self._example = 0, ""

    def column(self, at: int) -> str:
        """Return what messages call a column."""
        return f"column {self._columns[at]!r}" if self._columns else f"{self._role}[:, {at}]"

    def of(self, values: Any) -> np.ndarray:
        """Return (n, ...) numbers in the stored type, infinite where it cannot hold them."""
        with np.errstate(over="ignore", invalid="ignore"):
            stored = values.astype(self._dtype)
        if np.can_cast(values.dtype, self._dtype):
            return stored
        table = (len(values), -1) if values.ndim == 2 else (-1, 1)
        exact, rounded = values.reshape(table), stored.reshape(table)
        changed, before, after = exact != rounded, np.ones(1), np.ones(1)
        if values.ndim == 2:
            rows = np.sort(exact, axis=0)
            before = 1 + (rows[1:] != rows[:-1]).sum(0)
            after = 1 + (np.diff(rows.astype(self._dtype), axis=0) != 0).sum(0)
        if self._dtype.kind == "f":
            # From 2**53 on every float64 is whole.
            whole = (exact == np.rint(exact)) & ((exact.dtype.kind != "f") | (abs(exact) < 2.0**53))
            changed &= whole | (after < 0.9 * before)
        self._count += int(changed.sum())
        if changed.any() and not self._example:
            at = int(np.argmax(changed.any(0) * (before - after + 1)))
            row = int(np.argmax(changed[:, at]))
            self._example = f"{exact[row, at].item()} becomes {rounded[row, at].item()}"
            if values.ndim == 2:
                self._example += f" in {self.column(at)}"
            if after[at] < before[at]:
                self._example += f", and {before[at]:,} different values become {after[at]:,}"
        return stored

    @property
    def changes(self) -> list[str]:
        """Return a sentence on what changed, if anything did."""
        sentence = (
            f"{self._role}: {self._count:,} numbers change when they are stored as {self._dtype}"
        )
        remedy = "subtract the lowest, say, and leave out what is no quantity, as an id"
        return [f"{sentence}: {self._example}; {remedy}"] if self._count else []


def odd_numbers(splits: dict[str, np.ndarray], conversion: Conversion) -> Iterator[str]:
    """Yield notices on numbers of each split: on their scale, and on each column where they are (n, columns).

    A value of `MISSING` seems to be none if it is far from all others, the only one below 0, or there five
    times as often as any other. Shares and percentages seem to be mixed where nearly nothing is from 1 to 3.
    """
    low, high = sorted(max(float(part.max()), -float(part.min())) for part in splits.values())
    columns = splits["train"].shape[1] if splits["train"].ndim == 2 else 0
    if not columns and 0 < low <= 1 and high > 10:
        yield f"numbers go to {low:g} in one split and to {high:g} in the other; write both on one scale"
    for at in range(min(columns, COLUMNS)):
        parts, name = [part[:, at].astype(float) for part in splits.values()], conversion.column(at)
        whole = np.concatenate(parts)
        values, counts = np.unique(whole, return_counts=True)
        code = np.isin(values, np.array(MISSING, np.float32))
        if code.all():
            continue
        (low, *_, high), most = values[~code][[0, -1]], counts[~code].max()
        for value, count in zip(values[code], counts[code], strict=True):
            far = max(low - value, value - high) > high - low
            if far or value < 0 <= low or count >= 5 * max(most, 2):
                yield (
                    f"{name}: {count:,} of {len(whole):,} values are {value:g}, the others {low:g} to "
                    f"{high:g}; if it means that there is none, leave those rows out, or replace it"
                )
        above = [part[part > 0] for part in parts if part.max() > 0]
        if low < 0 or not 3 < high <= 100 or not above:
            continue
        small, both = [np.mean(part < 1) for part in above], np.concatenate(above)
        mixed = 0.1 < np.mean(both < 1) < 0.9 or np.ptp(small) > 0.9
        if mixed and np.mean((both >= 1) & (both <= 3)) < 0.05:
            yield (
                f"{name}: {np.sum(both < 1):,} values are between 0 and 1, and {np.sum(both > 3):,} from 3 "
                f"to {high:g}, as if shares and percentages were mixed; write all of them alike"
            )
