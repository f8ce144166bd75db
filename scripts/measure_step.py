"""Run an exported step on the CPU of this machine: how far is a step from its bound where both are known?"""

import argparse
import json
from pathlib import Path

from paragone.base.errors import Unavailable, UserError, entry_point, needing_packages
from paragone.base.process_end import end_process
from paragone.microbenchmarks.program import Measuring
from paragone.records.compilations import check_measured_step
from paragone.records.measurements import write


@entry_point
def main(arguments: list[str] | None = None) -> None:
    """Run the program."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--stablehlo", required=True, type=Path, help="that export_step.py wrote")
    parser.add_argument("--description", required=True, type=Path, help="of it, likewise")
    parser.add_argument("--threads", type=int, required=True, help="CPU cores to use at most")
    parser.add_argument("--output", required=True, type=Path, help="result to write, JSON")
    options = parser.parse_args(arguments)
    try:
        entry = json.loads(options.description.read_text(encoding="utf-8"))
        stablehlo = options.stablehlo.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise UserError(f"{error}; run scripts/export_step.py first") from None
    if not stablehlo:
        raise UserError(f"{options.stablehlo}: empty: {entry['reason']}")
    try:
        with needing_packages():
            from paragone.ahead_of_time.running import measure
    except Unavailable as error:
        raise UserError(
            f"{error}, and exported steps are run by it; install it, or name the frameworks that "
            "are installed: --config frameworks=[torch], say"
        ) from None
    measuring = Measuring(options.threads)
    found = measure(stablehlo, entry["devices"])
    program = {key: value for key, value in entry.items() if key != "reason"}
    result = {"schema": 1, "program": program, "process": measuring.stop(), **found}
    write(result, options.output, check_measured_step)
    step = 1e3 * min(found["runs"]) / found["calls"]
    memory = found["traffic"]["bytes"] / min(found["traffic"]["runs"]) / 1e9
    print(f"[{entry['name']}] {step:.3g} ms per step, memory {memory:.1f} GB/s", flush=True)


if __name__ == "__main__":
    main()
    end_process()
