"""The TPU compiler, in the wheel libtpu: it compiles for the TPUs of a named topology, without any."""

import os
from typing import Any

from paragone.ahead_of_time.compilers import NoCompiler, Refused, Target, installed
from paragone.base.errors import first_line

# What libtpu reads when it is loaded.
ENVIRONMENT = {
    "TPU_SKIP_MDS_QUERY": "1",  # there is no TPU: nobody to ask which one it is
    "ALLOW_MULTIPLE_LIBTPU_LOAD": "1",  # several processes compile, and none opens a TPU
}


def describe(target: Target) -> list[Any]:
    """The devices of a topology such as "v2:2x2": generation, and chips along each axis."""
    if not installed("libtpu"):
        raise NoCompiler(
            "libtpu, the TPU's compiler, is not installed; install envs/requirements.txt"
        )
    os.environ |= ENVIRONMENT
    from jax.errors import JaxRuntimeError
    from jax.experimental import topologies

    try:
        described = topologies.get_topology_desc(platform="tpu", topology_name=target["topology"])
    # Of libtpu, of the name's form, of JAX where its plug-in describes no topology.
    except (JaxRuntimeError, ValueError, NotImplementedError) as error:
        raise Refused(f"topology {target['topology']}: {first_line(error)}") from error
    return list(described.devices)
