"""Optimizers and schedules on the frameworks that take longer; PyTorch/XLA has the rules of PyTorch."""

import pytest
from parity import test_protocols

pytestmark = pytest.mark.full

CELLS = [("jax", "all"), ("tensorflow-mirrored", "all"), ("torch-xla", "kinds")]
test_every_protocol_passes = test_protocols.test_every_protocol_passes
