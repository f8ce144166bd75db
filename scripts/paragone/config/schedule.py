"""The order in which runs are trained, drawn from the config's seed when the workflow is parsed.

Standard library only: the Snakefile imports this module at parse time.
"""

from collections import Counter
from collections.abc import Hashable, Iterator
from random import Random

from paragone.config.run_spec import Spec


def schedule(experiments: dict[str, list[Spec]], seed: int) -> list[str]:
    """The names of all runs in the order in which they are trained.

    One experiment after the other, first the one with the fewest runs of its own. A run of several
    experiments is trained with the largest of them, so that the pairs which decide most stay neighbors.
    """
    largest_last = sorted(experiments, key=lambda name: len(experiments[name]))
    owner = {spec.name: name for name in largest_last for spec in experiments[name]}
    own = Counter(owner.values())
    return [
        spec.name
        for name in sorted(experiments, key=lambda name: own[name])
        for spec in _drawn(experiments[name], f"{seed} {name}")
        if owner[spec.name] == name
    ]


def _drawn(runs: list[Spec], key: str) -> Iterator[Spec]:
    """Repeat after repeat. Runs of one workload and global batch, which are compared, are neighbors; the
    order among them, and of these groups, is random in each repeat."""
    repeats: dict[int, dict[Hashable, list[Spec]]] = {}
    for spec in runs:
        compared = spec.workload["name"], spec.global_batch
        repeats.setdefault(spec.seed, {}).setdefault(compared, []).append(spec)
    for repeat in sorted(repeats):
        random = Random(f"{key} {repeat}")
        groups = list(repeats[repeat].values())
        random.shuffle(groups)
        for group in groups:
            random.shuffle(group)
            yield from group
