"""The parity gate through its programs: every backend passes, and a broken one would not."""

import json
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from workspace import CONFIG, Arrays, call, command, refused, succeed

from paragone import data
from paragone.config.expand import probe
from paragone.config.run_spec import Spec
from paragone.data.batches import train_batches
from paragone.parity import report
from paragone.parity.compare import TOLERANCES
from probe import supervise

BACKENDS = sorted(CONFIG["backends"])
WORKLOADS = sorted(CONFIG["workloads"])
# Left to the smoke run: PyTorch/XLA compiles MobileNetV2 for a minute or two on a CPU.
SLOW = {("mobilenet-v2", "torch-xla")}
ABSENT = {"tensorflow-tpu", "torch-xla-multiprocess"}
# The reference by another name: one replica of DDP averages nothing.
REFERENCE = {"torch", "torch-ddp"}
# Trainable parameters: as published for the text CNN (at the official vocabulary of 30,982 words);
# as Keras and torchvision document it for MobileNetV2; the others by hand.
PARAMETERS = {
    "fashion-cnn": 260 + 20 + 5_020 + 40 + 16_050 + 510,
    "fashion-conv": 640 + 108_170,
    "mobilenet-v2": 3_504_872,
    "reuters-cnn": 332_856,
    "reuters-cnn-double-softmax": 332_856,
    "wide-resnet": 192 + 9_680 + 33_184 + 131_904 + 650,
}


def dataset_of(workload: str) -> str:
    return CONFIG["workloads"][workload]["dataset"]


def backends_of(workload: str) -> list[str]:
    return [backend for backend in BACKENDS if (workload, backend) not in SLOW]


def workloads_of(backend: str) -> list[str]:
    return [workload for workload in WORKLOADS if (workload, backend) not in SLOW]


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


def observe(backend: str, arrays: list[Arrays], folder: Path) -> None:
    """All workloads on one backend, in one process."""
    workloads = workloads_of(backend)
    specs = [probe(CONFIG, workload, backend) for workload in workloads]
    outputs = [folder / workload / f"{backend}.npz" for workload in workloads]
    printed = succeed(probe_command(specs, arrays, outputs), timeout=400)
    assert "failed" not in printed, printed


@pytest.fixture(scope="module")
def in_one_folder(data_of, tmp_path_factory) -> list[Arrays]:
    """The data sets of `data_of`, in one data folder."""
    folder = tmp_path_factory.mktemp("data")
    (folder / "arrays").mkdir()
    for arrays in data_of.values():
        place = json.loads(arrays.manifest.read_text())["folder"]
        (folder / place).symlink_to(arrays.folder / place)
    return [Arrays(arrays.manifest, folder) for arrays in data_of.values()]


@pytest.fixture(scope="module")
def probes(in_one_folder, tmp_path_factory) -> Path:
    """A folder with <workload>/<backend>.npz of every backend and the reference."""
    folder = tmp_path_factory.mktemp("probes")
    slowest_first = ["torch-xla", *(name for name in BACKENDS if name != "torch-xla"), "reference"]
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda backend: observe(backend, in_one_folder, folder), slowest_first))
    return folder


@pytest.fixture(scope="module")
def verdicts_of(probes, tmp_path_factory) -> dict[str, dict]:
    """The gate's verdicts by workload and backend."""
    folder = tmp_path_factory.mktemp("verdicts")
    return {
        workload: judge(
            workload,
            probes / workload / "reference.npz",
            [probes / workload / f"{backend}.npz" for backend in backends_of(workload)],
            folder / f"{workload}.json",
        )
        for workload in WORKLOADS
    }


@pytest.mark.parametrize(
    ("workload", "backend"),
    [(workload, backend) for workload in WORKLOADS for backend in backends_of(workload)],
)
def test_every_backend_passes(verdicts_of, workload, backend):
    verdict = verdicts_of[workload][backend]
    if backend in ABSENT:
        assert verdict["passed"] is None
        assert "tpu" in verdict["reason"].lower()
        return
    assert verdict["passed"] is True, verdict["reason"]
    assert verdict["deviations"].keys() == TOLERANCES["float64"].keys()
    if backend not in REFERENCE:
        # Two methods never agree to the last bit: all zeros would mean that nothing was compared.
        assert max(verdict["deviations"].values()) > 1e-15


def test_torch_is_the_reference(verdicts_of):
    """Bit by bit, with as many threads: the gate adds no deviation of its own."""
    for workload in WORKLOADS:
        assert set(verdicts_of[workload]["torch"]["deviations"].values()) == {0.0}


@pytest.mark.parametrize("workload", WORKLOADS)
def test_the_probe_trains(probes, workload):
    """The weights move by far more than the tolerance: equal initial weights alone cannot pass."""
    outputs = CONFIG["workloads"][workload]["model"].get("outputs")
    classes = {"fashion_mnist": 10, "cats_vs_dogs": 2, "reuters": 46}[dataset_of(workload)]
    with np.load(probes / workload / "reference.npz") as reference:
        gradients = {name for name in reference.files if name.startswith("gradients/")}
        weights = {name for name in reference.files if name.startswith("weights/")}
        assert len(weights) >= len(gradients) >= 4
        assert reference["logits"].shape == (16, outputs or classes)
        assert reference["logits"].dtype == np.float64
        assert all(np.isfinite(reference[name]).all() for name in weights)
        norms = [np.linalg.norm(reference[name]) for name in gradients]
        assert all(norm > 0 for norm in norms)


