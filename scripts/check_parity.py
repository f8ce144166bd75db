"""Judge the backends of one workload by the parity gate."""

import argparse
import json
from pathlib import Path

import numpy as np

from paragone.base.errors import entry_point
from paragone.parity.compare import TOLERANCES, Observation, compare


def read(path: Path) -> Observation | str:
    """An observation, or the reason why the backend is not available here."""
    with np.load(path) as arrays:
        if "unavailable" in arrays:
            return str(arrays["unavailable"])
        groups: dict[str, dict[str, np.ndarray]] = {"gradients": {}, "weights": {}}
        for key in arrays.files:
            group, _, name = key.partition("/")
            if name:
                groups[group][name] = arrays[key]
        return Observation(
            precision=str(arrays["precision"]),
            parameters=int(arrays["parameters"]),
            logits=arrays["logits"],
            loss=arrays["loss"],
            **groups,
        )


def judge(found: Observation | str, reference: Observation) -> dict:
    """One backend's verdict; `passed` is null where it could not run."""
    if isinstance(found, str):
        return {"passed": None, "reason": found, "deviations": {}}
    return compare(found, reference)


@entry_point
def main() -> None:
    """Run the program."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workload", required=True)
    parser.add_argument("--reference", required=True, type=Path, help="probe in double precision")
    parser.add_argument("--probes", required=True, type=Path, nargs="+", help="<backend>.npz")
    parser.add_argument("--output", required=True, type=Path, help="parity.json to write")
    options = parser.parse_args()
    reference = read(options.reference)
    report = {
        "workload": options.workload,
        "tolerances": TOLERANCES,
        "backends": {probe.stem: judge(read(probe), reference) for probe in options.probes},
    }
    for backend, verdict in report["backends"].items():
        words = {True: "in parity", False: "NOT in parity", None: "not available"}
        print(f"[{options.workload} {backend}] {words[verdict['passed']]}", verdict["reason"] or "")
    options.output.write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
