"""How a process starts and ends: its tuning variables, settings and imports, and a quick end.

Standard library only: the Snakefile imports this module at parse time.
"""

import atexit
import os
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import NoReturn

# First parts of the names of variables that allocators, math libraries, compilers and frameworks read at
# their start. OMP_WAIT_POLICY is not among them: it only keeps processes that share cores, as tests do, from
# disturbing each other.
BEGINNINGS = (
    "DNNL_",
    "GLIBC_TUNABLES",
    "KMP_",
    "LD_PRELOAD",
    "LIBTPU_INIT_ARGS",
    "MALLOC_",
    "MKL_",
    "NVIDIA_TF32_OVERRIDE",
    "OMP_NUM_THREADS",
    "OMP_PLACES",
    "OMP_PROC_BIND",
    "ONEDNN_",
    "PYTORCH_ALLOC_CONF",
    "PYTORCH_CUDA_ALLOC_CONF",
    "TORCHINDUCTOR_CPP_",
    "TORCHINDUCTOR_FREEZING",
    "TORCHINDUCTOR_MAX_AUTOTUNE",
    "TORCHINDUCTOR_VEC_ISA_OK",
    "TF_ENABLE_ONEDNN_OPTS",
    "TF_XLA_FLAGS",
    "XLA_FLAGS",
)


def tuning_variables() -> dict[str, str]:
    """The tuning variables in this process's environment."""
    return {name: value for name, value in os.environ.items() if name.startswith(BEGINNINGS)}


def environment(tuned: Mapping[str, str]) -> dict[str, str]:
    """This process's environment with `tuned` in place of its tuning variables: that of a worker."""
    tuning = tuning_variables()
    return {key: value for key, value in os.environ.items() if key not in tuning} | dict(tuned)


def ignore_keras_settings() -> None:
    """Let Keras start with its own defaults; to be called before it is imported.

    It reads backend, layouts, epsilons and limits of epochs from the environment and from the user's
    keras.json; where the home cannot be written, from anybody's in /tmp.
    """
    for name in [name for name in os.environ if name.startswith("KERAS_")]:
        del os.environ[name]
    os.environ["KERAS_HOME"] = os.devnull


@contextmanager
def without(*modules: str) -> Iterator[None]:
    """Hide installed modules that nothing has imported yet from the imports in a `with` block.

    For libraries that import them where they are installed, for functions that this project does not call.
    """
    hidden = [name for name in modules if name not in sys.modules]
    for name in hidden:
        sys.modules[name] = None  # type: ignore[assignment]  # an import raises ModuleNotFoundError
    try:
        yield
    finally:
        for name in hidden:
            del sys.modules[name]


def end_process() -> NoReturn:
    """End without freeing memory, which takes PyTorch or JAX half a second and more.

    As at every end of Python, threads are waited for, functions registered with atexit are called, and the
    status is 0, or 120 if the output cannot be written.
    """
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except OSError:
        os._exit(120)
    os._exit(0)
