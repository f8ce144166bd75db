"""From texts to rows of word indices, as Keras counts and pads them.

0 pads, 1 starts a text, 2 stands for a word outside of the vocabulary; then words by their frequency in the
training split, of equally frequent ones the first in the alphabet. A text is padded and cut at its front, as
`keras.utils.pad_sequences` does without options.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np

START, UNKNOWN, FIRST_WORD = 1, 2, 3
_WORD = re.compile(r"\w+(?:['\u2019]\w+)*")


def split(text: str) -> list[str]:
    """The words of a text: letters, digits and apostrophes within, in lower case."""
    return _WORD.findall(text.lower())


class Vocabulary:
    """The most frequent words of the texts that it was made from.

    `texts`: the training split; `words`: how many to keep at most. `size`: of the indices, with those
    that stand for no word.
    """

    def __init__(self, texts: Iterable[str], words: int) -> None:
        counts: Counter[str] = Counter()
        for text in texts:
            counts.update(split(text))
        ranked = sorted(counts, key=lambda word: (-counts[word], word))[:words]
        self._index = {word: rank for rank, word in enumerate(ranked, FIRST_WORD)}
        self.size = FIRST_WORD + len(ranked)

    def encode(self, text: str) -> list[int]:
        """The indices of a text, the start mark first."""
        return [START, *(self._index.get(word, UNKNOWN) for word in split(text))]


def pad(texts: Sequence[Sequence[int]], length: int) -> np.ndarray:
    """(len(texts), length) int32: the last `length` words of each text, zeros before shorter ones."""
    padded = np.zeros((len(texts), length), np.int32)
    for row, text in zip(padded, texts, strict=True):
        kept = text[-length:]
        row[length - len(kept) :] = kept
    return padded
