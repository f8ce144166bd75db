"""Errors for users: one message, the traceback in a file, a non-zero exit."""

import difflib
import errno
import functools
import io
import os
import signal
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

VARIABLE = "PARAGONE_PLUGINS"  # the folders of all plugins: absolute paths, as PATH has them
# Where plugins may have modules.
PACKAGES = (
    "models",
    "engines",
    "data/forms",
    "data/builders",
    "reporting/figures",
    "reporting/tables",
)


class UserError(Exception):
    """An error that the user can correct. The message names the file or key, the fault and the remedy."""


def meant(name: str, names: Iterable[str]) -> str:
    """Return, as the end of a message on a wrong name, which of these names it is near; empty if none."""
    close = difflib.get_close_matches(name.lower(), names, 1)
    return f"; did you mean {close[0]!r}?" if close else ""


class Unavailable(Exception):
    """The machine, or the framework on it, lacks what was requested: devices, a precision, a strategy."""


def require_devices(framework: str, kind: str, needed: int, present: int) -> None:
    """Raise `Unavailable` if this host has fewer devices of a kind than are needed."""
    if present < needed:
        raise Unavailable(
            f"{needed} replica(s) on {kind} asked for; {framework} sees {present or 'no'} {kind} here"
        )


@contextmanager
def needing_packages() -> Iterator[None]:
    """Raise `Unavailable` if a module of the project that the block imports needs an absent package.

    An import that fails in a plugin is an error of that plugin, see `plugins.load`.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        package = str(error.name).partition(".")[0]
        if package == __name__.partition(".")[0]:
            raise
        raise Unavailable(f"{package} is not installed here") from error


# Lacks of the machine by error number, with the remedy; they may be the cause of a library's error.
_LACKING = {
    errno.ENOSPC: "make room",
    errno.EDQUOT: "make room in your quota",
    errno.EIO: "look at the kernel's log: the disk or its connection fails",
    errno.EROFS: "name another folder, or mount this one for writing",
    errno.ENOMEM: "leave more memory to it",
    errno.EAGAIN: "raise the limit of processes and threads (ulimit -u)",
    errno.EMFILE: "raise the limit of open files (ulimit -n)",
    errno.ENFILE: "raise the system's limit of open files",
    errno.ESTALE: "look at the folder's server, or mount it again",
    errno.ENOLCK: "mount the folder with locks, or name another",
    errno.ENOSYS: "mount the folder with locks, or name another",
    errno.EOPNOTSUPP: "mount the folder with locks, or name another",
}
# Errors about a path that the user gave.
_PATHS = {
    errno.ENOENT: "correct the path, or make it first",
    errno.ENOTDIR: "correct the path",
    errno.EISDIR: "name a file",
    errno.EACCES: "name another, or have its permissions changed",
    errno.EPERM: "name another, or have its permissions changed",
    errno.ENAMETOOLONG: "take shorter names",
}


def as_user_error(error: BaseException) -> UserError | None:
    """Return the error for the user if the machine, a path or a plugin is the cause; else None."""
    if isinstance(error, UserError):
        return error
    if isinstance(error, OSError) and error.errno in _PATHS:
        return UserError(f"{_subject(error)}: {_PATHS[error.errno]}")
    again = "then run again: what is complete is kept"
    for cause in _with_causes(error):
        if isinstance(cause, OSError) and cause.errno in _LACKING:
            return UserError(f"{_subject(cause)}: {_LACKING[cause.errno]}, {again}")
        if isinstance(cause, RuntimeError) and "can't start new thread" in str(cause):
            return UserError(f"{cause}: {_LACKING[errno.EAGAIN]}, {again}")
        if isinstance(cause, MemoryError):
            return UserError(f"the memory is full: {_LACKING[errno.ENOMEM]}, {again}")
    return of_plugin(error)


def folders() -> list[Path]:
    """Return the folders of all plugins, in the order of the config."""
    return [Path(name) for name in os.environ.get(VARIABLE, "").split(os.pathsep) if name]


def of_plugin(error: BaseException) -> UserError | None:
    """Return the error with file and line of the plugin that raised it; None for an error of the project."""
    trace, place, remedy = error.__traceback__, "", ""
    packages = [folder / package for folder in folders() for package in PACKAGES]
    while trace:
        file = Path(trace.tb_frame.f_code.co_filename)
        if any(file.is_relative_to(package) for package in packages):
            place = f"{file}, line {trace.tb_lineno}"
            name = error.name if isinstance(error, ModuleNotFoundError) else ""
            if name and file.with_name(f"{name}.py").is_file():
                remedy = f"; it is beside this file: write `from paragone.{file.parent.name}.{name} import`"
        trace = trace.tb_next
    message = f"{place}: {type(error).__name__}: {first_line(error)}{remedy}"
    return UserError(message) if place else None


def _subject(error: OSError) -> str:
    fault = (error.strerror or str(error)).lower()
    has_name = isinstance(error.filename, (str, bytes))  # it may be a file descriptor
    return f"{os.fsdecode(error.filename)}: {fault}" if has_name else fault


def _with_causes(error: BaseException) -> Iterator[BaseException]:
    """The error, and the errors from which it was raised or during whose handling."""
    cause: BaseException | None = error
    while cause is not None:
        yield cause
        cause = cause.__cause__ or (None if cause.__suppress_context__ else cause.__context__)


# Words of allocators without memory: those of hosts, CUDA, its libraries, and XLA.
_FULL = (
    "out of memory",
    "out_of_memory",
    "alloc_failed",  # CUBLAS_STATUS_ALLOC_FAILED, CUDNN_STATUS_ALLOC_FAILED
    "allocation_failed",  # CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED
    "resource_exhausted",
    "can't allocate memory",
    "failed to allocate",
    "bad_alloc",
    "oom when allocating",  # TensorFlow's
)


def says_memory_is_full(message: str) -> bool:
    """Return whether a message is that of an allocator of a host or a device that lacks memory."""
    return any(phrase in message.lower() for phrase in _FULL)


def first_line(error: BaseException) -> str:
    """Return the first line of a message that is not empty, and the next one where that ends with a colon;
    else the kind of error."""
    lines = [*filter(None, map(str.strip, str(error).splitlines()))] or [type(error).__name__]
    return " ".join(lines[:2]) if lines[0].endswith(":") else lines[0]


def reason_of(error: Exception) -> str:
    """Return why something failed, for a table: a message for users, else the error's kind and first line."""
    for_users = error if isinstance(error, (UserError, Unavailable)) else of_plugin(error)
    kind = type(error).__name__
    return str(for_users or (f"{kind}: {first_line(error)}" if str(error).strip() else kind))


