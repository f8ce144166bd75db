"""Environment variables that tune a process: a worker has those of its run's division, and no others.

Standard library only: the Snakefile imports this module at parse time.
"""

import os
from collections.abc import Mapping

# How the names begin of what the allocator, math libraries, compilers and frameworks read at their start.
# OMP_WAIT_POLICY is none: by it, processes that share cores, as tests do, keep out of each other's way.
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


def here() -> dict[str, str]:
    """Those that this process was started with."""
    return {name: value for name, value in os.environ.items() if name.startswith(BEGINNINGS)}


def environment(tuned: Mapping[str, str]) -> dict[str, str]:
    """This process's environment, with `tuned` in place of all that tune."""
    tuning = here()
    return {key: value for key, value in os.environ.items() if key not in tuning} | dict(tuned)
