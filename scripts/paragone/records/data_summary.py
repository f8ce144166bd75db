"""The summary of a data set for people: part of its manifest, printed by `serialize`."""

import msgspec

MOST_SHOWN = 24  # classes that are listed of a data set with more


class DataSummary(msgspec.Struct, frozen=True, omit_defaults=True):
    """Counts, values and oddities of a serialized data set.

    `examples`: split -> number of each class, in the order of `classes`. `shape`: of one example as stored,
    channels last. `values`: lowest and highest over both splits; None for words. `vocabulary`: number of word
    indices; None for numbers. `unknown`: split -> share of its words that are outside of the vocabulary;
    empty for what was no text. `treated`: what was skipped or converted, in words, and how often.
    `notices`: sentences on what is legal and odd. `targets`: lowest and highest of labels that are numbers,
    which have no classes. `positions`: labels of an example. `sizes`: split -> number of examples, where the
    counts of the classes do not add up to it.
    """

    classes: list[str]
    examples: dict[str, list[int]]
    shape: list[int]
    dtype: str
    values: tuple[float, float] | None
    vocabulary: int | None
    unknown: dict[str, float]
    treated: dict[str, int]
    notices: list[str]
    targets: tuple[float, float] | None = None
    positions: int = 1
    sizes: dict[str, int] = {}

    @property
    def what(self) -> str:
        """Return one sentence: how many examples of what."""
        counts = self.sizes.values() or (
            sum(counts) // self.positions for counts in self.examples.values()
        )
        train, test = (f"{count:,}" for count in counts)
        learned = f"{len(self.classes):,} classes"
        if self.targets:
            learned = f"targets {self.targets[0]:g} to {self.targets[1]:g}"
        content = (
            f"values {self.values[0]:g} to {self.values[1]:g}"
            if self.values
            else f"{self.vocabulary or 0:,} word indices"
        )
        return (
            f"{train} training and {test} test examples of {learned}, each "
            f"{' x '.join(map(str, self.shape))} {self.dtype}, {content}"
        )

    @property
    def rows(self) -> list[tuple[str, int, int]]:
        """Return name, training examples and test examples of each class that is listed."""
        return [*zip(self.classes, *self.examples.values(), strict=False)][:MOST_SHOWN]

    @property
    def facts(self) -> list[str]:
        """Return what else a person should see: shares of unknown words, what was skipped or converted."""
        more = len(self.classes) - MOST_SHOWN
        return [
            *([f"{more:,} more classes are not listed"] if more > 0 else []),
            *(
                f"{share:.0%} of the words of the {split} split are unknown"
                for split, share in self.unknown.items()
            ),
            *(f"{count:,} {treatment}" for treatment, count in self.treated.items()),
        ]
