"""From texts to rows of word indices, counted and padded as by Keras.

0 is padding, 1 starts a text, 2 is any word outside the vocabulary. Then follow the words by their frequency
in the training split, equally frequent ones in alphabetical order. Texts are padded and cut in front, as
`keras.utils.pad_sequences` does by default.
"""

import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np
import regex

START, UNKNOWN, FIRST_WORD = 1, 2, 3
# From a letter, digit or mark to the next word boundary of Unicode (UAX 29).
_WORD = regex.compile(r"(?w)\b\w.*?\b", regex.V1 | regex.DOTALL)


def split(text: str) -> list[str]:
    """Return the words of a text by Unicode's own rules, in lower case and composed form (NFC).

    In scripts without spaces, such as Chinese and Thai, each character is a word.
    """
    return _WORD.findall(unicodedata.normalize("NFC", text.lower()))


class Vocabulary:
    """The most frequent words of a training split.

    texts: the training split. limit: the largest number of words to keep. `size`: the number of indices,
    including the three that are no words.
    """

    def __init__(self, texts: Iterable[str], limit: int) -> None:
        counts: Counter[str] = Counter()
        for text in texts:
            counts.update(split(text))
        ranked = sorted(counts, key=lambda word: (-counts[word], word))[:limit]
        self._index = {word: rank for rank, word in enumerate(ranked, FIRST_WORD)}
        self.size = FIRST_WORD + len(ranked)

    def encode(self, text: str) -> list[int]:
        """Return the indices of a text, after the start mark."""
        return [START, *(self._index.get(word, UNKNOWN) for word in split(text))]


def pad(texts: Sequence[Sequence[int]], length: int) -> np.ndarray:
    """Return (len(texts), length) int32: the last words of each text, after zeros where it is shorter."""
    padded = np.zeros((len(texts), length), np.int32)
    for row, text in zip(padded, texts, strict=True):
        end = text[-length:]
        row[length - len(end) :] = end
    return padded
