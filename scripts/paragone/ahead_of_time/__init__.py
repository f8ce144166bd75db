"""Training steps compiled for machines that are not there: exported as StableHLO, compiled, described."""

import os

# What compilers read when they are loaded. Python executes a package before its modules.
os.environ |= {
    "JAX_PLATFORMS": "cpu",  # nothing runs: no plug-in opens a device
    "TPU_SKIP_MDS_QUERY": "1",  # there is no TPU: nobody to ask which one it is
    "ALLOW_MULTIPLE_LIBTPU_LOAD": "1",  # several processes compile, and none opens a TPU
}