@pytest.mark.parametrize("workload", WORKLOADS)
def test_trainable_parameters(probes, workload):
    for backend in ["reference", *backends_of(workload)]:
        with np.load(probes / workload / f"{backend}.npz") as arrays:
            if backend not in ABSENT:
                assert int(arrays["parameters"]) == PARAMETERS[workload]


def softmax(logits: np.ndarray) -> np.ndarray:
    powers = np.exp(logits - logits.max(1, keepdims=True))
    return powers / powers.sum(1, keepdims=True)


@pytest.mark.parametrize("backend", [name for name in BACKENDS if name not in ABSENT])
def test_double_softmax_by_hand(probes, data_of, backend):
    """The flaw: the cross entropy of softmax(softmax(logits)), from the same initial weights."""
    arrays = data_of["reuters"]
    spec = probe(CONFIG, "reuters-cnn", backend)
    dataset = data.load(arrays.manifest, arrays.folder)
    _, labels = next(train_batches(dataset, spec, 1))
    rows = np.arange(len(labels))
    with np.load(probes / f"reuters-cnn/{backend}.npz") as plain:
        chances = softmax(plain["logits"])
        assert plain["loss"] == pytest.approx(-np.log(chances[rows, labels]).mean(), rel=1e-12)
    with np.load(probes / f"reuters-cnn-double-softmax/{backend}.npz") as double:
        np.testing.assert_allclose(double["logits"], chances, rtol=1e-10)
        expected = -np.log(softmax(chances)[rows, labels]).mean()
        assert double["loss"] == pytest.approx(expected, rel=1e-12)


def nudge(values: np.ndarray) -> np.ndarray:
    """Three per cent off."""
    return values * 1.03


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


def test_a_probe_without_its_data_is_refused_before_the_framework_is_imported(fashion, tmp_path):
    gone = Arrays(tmp_path / "gone.json", fashion.folder)
    begin = time.monotonic()
    refused(call(fashion_probes(gone, tmp_path, one={})), "gone.json", "is missing")
    assert time.monotonic() - begin < 3
    other = fashion_probes(fashion, tmp_path, one={}, two={"dataset": "reuters"})
    refused(call(other), "--manifests", "'reuters'")
    refused(call([*other, "--outputs", "third.npz"]), "--outputs: 3 for 2 --specs")
    assert not list(tmp_path.iterdir())


def test_a_probe_of_an_absent_device_says_so(fashion, tmp_path):
    line = fashion_probes(fashion, tmp_path, one={}, two={})
    printed = succeed([word.replace('"device":"cpu"', '"device":"gpu"') for word in line])
    assert printed.count("[fashion-conv torch] not available: ") == 2
    with np.load(tmp_path / "two.npz") as arrays:
        assert "gpu" in str(arrays["unavailable"])


def test_a_failed_probe_costs_the_others_nothing(fashion, tmp_path):
    """Its file holds the reason, and it is not in parity; without a reference, nothing is."""
    broken = {"input": {"divide": "nothing"}}
    done = call(fashion_probes(fashion, tmp_path, before={}, broken=broken, after={}))
    assert done.returncode == 0
    assert done.stdout.count("probed") == 2
    assert "[fashion-conv torch] failed: TypeError: " in done.stdout
    assert done.stderr.count("Traceback") == 2  # the second time in a process of its own
    paths = {name: tmp_path / f"{name}.npz" for name in ("before", "broken", "after")}
    judged = judge("any", paths["before"], list(paths.values()), tmp_path / "parity.json")
    assert [judged[name]["passed"] for name in paths] == [True, False, True]
    assert judged["broken"]["reason"].startswith("the probe failed: TypeError: ")
    judged = judge("any", paths["broken"], list(paths.values()), tmp_path / "parity.json")
    assert [judged[name]["passed"] for name in paths] == [False, False, False]
    assert "nothing to compare with; reference: the probe failed" in judged["after"]["reason"]


# In place of a process with a framework: each output "ends" as its name says; others are written.
ENDS = """
import os, sys
from pathlib import Path
for path in map(Path, sys.argv[1:]):
    if not path.exists():
        if path.stem == "abort": os.abort()
        if path.stem == "exit": os._exit(7)
        if path.stem != "leave": path.write_text("whole")
        if path.stem == "again": sys.exit(1)
        if path.stem == "late": os.abort()
"""


def test_a_crash_costs_one_probe(tmp_path, capfd):
    names = ["one", "abort", "two", "exit", "again", "late", "leave"]
    outputs = [tmp_path / f"{name}.npz" for name in names]
    (tmp_path / "one.npz").write_text("of an earlier call")
    specs = [probe(CONFIG, "fashion-conv", "torch")] * len(names)
    supervise([sys.executable, "-c", ENDS, *map(str, outputs)], specs, outputs)
    reasons = {"abort": "was ended by SIGABRT (aborted)", "exit": "ended with status 7"}
    reasons["leave"] = "ended with status 0"
    for name, output in zip(names, outputs, strict=True):
        if name in reasons:
            assert report.read(output).reason == f"the probe failed: the process {reasons[name]}"
        else:
            assert output.read_text() == "whole"
    assert capfd.readouterr().out.count("failed: ") == len(reasons)
