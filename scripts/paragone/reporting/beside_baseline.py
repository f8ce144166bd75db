"""Ways of training beside the one that the config names as `baseline`, in float32 as installed."""

from collections.abc import Iterator

from paragone.analysis.grouping import Series, by_work, is_usual
from paragone.base.errors import UserError
from paragone.reporting.inputs import Inputs


def works(inputs: Inputs) -> Iterator[tuple[str, Series, list[Series]]]:
    """Of each workload and global batch: its name, the baseline's series, all series.

    Raises `UserError` where the baseline does none of the work.
    """
    name = inputs.settings["baseline"]
    for (workload, batch), same in by_work(inputs.series).items():
        found = [one for one in same if one.backend == name and is_usual(one.runs.iloc[0])]
        if not found:
            raise UserError(
                f"baseline: {name} does not train {workload} at batch {batch:,} in float32 as installed; "
                "name another one, or leave out what shows ways beside it"
            )
        yield f"{workload}, batch {batch:,}", found[0], same