def first_sentence(error: Exception) -> str:
    """Return the first sentence of a framework's long message."""
    return first_line(error).split(". ")[0]


class Interrupted(BaseException):
    """This process was asked to end by a signal."""

    def __init__(self, number: int) -> None:
        self.number = number


def entry_point(main: Callable[..., None]) -> Callable[..., None]:
    """Make `main` a program: an error becomes `error: ...` on stderr, and status 1; see `message_of`.

    After `Interrupted` the process ends by the signal that it received.
    """

    @functools.wraps(main)
    def program(*arguments: object, **options: object) -> None:
        # Characters that the encoding of a terminal or log lacks are escaped, instead of failing on them.
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper):
                stream.reconfigure(errors="backslashreplace")
        try:
            main(*arguments, **options)
        except Interrupted as interruption:
            signal.signal(interruption.number, signal.SIG_DFL)
            os.kill(os.getpid(), interruption.number)
        except Exception as error:
            print(f"error: {message_of(error)}", file=sys.stderr)
            sys.exit(1)

    return program


def message_of(error: Exception) -> str:
    """Return the message for the user; the traceback of an error that is no user's goes into a file."""
    message = as_user_error(error)
    causes = (cause for cause in _with_causes(error) if not isinstance(cause, UserError))
    if message and not any(map(of_plugin, causes)):
        return str(message)
    fault = message or f"{reason_of(error)}; this is a bug in Paragone"
    return f"{fault}; the traceback is in {keep_traceback(error)}"


def keep_traceback(error: Exception) -> str:
    """Write a traceback beside Snakemake's logs, or among temporary files; return the file's name."""
    folder = Path(".snakemake/log")
    program = Path(sys.argv[0]).stem or "python"
    name = f"{datetime.now():%Y-%m-%dT%H%M%S}.{program}.{os.getpid()}.traceback"
    file = (folder if folder.is_dir() else Path(tempfile.gettempdir())) / name
    try:
        with file.open("a", encoding="utf-8", errors="backslashreplace") as stream:
            traceback.print_exception(error, file=stream)
    except OSError as reason:
        return f"no file: {file}: {reason.strerror}"
    return str(file)
