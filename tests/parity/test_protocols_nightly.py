"""Every optimizer and schedule on PyTorch/XLA, which compiles each for a quarter of a minute."""

import pytest
from parity import test_protocols

pytestmark = pytest.mark.nightly

CELLS = [("torch-xla", "but enlarged images")]
test_every_protocol_passes = test_protocols.test_every_protocol_passes
