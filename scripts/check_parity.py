"""Judge the backends of one workload by the parity gate."""

import argparse
from pathlib import Path

from paragone.base.errors import entry_point
from paragone.base.typed_json import write
from paragone.parity.compare import report

VERDICTS = {True: "in parity", False: "NOT in parity", None: "not available"}


@entry_point
def main() -> None:
    """Run the program."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workload", required=True)
    parser.add_argument("--reference", required=True, type=Path, help="probe in double precision")
    parser.add_argument("--probes", required=True, type=Path, nargs="+", help="<backend>.npz")
    parser.add_argument("--output", required=True, type=Path, help="parity.json to write")
    options = parser.parse_args()
    made = report(options.workload, options.reference, options.probes)
    for backend, verdict in made.backends.items():
        print(f"[{made.workload} {backend}] {VERDICTS[verdict.passed]}", verdict.reason or "")
    write(made, options.output)


if __name__ == "__main__":
    main()
