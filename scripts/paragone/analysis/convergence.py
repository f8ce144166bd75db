"""Convergence against reference runs, after MLPerf's reference convergence points.

A backend that needs significantly fewer epochs than the reference does not compute the same: it is too fast
to be true. MLPerf compares mean epochs by a t-test (mlcommons/logging, rcp_checker). Here ranks are compared,
because a run that missed its target has no number of epochs, but is later than all that reached it.
"""

import math
from dataclasses import dataclass

import numpy as np
import scipy

MISSED = math.inf  # epochs of a run that did not reach its target
ENUMERATED = 20_000  # arrangements: all for up to 8 runs against 8, beyond that a random sample


@dataclass(frozen=True)
class Convergence:
    """Median epochs to the target (infinite: most runs missed it) of `n` and `n_reference` runs.

    `p`: probability of as few epochs under the null hypothesis of no difference; None where too few runs
    cannot reach p <= 0.05.
    """

    n: int
    n_reference: int
    median: float
    reference: float
    p: float | None

    def __str__(self) -> str:
        return (
            f"median {self.median:g} epochs (n = {self.n}), "
            f"reference {self.reference:g} (n = {self.n_reference}), one-sided p = {self.p:.4f}"
            if self.p is not None
            else f"too few runs: {self.n}, reference {self.n_reference}"
        )


def too_fast(epochs: list[float], reference: list[float]) -> Convergence:
    """Whether `epochs` to the target are fewer than those of the reference runs.

    One-sided Mann-Whitney test. The null distribution is that of all rearrangements of these values, so
    that ties and misses are accounted for.
    """
    n, m = len(epochs), len(reference)
    median, other = (
        float(np.median(values)) if values else math.nan for values in (epochs, reference)
    )
    if math.comb(n + m, n) < 20:  # the one extreme arrangement has p = 1 / comb
        return Convergence(n, m, median, other, p=None)
    ranked = np.nan_to_num([*epochs, *reference], posinf=1e9)
    method = scipy.stats.PermutationMethod(n_resamples=ENUMERATED, rng=np.random.default_rng(0))
    found = scipy.stats.mannwhitneyu(ranked[:n], ranked[n:], alternative="less", method=method)
    return Convergence(n, m, median, other, p=float(found.pvalue))
