"""The workflow with environments of all frameworks of this machine, as in tests/pipeline/test_fresh.py."""

from pipeline.test_fresh import (  # noqa: F401 - fixtures and a test of BACKENDS
    backends,
    checkout,
    results,
    test_each_backend_trained_in_its_own_environment,
)

BACKENDS = {name: name for name in ("torch", "torch-xla", "jax")}
BACKENDS |= {"tensorflow-mirrored": "tensorflow", "my-torch": "torch"}
