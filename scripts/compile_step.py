"""Compile an exported step for a target that is described, and record what the compiler says of it.

A refusal is a record, too: of a topology that the compiler does not know, a program that does not fit, a
compiler that is not installed.
"""

import argparse
import json
from pathlib import Path

from paragone.ahead_of_time.record import compilation_record
from paragone.base.errors import UserError, entry_point
from paragone.base.process_end import end_process
from paragone.records.compilations import check_compilation
from paragone.records.measurements import write


@entry_point
def main(arguments: list[str] | None = None) -> None:
    """Run the program."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--stablehlo", required=True, type=Path, help="that export_step.py wrote")
    parser.add_argument("--description", required=True, type=Path, help="of it, likewise")
    parser.add_argument("--target", required=True, help="of `config.compilations`, JSON")
    parser.add_argument("--record", required=True, type=Path, help="to write")
    options = parser.parse_args(arguments)
    try:
        entry = json.loads(options.description.read_text(encoding="utf-8"))
        stablehlo = options.stablehlo.read_text(encoding="utf-8")
        target = json.loads(options.target)
    except (OSError, ValueError) as error:
        raise UserError(f"{error}; run scripts/export_step.py first") from None
    record = compilation_record(entry, stablehlo, target)
    write(record, options.record, check_compilation)
    print(f"[{entry['name']} for {target['name']}] {summary(record)}", flush=True)


def summary(record: dict) -> str:
    """One line, for the log."""
    if record["status"] != "compiled":
        return f"{record['status']}: {record['reason']}"
    return (
        f"compiled in {record['compile_seconds']:.1f} s, {record['memory']['total'] / 1e6:,.1f} MB "
        f"of {record['target']['memory'] / 1e6:,.0f} MB per device"
    )


if __name__ == "__main__":
    main()
    end_process()
