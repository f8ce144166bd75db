"""Errors of training that are results: a full memory, an operation without the kernel that was asked for."""

from paragone.base.errors import first_sentence, says_memory_is_full
from paragone.engines import Engine


def failure_of(engine: Engine, error: Exception) -> tuple[str, str] | None:
    """Status and reason of an error that is a result; None for any other."""
    if isinstance(error, MemoryError) or engine.out_of_memory(error):
        return "out_of_memory", _memory_line(str(error))
    return ("unsupported", first_sentence(error)) if engine.unsupported(error) else None


def _memory_line(message: str) -> str:
    """The line of a framework's long message that speaks of memory."""
    lines = [line.strip() for line in message.splitlines()]
    speaking = [one for one in lines if "alloc" in one.lower() or says_memory_is_full(one)]
    return speaking[0] if speaking else "the host's memory is full"
