"""Every task on PyTorch/XLA, which compiles for minutes."""

import pytest
from parity import test_task_losses

pytestmark = pytest.mark.nightly

CELLS = ["torch-xla"]
test_every_task_passes_and_wrong_ones_are_refused_for_their_reason = (
    test_task_losses.test_every_task_passes_and_wrong_ones_are_refused_for_their_reason
)
