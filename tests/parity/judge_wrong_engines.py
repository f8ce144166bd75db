"""Run the gate on all wrong engines of a backend, in one process, and print what it said unexpectedly.

    python judge_wrong_engines.py <backend> <precision> <data folder> <references> <manifest>...

Prints one JSON object: how many were "tried"; "unexpected": the gate's reasons, by name, where it did not
refuse an engine for its reason. `references`: a folder with <workload>/reference.npz.
"""

import json
import sys
from pathlib import Path

from parity.wrong_engines import loaded, not_as_expected, wrong_engines


def main() -> None:
    """Run the program."""
    backend, precision, folder, references, *manifests = sys.argv[1:]
    datasets = loaded(map(Path, manifests), Path(folder))
    unexpected = not_as_expected(backend, precision, datasets, Path(references))
    print(json.dumps({"tried": len(wrong_engines(backend)), "unexpected": unexpected}))


if __name__ == "__main__":
    main()
