"""The parity gate through its programs: every backend passes, and a broken one would not."""

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from workspace import CONFIG, call, command, refused, succeed

from paragone.matrix import probe
from paragone.parity import TOLERANCES

BACKENDS = sorted(CONFIG["backends"])
WORKLOADS = sorted(CONFIG["workloads"])


def probe_command(workload: str, backend: str, arrays, output: Path) -> list[str]:
    return command(
        "probe",
        spec=probe(CONFIG, workload, backend).to_json(),
        manifest=arrays.manifest,
        data_folder=arrays.folder,
        output=output,
    )


def judge(workload: str, reference: Path, probes: list[Path], output: Path) -> dict:
    line = command(
        "check_parity", workload=workload, reference=reference, probes=probes, output=output
    )
    succeed(line)
    return json.loads(output.read_text())["backends"]


@pytest.fixture(scope="module")
def probes(fashion, tmp_path_factory) -> Path:
    """A folder with <workload>/<backend>.npz of every backend and the reference."""
    folder = tmp_path_factory.mktemp("probes")
    lines = []
    for workload in WORKLOADS:
        (folder / workload).mkdir()
        for backend in ["reference", *BACKENDS]:
            output = folder / workload / f"{backend}.npz"
            lines.append(probe_command(workload, backend, fashion, output))
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(succeed, lines))
    return folder


@pytest.mark.parametrize("workload", WORKLOADS)
def test_every_backend_passes(probes, workload, tmp_path):
    paths = [probes / workload / f"{backend}.npz" for backend in BACKENDS]
    found = judge(workload, probes / workload / "reference.npz", paths, tmp_path / "parity.json")
    assert sorted(found) == BACKENDS
    for backend, verdict in found.items():
        assert verdict["passed"] is True, f"{backend}: {verdict['reason']}"
        assert verdict["deviations"].keys() == TOLERANCES.keys()
        # Single precision is no double precision: all zeros would mean that nothing was compared.
        assert max(verdict["deviations"].values()) > 1e-9


@pytest.mark.parametrize("workload", WORKLOADS)
def test_the_probe_trains(probes, workload):
    """The weights move by far more than the tolerance: equal initial weights alone cannot pass."""
    with np.load(probes / workload / "reference.npz") as reference:
        gradients = {name for name in reference.files if name.startswith("gradients/")}
        weights = {name for name in reference.files if name.startswith("weights/")}
        assert len(weights) >= len(gradients) >= 4
        assert reference["logits"].shape == (64, 10)
        assert all(np.linalg.norm(reference[name]) > 0 for name in gradients)


def nudge(values: np.ndarray) -> np.ndarray:
    """One per cent off."""
    return values * 1.01


def one_nan(values: np.ndarray) -> np.ndarray:
    changed = np.array(values)
    changed.flat[-1] = np.nan
    return changed


GROUPS = {
    "logits": "logits",
    "loss": "loss",
    "gradients": "gradients/",
    "weights": "weights/",
    "statistics": "moving_variance",
}
FAULTS = {"nudged": nudge, "nan": one_nan}


@pytest.fixture(scope="module")
def verdicts(probes, tmp_path_factory) -> dict:
    """Verdicts over the torch probe with one array broken, by <group>-<fault>-<first or last>."""
    folder = tmp_path_factory.mktemp("broken")
    with np.load(probes / "fashion-cnn/torch.npz") as arrays:
        good = {name: arrays[name] for name in arrays.files}
    broken = {"parameters": {**good, "parameters": good["parameters"] + 1}}
    for group, pattern in GROUPS.items():
        names = [name for name in good if pattern in name]
        if group == "weights":
            names = [name for name in names if "moving" not in name]
        for fault, change in FAULTS.items():
            for which, name in (("first", names[0]), ("last", names[-1])):
                broken[f"{group}-{fault}-{which}"] = {**good, name: change(good[name])}
    for name, arrays in {**broken, "untouched": good}.items():
        np.savez(folder / f"{name}.npz", **arrays)
    np.savez(folder / "absent.npz", unavailable=np.array("no such device"))
    return judge(
        "fashion-cnn",
        probes / "fashion-cnn/reference.npz",
        sorted(folder.glob("*.npz")),
        folder / "parity.json",
    )


@pytest.mark.parametrize("which", ["first", "last"])
@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("group", GROUPS)
def test_one_broken_array_is_refused_by_its_group(verdicts, group, fault, which):
    verdict = verdicts[f"{group}-{fault}-{which}"]
    assert verdict["passed"] is False
    assert verdict["reason"].startswith(f"{group} deviate by")
    assert verdict["reason"].count("deviate by") == 1


def test_another_parameter_count_is_refused(verdicts):
    assert verdicts["parameters"]["passed"] is False
    assert "trainable parameters" in verdicts["parameters"]["reason"]


def test_the_same_probe_unbroken_passes(verdicts):
    assert verdicts["untouched"]["passed"] is True


def test_a_backend_that_could_not_run_is_neither(verdicts):
    assert verdicts["absent"] == {"passed": None, "reason": "no such device", "deviations": {}}


def test_probe_without_its_data_is_one_error(fashion, tmp_path):
    line = probe_command("fashion-conv", "torch", fashion, tmp_path / "probe.npz")
    line[line.index("--manifest") + 1] = str(tmp_path / "gone.json")
    refused(call(line), "gone.json", "is missing")
    assert not list(tmp_path.iterdir())


def test_probe_of_an_absent_device_says_so(fashion, tmp_path):
    line = probe_command("fashion-conv", "torch", fashion, tmp_path / "probe.npz")
    at = line.index("--spec") + 1
    line[at] = line[at].replace('"device":"cpu"', '"device":"gpu"')
    succeed(line)
    with np.load(tmp_path / "probe.npz") as arrays:
        assert "gpu" in str(arrays["unavailable"])
