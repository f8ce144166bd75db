"""Export one step of a workload on a backend as StableHLO, for devices that need not be there.

A framework that refuses stops nothing: the module is then empty and its description holds the reason.
"""

import argparse
import time
import traceback
from pathlib import Path

from paragone.ahead_of_time.exported_program import program_entry
from paragone.ahead_of_time.exports import export
from paragone.base.atomic_files import write_json, write_text
from paragone.base.errors import entry_point, reason_of
from paragone.base.process_end import end_process
from paragone.config.compilations import Program, exporter_of


@entry_point
def main(arguments: list[str] | None = None) -> None:
    """Run the program."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True, help="of `config.compilations`, JSON")
    parser.add_argument("--stablehlo", required=True, type=Path, help="module to write, text")
    parser.add_argument("--description", required=True, type=Path, help="of it, JSON, to write")
    options = parser.parse_args(arguments)
    program = Program.from_json(options.program)
    exporter_of(program.spec.backend["engine"])
    begin = time.monotonic()
    try:
        exported, reason = export(program), None
        word = f"exported, {len(exported.stablehlo):,} bytes"
    except Exception as error:
        traceback.print_exc()
        exported, reason = None, reason_of(error)
        word = f"not exported: {reason}"
    write_text(exported.stablehlo if exported else "", options.stablehlo)
    write_json({**program_entry(program, exported), "reason": reason}, options.description)
    print(f"[{program.name}] {word}, {time.monotonic() - begin:.1f} s", flush=True)


if __name__ == "__main__":
    main()
    end_process()
