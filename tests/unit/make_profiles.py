"""Made profiles of training steps, for the tests of what shows them."""

import copy
import json
from pathlib import Path

from make_processes import make_process
from workspace import make_spec

from paragone.config.run_spec import Spec

PROCESS = ("started", "machine", "cores", "threads", "software", "git", "load")
NOT_PROFILED = {
    **dict.fromkeys(["profiler", "steps", "step_milliseconds", "all_operations"]),
    "operations": [],
    "operations_are": None,
}


def make_profile(spec: Spec | None = None, host: str = "node-1", **changes: object) -> dict:
    """Of a step of 8 ms, in which the first operation has 60 % and the second 20 % of the time."""
    spec = spec or make_spec("fashion-conv", "torch", 1, 1000, seed=0)
    process = make_process(1, host, 0, spec.sha256)
    process["started"] = "2026-01-01T00:00:00+00:00"
    made = {
        "schema": 1,
        "run": spec.name,
        "spec": json.loads(spec.to_json()),
        "status": "completed",
        "reason": None,
        "process": {key: process[key] for key in PROCESS},
        "profiler": {"name": "torch.profiler", "version": "2.9.1"},
        "steps": 120,
        "step_milliseconds": {"alone": 8.0, "profiled": 9.5},
        "operations": [
            {"name": "aten::<convolution>", "calls": 2.0, "milliseconds": 6.0, "share": 0.6},
            {"name": "aten::add", "calls": 40.5, "milliseconds": 2.0, "share": 0.2},
        ],
        "all_operations": {"names": 30, "milliseconds": 10.0},
        "operations_are": "operators, in all threads",
    }
    return copy.deepcopy(made | changes)


def write_profile(folder: Path, profile: dict) -> Path:
    """Where the workflow writes it."""
    path = folder / "profiles" / f"{profile['run']}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(profile))
    return path
