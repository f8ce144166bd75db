"""Probes of every backend through the programs: what the tests of the parity gate share."""

import json
from pathlib import Path

from msgspec.structs import replace
from plan import Plan
from workspace import CONFIG, INDUCTOR, ROOT, Arrays, call, command, succeed

from paragone.config.expand import probe
from paragone.config.run_spec import Spec

# One process of `jax-multiprocess` is `jax`.
BACKENDS = sorted(set(CONFIG["backends"]) - {"jax-multiprocess"})
WORKLOADS = sorted(CONFIG["workloads"])
# Their layers, losses and optimizers take seconds to compile.
QUICK = ["fashion-cnn", "reuters-cnn", "reuters-cnn-double-softmax"]
SLOW = [name for name in WORKLOADS if name not in QUICK]
# Left to `make test-nightly`: three compile deep models for minutes, the others take the steps of `torch` and
# `tensorflow-mirrored` with one replica.
NIGHTLY = {
    "jax": SLOW,
    "torch-compile": SLOW,
    "torch-xla": [name for name in SLOW if name != "fashion-conv"],
    "torch-ddp": SLOW,
    "torch-fsdp": SLOW,
    "tensorflow-multiworker": SLOW,
    "keras-fit": SLOW,
}
ABSENT = {"tensorflow-tpu", "torch-xla-multiprocess"}
# The smoke run shows it (pipeline/test_smoke_records.py); of `torch` tests of failures need the probe.
SMOKE = {
    (spec.workload["name"], spec.backend["name"])
    for spec in Plan("smoke").runs.values()
    if spec.workload["name"] == "fashion-cnn" and spec.backend["name"] != "torch"
}


def dataset_of(workload: str) -> str:
    return CONFIG["workloads"][workload]["dataset"]


def backends_of(workload: str) -> list[str]:
    """Those that are probed together with the others, in `make test-all`."""
    return [
        name
        for name in BACKENDS
        if workload not in NIGHTLY.get(name, []) and (workload, name) not in SMOKE
    ]


def probe_command(specs: list[Spec], arrays: list[Arrays], outputs: list[Path]) -> list[str]:
    return command(
        "probe",
        specs=[spec.to_json() for spec in specs],
        manifests=[one.manifest for one in arrays],
        data_folder=arrays[0].folder,
        outputs=outputs,
    )


def fashion_probes(arrays: Arrays, folder: Path, **workloads: dict) -> list[str]:
    """The command that probes `fashion-conv` with changes on torch, by names of outputs."""
    spec = probe(CONFIG, "fashion-conv", "torch")
    specs = [replace(spec, workload={**spec.workload, **one}) for one in workloads.values()]
    return probe_command(specs, [arrays], [folder / f"{name}.npz" for name in workloads])


def judge(workload: str, reference: Path, probes: list[Path], output: Path) -> dict:
    line = command(
        "check_parity", workload=workload, reference=reference, probes=probes, output=output
    )
    succeed(line)
    return json.loads(output.read_text())["backends"]


def observe(
    backend: str,
    workloads: list[str],
    arrays: list[Arrays],
    folder: Path,
    config: dict = CONFIG,
    scripts: Path = ROOT / "scripts",
    replicas: int = 1,
) -> None:
    """Workloads on one backend, in one process."""
    specs = [probe(config, workload, backend, replicas) for workload in workloads]
    outputs = [folder / workload / f"{backend}.npz" for workload in workloads]
    python, _, *options = probe_command(specs, arrays, outputs)
    line = [python, str(scripts / "probe.py"), *options]
    # No compiled files: those of an edit within the same second would look up to date.
    done = call(line, timeout=1200, PYTHONDONTWRITEBYTECODE="1", **INDUCTOR)
    assert done.returncode == 0, done.stderr
    assert "] failed: " not in done.stdout, (
        done.stdout + done.stderr
    )  # a device's absence may say so
