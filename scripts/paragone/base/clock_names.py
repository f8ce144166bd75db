"""The parts that every second of a run is charged to."""

COLD = ("imports", "devices", "data", "compilation")

PARTS = (*COLD, "train", "evaluate", "checkpoint", "first_steps", "other")
