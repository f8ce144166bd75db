"""Errors for people: one message, no traceback, a non-zero exit."""

import functools
import sys
from collections.abc import Callable


class UserError(Exception):
    """Something the user can mend. The message names the file or key, the fault and the remedy."""


class Unavailable(Exception):
    """The machine, or the framework on it, lacks what was asked for: devices, a precision, an all-reduce."""


def entry_point(main: Callable[..., None]) -> Callable[..., None]:
    """Make `main` a program: a `UserError` becomes `error: ...` on stderr and exit status 1."""

    @functools.wraps(main)
    def program(*arguments: object) -> None:
        try:
            main(*arguments)
        except UserError as error:
            print(f"error: {error}", file=sys.stderr)
            sys.exit(1)

    return program
