"""The contract of what inherits its engine from another one, and of JAX over processes."""

import pytest
from parity import test_engines

pytestmark = pytest.mark.nightly

CELLS = [("torch-compile", 1), ("torch-fsdp", 2), ("keras-fit", 2), ("jax-multiprocess", 2)]
test_an_engine_keeps_its_contract = test_engines.test_an_engine_keeps_its_contract
