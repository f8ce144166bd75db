"""When an experiment with `until: decided` is looked at: a group-sequential design.

Each look may declare a difference, so p values are multiplied by the number of looks, which keeps the error
of all of them together at 5 % however they depend on each other (Bonferroni).
"""

import math

ERROR = 0.05  # probability of a false verdict in a family
LOOKS = 3  # at most


def fewest(comparisons: int) -> int:
    """The least number of pairs with which sign flips, adjusted for `comparisons`, can reach 5 %."""
    return math.ceil(1 + math.log2(max(comparisons, 1) / ERROR))


def looks(repeats: int, comparisons: int) -> list[int]:
    """The numbers of repeats after which it is asked whether all is decided; the last are all."""
    first = fewest(LOOKS * comparisons)
    middle = round(math.sqrt(first * repeats))
    return sorted({count for count in (first, middle) if count < repeats} | {repeats})
