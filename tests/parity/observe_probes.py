"""Observe what one backend computes for the parity gate, for many workloads in one process.

    python observe_probes.py <backend> <output folder> <workload>=<manifest>=<data folder>...

Writes <output folder>/<workload>/<backend>.npz as scripts/probe.py does, which starts a process, and
so a framework, for each.
"""

import sys
from pathlib import Path

import numpy as np
from workspace import CONFIG

from paragone import data, engines
from paragone.base import errors
from paragone.config.expand import probe
from probe import observe


def main() -> None:
    """Run the program."""
    backend, folder, *named = sys.argv[1:]
    for name in named:
        workload, manifest, data_folder = name.split("=")
        spec = probe(CONFIG, workload, backend)
        dataset = data.load(manifest, data_folder)
        try:
            observed = observe(engines.create(spec), spec, dataset)
        except errors.Unavailable as error:
            observed = {"unavailable": np.array(str(error))}
        output = Path(folder) / workload / f"{backend}.npz"
        output.parent.mkdir(parents=True, exist_ok=True)
        np.savez(output, **observed)


if __name__ == "__main__":
    main()
