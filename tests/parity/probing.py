"""Probes through the program of the parity gate, and its verdicts on them."""

from pathlib import Path

import msgspec
from workspace import CONFIG, INDUCTOR, Arrays, call, command, config_of

from paragone.config.expand import probe
from paragone.config.run_spec import Spec
from paragone.parity.compare import report


def probe_command(
    specs: list[Spec], arrays: list[Arrays], outputs: list[Path], **keys: object
) -> list[str]:
    """The command that probes the specifications; all arrays are in one data folder."""
    return command(
        "probe",
        specs=specs,
        manifests=[each.manifest for each in arrays],
        data_folder=arrays[0].folder,
        outputs=outputs,
        **keys,
    )


def observe(
    backend: str,
    workloads: list[str],
    arrays: list[Arrays],
    folder: Path,
    config: dict = CONFIG,
    replicas: int = 1,
) -> None:
    """Write <workload>/<backend>.npz for every workload, in one process."""
    specs = [probe(config_of(config), workload, backend, replicas) for workload in workloads]
    outputs = [folder / workload / f"{backend}.npz" for workload in workloads]
    done = call(probe_command(specs, arrays, outputs), timeout=1200, **INDUCTOR)
    assert done.returncode == 0, done.stderr
    # The absence of a device may say so.
    assert "] failed: " not in done.stdout, done.stdout + done.stderr


def judge(workload: str, reference: Path, probes: list[Path]) -> dict:
    """The gate's verdicts by backend; each has the name of its probe's file."""
    return msgspec.to_builtins(report(workload, reference, probes).backends)
