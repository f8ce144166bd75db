"""Export the training step of a workload on a backend as StableHLO, for devices that need not be there.

A framework that refuses stops nothing: the module is then empty, and its description has the reason.
"""

import argparse
import sys
import time
import traceback
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "scripts"))

from ahead_of_time.exports import export, step_of
from ahead_of_time.plan import exporter_of
from ahead_of_time.records import Example
from paragone.base.atomic_files import write_text
from paragone.base.errors import entry_point, reason_of
from paragone.base.processes import end_process, take_environment
from paragone.base.typed_json import of_option, write
from paragone.config.run_spec import Spec


@entry_point
def main(arguments: list[str] | None = None) -> None:
    """Run the program."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--spec", required=True, help="specification of the step, JSON")
    parser.add_argument("--example", required=True, help="shape of its examples, JSON")
    parser.add_argument("--stablehlo", required=True, type=Path, help="module to write, text")
    parser.add_argument("--description", required=True, type=Path, help="of it, JSON, to write")
    options = parser.parse_args(arguments)
    spec = Spec.from_json(options.spec)
    example = of_option(Example, options.example, "--example")
    exporter_of(spec.backend.engine)
    begin = time.monotonic()
    try:
        text, exported = export(spec, example)
        step = step_of(spec, exported)
        outcome = f"exported, {len(text):,} characters"
    except Exception as error:
        traceback.print_exc()
        text, step = "", step_of(spec, None, reason_of(error))
        outcome = f"not exported: {step.reason}"
    write_text(text, options.stablehlo)
    write(step, options.description)
    print(f"[{step.name}] {outcome}, {time.monotonic() - begin:.1f} s", flush=True)


if __name__ == "__main__":
    take_environment()
    main()
    end_process()
