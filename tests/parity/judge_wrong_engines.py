"""Run the gate on all wrong engines of a backend, in one process, and print what it said unexpectedly.

    python judge_wrong_engines.py <backend> <precision> <bugs> <data folder> <references> <manifest>...

Prints one JSON object: how many were "tried"; "unexpected": the gate's reasons, by name, where it did not
refuse an engine for its reason. `bugs`: "all", or "own", those that the other frameworks cannot have.
`references`: a folder with <workload>/reference.npz of the workloads whose bugs are tried.
"""

import importlib
import json
import sys
from pathlib import Path

import pytest
from parity.protocols import CONFIGURED
from parity.wrong_engines import ANYWHERE, OF_LOOP
from workspace import config_of

from paragone import data
from paragone.base import plugins
from paragone.config.expand import probe
from paragone.parity import compare
from paragone.training.observe import observe

MODULES = {"tensorflow-mirrored": "wrong_tensorflow", "jax": "wrong_jax"}


def main() -> None:
    """Run the program."""
    backend, precision, kind, folder, references, *manifests = sys.argv[1:]
    loaded = [data.load(Path(manifest), Path(folder)) for manifest in manifests]
    datasets = {dataset.name: dataset for dataset in loaded}
    own = importlib.import_module(f"parity.{MODULES.get(backend, 'wrong_torch')}")
    block = CONFIGURED["backends"][backend] | {"parity": precision}
    config = CONFIGURED | {"backends": {backend: block}}
    engine = plugins.load("engines", block["engine"]).ENGINE
    shared = [*ANYWHERE.items(), *OF_LOOP.items()] if kind == "all" else []
    tried, unexpected = 0, {}
    for (workload, group), bugs in [*shared, *own.WRONG.items()]:
        path = Path(references) / workload / "reference.npz"
        if not path.exists():
            continue
        spec = probe(config_of(config), workload, backend)
        reference = compare.read(path)
        for name, plant in bugs.items():
            if name in getattr(own, "WITHOUT", {}).get(backend, ()):
                continue
            with pytest.MonkeyPatch.context() as patch:
                plant(patch, engine)
                arrays = observe(spec, datasets[spec.workload.dataset])
            verdict = compare.compare(compare.Observation.of(arrays), reference)
            tried += 1
            if not (verdict.reason or "").startswith(f"{group} deviate by "):
                unexpected[name] = verdict.reason or "passed"
    print(json.dumps({"tried": tried, "unexpected": unexpected}))


if __name__ == "__main__":
    main()
