"""A change of one file of the project, made in a copy of it."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from workspace import ROOT, Checkout


@dataclass(frozen=True, kw_only=True)
class Edit:
    """A change of one file, relative to the project: `old`, which it has once, becomes `new`."""

    name: str
    file: str
    old: str
    new: str

    def fits(self) -> None:
        """Assert that the text is there once, and that what a Python file becomes can be compiled."""
        text = (ROOT / self.file).read_text()
        assert text.count(self.old) == 1, f"{self.name}: {self.file} has not once: {self.old}"
        if self.file.endswith(".py"):
            compile(text.replace(self.old, self.new), self.file, "exec")

    @contextmanager
    def planted(self, copy: Checkout) -> Iterator[None]:
        """The change, for the length of a `with` block."""
        with copy.edited(self.file, lambda text: text.replace(self.old, self.new)):
            yield
