"""Run the gate on all wrong engines of a backend, in one process, and print what it said unexpectedly.

    python judge_wrong_engines.py <backend> <precision> <which> <data folder> <references> <manifest>...

Prints one JSON object: how many were "tried"; "unexpected": the gate's reasons, by name, where it did not
refuse an engine for its reason. `which`: all, shallow or deep workloads; `references`: a folder with
<workload>/reference.npz.
"""

import json
import sys
from pathlib import Path

from parity.wrong_engines import loaded, not_as_expected, wrong_engines


def main() -> None:
    """Run the program."""
    backend, precision, which, folder, references, *manifests = sys.argv[1:]
    datasets = loaded(map(Path, manifests), Path(folder))
    wrongs = wrong_engines(backend, {"all": None, "shallow": False, "deep": True}[which])
    unexpected = not_as_expected(wrongs, backend, precision, datasets, Path(references))
    print(json.dumps({"tried": len(wrongs), "unexpected": unexpected}))


if __name__ == "__main__":
    main()
