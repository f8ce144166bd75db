"""Every random draw of a run, from NumPy's Philox keyed by (seed, epoch, purpose).

Philox is counter-based: a key gives the same stream on every machine and for every backend, and a run resumes
without a saved state (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011).
"""

import zlib

import numpy as np


def generator(purpose: str, seed: int, epoch: int = 0) -> np.random.Generator:
    """Return the stream of a purpose ("order", "weights", ...) in an epoch of a seed."""
    key = np.array([(seed << 32) | epoch, zlib.crc32(purpose.encode())], dtype=np.uint64)
    return np.random.Generator(np.random.Philox(key=key))


def epoch_order(examples: int, seed: int, epoch: int) -> np.ndarray:
    """Return a permutation of `examples` indices, int64, for an epoch; all backends use it."""
    return generator("order", seed, epoch).permutation(examples)


def buffered_order(examples: int, buffer: int, seed: int, epoch: int) -> np.ndarray:
    """Return a permutation of indices, int64, as a buffer of `tf.data` of this size shuffles them.

    The buffer holds the first indices. Each step takes one of those in it at random, and the next index that
    has not been there takes its place, or at the end the last one of the buffer.
    """
    waiting = list(range(min(buffer, examples)))
    left = np.minimum(len(waiting), np.arange(examples, 0, -1))
    order = np.empty(examples, np.int64)
    for step, place in enumerate(generator("order", seed, epoch).integers(left).tolist()):
        order[step] = waiting[place]
        if (following := step + buffer) < examples:
            waiting.append(following)
        waiting[place] = waiting[-1]
        waiting.pop()
    return order


def framework_seed(seed: int, epoch: int) -> int:
    """Return a 31-bit seed for a framework's own generator (dropout masks) in one epoch."""
    return int(generator("framework", seed, epoch).integers(2**31 - 1))
