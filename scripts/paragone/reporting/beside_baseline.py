"""Ways of training beside the one that the config names as `baseline`, in float32 as installed."""

from collections.abc import Iterator

from paragone.analysis.grouping import Series, is_usual
from paragone.base.errors import UserError
from paragone.reporting.inputs import Inputs

_WORK = ["workload", "global_batch"]


def works(inputs: Inputs) -> Iterator[tuple[str, Series, list[Series]]]:
    """Of each workload and global batch: its name, the baseline's series, all series.

    Raises `UserError` where the baseline does none of the work.
    """
    series = inputs.series
    name = inputs.settings["baseline"]
    for work in dict.fromkeys(tuple(one.runs[_WORK].iloc[0]) for one in series):
        same = [one for one in series if tuple(one.runs[_WORK].iloc[0]) == work]
        found = [one for one in same if one.backend == name and is_usual(one.runs.iloc[0])]
        if not found:
            raise UserError(
                f"baseline: {name} does not train {work[0]} at batch {work[1]:,} in float32 as installed; "
                f"name another one, or leave out what shows ways beside it"
            )
        yield f"{work[0]}, batch {work[1]:,}", found[0], same
