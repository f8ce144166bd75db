"""Compute what the first steps of a run should change, in double precision.

A reference that fails (it may need more memory than there is) stops no run: its output holds the reason.
"""

import argparse
import time
import traceback
from pathlib import Path

import numpy as np

from paragone import data
from paragone.base.errors import entry_point, reason_of
from paragone.base.processes import IN_FILE, end_process, take_environment
from paragone.config.run_spec import Spec
from paragone.machine import limits
from paragone.models.weights import read
from paragone.parity.first_steps import reference, write


@entry_point
def main() -> None:
    """Run the program."""
    parser = argparse.ArgumentParser(description=__doc__, fromfile_prefix_chars=IN_FILE)
    parser.add_argument("--spec", required=True, help="of `expand.first_steps`, JSON")
    parser.add_argument("--output", required=True, type=Path, help=".npz to write")
    parser.add_argument("--manifest", required=True, type=Path, help="of the data set")
    parser.add_argument("--weights", type=Path, help="file that scripts/fetch.py --model wrote")
    parser.add_argument(
        "--data-folder", required=True, type=Path, help="`data.folder` of the config"
    )
    options = parser.parse_args()
    spec = Spec.from_json(options.spec)
    dataset = data.load(options.manifest, options.data_folder)
    pretrained = read(options.weights, options.data_folder)
    limits.limit_memory(1)  # or the kernel would end the process instead of an error
    begin = time.monotonic()
    try:
        arrays = reference(spec, dataset, pretrained)
        word = f"no verdict: {arrays['failed']}" if "failed" in arrays else "computed"
    except Exception as error:
        traceback.print_exc()
        reason = reason_of(error)
        arrays, word = {"failed": np.array(reason)}, f"failed: {reason}"
    write(arrays, options.output)
    print(f"[{spec.name}] {word}, {time.monotonic() - begin:.1f} s", flush=True)


if __name__ == "__main__":
    take_environment()
    main()
    end_process()
