"""The order in which runs are trained, drawn from the config's seed when the workflow is parsed.

Standard library only: the Snakefile imports this module at parse time.
"""

from collections.abc import Hashable, Iterator
from random import Random

from paragone.config.run_spec import Spec


def schedule(experiments: dict[str, list[Spec]], seed: int) -> list[str]:
    """The names of all runs in the order in which they are trained.

    One experiment after the other, first the one with the fewest runs still to be trained. A run of several
    experiments is trained with the first of them.
    """
    order: dict[str, None] = {}
    waiting = dict(experiments)
    while waiting:
        name = min(waiting, key=lambda each: len({s.name for s in waiting[each]} - order.keys()))
        order |= dict.fromkeys(spec.name for spec in _drawn(waiting.pop(name), f"{seed} {name}"))
    return list(order)


def _drawn(runs: list[Spec], key: str) -> Iterator[Spec]:
    """Repeat after repeat. Runs of one workload and global batch, which are compared, are neighbors; the
    order among them, and of these groups, is random in each repeat."""
    repeats: dict[int, dict[Hashable, list[Spec]]] = {}
    for spec in runs:
        compared = spec.workload["name"], spec.batch["global"]
        repeats.setdefault(spec.seed, {}).setdefault(compared, []).append(spec)
    for repeat in sorted(repeats):
        random = Random(f"{key} {repeat}")
        groups = list(repeats[repeat].values())
        random.shuffle(groups)
        for group in groups:
            random.shuffle(group)
            yield from group
