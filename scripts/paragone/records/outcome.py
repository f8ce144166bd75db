"""The outcome of the training loop."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from paragone.base.engine_reports import FlopCount
from paragone.records.run_record import Timed


@dataclass
class Outcome:
    """Parts of the record that the loop measures. The last `processes` are those of this start."""

    processes: list[dict[str, Any]]
    status: str = "completed"
    reason: str | None = None
    model: dict[str, Any] | None = None
    first_steps: dict[str, Any] | None = None
    epochs: list[dict[str, Any]] = field(default_factory=list)
    window: list[Timed] = field(default_factory=list)
    probabilities: np.ndarray | None = None
    flop: FlopCount | None = None
    peak_device_bytes: int | None = None  # of the epochs
