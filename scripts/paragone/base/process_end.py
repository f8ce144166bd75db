"""The end of a process that has done its work."""

import atexit
import os
import sys
import threading
from typing import NoReturn


def end_process() -> NoReturn:
    """End without freeing what the process holds, which takes a framework up to a second.

    As at every end of Python, threads are waited for, functions registered with atexit are called, and the
    status is 0, or 120 if what was printed cannot be written.
    """
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except OSError:
        os._exit(120)
    os._exit(0)
