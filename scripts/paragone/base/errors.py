"""Errors for people: one message, no traceback, a non-zero exit."""

import functools
import os
import signal
import sys
from collections.abc import Callable


class UserError(Exception):
    """An error that the user can correct. The message names the file or key, the fault and the remedy."""


class Unavailable(Exception):
    """The machine, or the framework on it, lacks what was requested: devices, a precision, an all-reduce."""


def require_devices(framework: str, kind: str, needed: int, present: int) -> None:
    """Raise `Unavailable` if this host has fewer devices of a kind than are needed."""
    if present < needed:
        raise Unavailable(
            f"{needed} replica(s) on {kind} asked for; {framework} sees {present or 'no'} {kind} here"
        )


# What allocators say when they cannot give more: those of hosts, CUDA, its libraries, and XLA.
_FULL = (
    "out of memory",
    "out_of_memory",
    "alloc_failed",  # CUBLAS_STATUS_ALLOC_FAILED, CUDNN_STATUS_ALLOC_FAILED
    "allocation_failed",  # CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED
    "resource_exhausted",
    "can't allocate memory",
    "failed to allocate",
    "bad_alloc",
)


def says_memory_is_full(message: str) -> bool:
    """Whether an error's message is that of an allocator of a host or a device, or of a library on it."""
    return any(words in message.lower() for words in _FULL)


def first_sentence(error: Exception) -> str:
    """What a framework's long message begins with."""
    return str(error).splitlines()[0].split(". ")[0]


class Interrupted(BaseException):
    """This process was asked to end, by this signal."""

    def __init__(self, number: int) -> None:
        self.number = number


def entry_point(main: Callable[..., None]) -> Callable[..., None]:
    """Make `main` a program: a `UserError` becomes `error: ...` on stderr and exit status 1.

    After `Interrupted` the process ends by the signal that it was sent.
    """

    @functools.wraps(main)
    def program(*arguments: object) -> None:
        try:
            main(*arguments)
        except UserError as error:
            print(f"error: {error}", file=sys.stderr)
            sys.exit(1)
        except Interrupted as interruption:
            signal.signal(interruption.number, signal.SIG_DFL)
            os.kill(os.getpid(), interruption.number)

    return program
