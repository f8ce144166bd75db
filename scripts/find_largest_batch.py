"""Find the largest batch of a device that a training step fits with, by compiling it for a target."""

import argparse
import json
from pathlib import Path

from paragone.ahead_of_time.largest import search
from paragone.base.errors import UserError, entry_point
from paragone.base.process_end import end_process
from paragone.config.compilations import Program
from paragone.machine.process_entry import software
from paragone.records.compilations import check_largest_batch
from paragone.records.measurements import write


@entry_point
def main(arguments: list[str] | None = None) -> None:
    """Run the program."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True, help="of `config.compilations`, JSON")
    parser.add_argument("--target", required=True, help="likewise")
    parser.add_argument("--record", required=True, type=Path, help="to write")
    options = parser.parse_args(arguments)
    program = Program.from_json(options.program)
    try:
        target = json.loads(options.target)
    except ValueError as error:
        raise UserError(f"--target: not JSON: {error}") from None
    tries = search(program, target)
    result = {
        "schema": 1,
        "name": program.name,
        "workload": program.spec.workload["name"],
        "model": program.spec.workload["model"],
        "backend": program.spec.backend["name"],
        "precision": program.spec.precision,
        "shape": list(program.shape),
        "target": target,
        "tries": tries,
        "software": software(),
    }
    write(result, options.record, check_largest_batch)
    for one in tries:
        total = "" if one["total_bytes"] is None else f", {one['total_bytes'] / 1e9:.2f} GB"
        print(
            f"[{program.name} for {target['name']}] {one['per_device']:,}: {one['status']}{total}"
        )


if __name__ == "__main__":
    main()
    end_process()
