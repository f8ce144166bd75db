"""Every optimizer and schedule on the frameworks that take longer."""

import pytest
from parity import test_protocols

pytestmark = pytest.mark.full

CELLS = ["jax", "tensorflow-mirrored", "torch-xla"]
test_every_protocol_passes = test_protocols.test_every_protocol_passes
