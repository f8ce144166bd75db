"""Imports of a library without what it can do without."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def without(*modules: str) -> Iterator[None]:
    """Hide those of some installed modules that nothing has imported yet from the imports in a `with` block.

    For a library that imports them, where they are installed, for what nobody here calls.
    """
    hidden = [name for name in modules if name not in sys.modules]
    for name in hidden:
        sys.modules[name] = None  # type: ignore[assignment]  # an import raises ModuleNotFoundError
    try:
        yield
    finally:
        for name in hidden:
            del sys.modules[name]
