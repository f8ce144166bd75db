"""Compile an exported step for a target that is described, and record what the compiler says of it.

A refusal is a record, too: of a topology that the compiler does not know, a program that does not fit, a
compiler that is not installed.
"""

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "scripts"))

from ahead_of_time.records import Compilation, NotCompiled, Status, Step, Target
from paragone.base.errors import Unavailable, UserError, entry_point, needing_packages
from paragone.base.processes import end_process, take_environment
from paragone.base.typed_json import of_option, read, write
from paragone.machine.process_entry import software


@entry_point
def main(arguments: list[str] | None = None) -> None:
    """Run the program."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--stablehlo", required=True, type=Path, help="that export_step.py wrote")
    parser.add_argument("--description", required=True, type=Path, help="of it, likewise")
    parser.add_argument("--target", required=True, help="machine to compile for, JSON")
    parser.add_argument("--record", required=True, type=Path, help="to write")
    options = parser.parse_args(arguments)
    step = read(Step, options.description, "description of a step")
    try:
        stablehlo = options.stablehlo.read_text(encoding="utf-8")
    except OSError as error:
        raise UserError(f"{error}; run export_step.py first") from None
    record = compiled(step, stablehlo, of_option(Target, options.target, "--target"))
    write(record, options.record)
    memory = f" {record.cost.memory:,} bytes" if record.cost else ""
    print(
        f"[{step.name} for {record.target.label}] {record.status}{memory} {record.reason}",
        flush=True,
    )


def compiled(step: Step, stablehlo: str, target: Target) -> Compilation:
    """The record of compiling a module for a target, whatever happens."""
    cost, seconds, reason = None, None, ""
    status: Status = "compiled"
    try:
        if step.exported is None:
            raise NotCompiled("not_exported", step.reason)
        with needing_packages():
            from ahead_of_time.compilers import compile_for
        cost, seconds = compile_for(target, stablehlo, step.exported)
        if cost.memory > target.device.memory:
            status = "too_large"
    except NotCompiled as error:
        status, reason = error.status, str(error)
    except Unavailable as error:
        status, reason = "no_compiler", str(error)
    return Compilation(
        step=step,
        target=target,
        software=software(),
        status=status,
        reason=reason,
        seconds=seconds,
        cost=cost,
    )


if __name__ == "__main__":
    take_environment()
    main()
    end_process()
