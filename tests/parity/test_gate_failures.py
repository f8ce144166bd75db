"""The parity gate refuses what is broken, and what fails costs nothing else."""

import re
import sys

import numpy as np
import pytest
from parity.probing import fashion_probes, judge
from workspace import CONFIG, Arrays, call, refused, succeed

from paragone.config.expand import probe
from paragone.parity import compare
from probe import supervise


def nudge(values: np.ndarray) -> np.ndarray:
    """Three per cent off."""
    return values * 1.03


def one_nan(values: np.ndarray) -> np.ndarray:
    changed = np.array(values)
    changed.flat[-1] = np.nan
    return changed


GROUPS = {
    "logits": "logits$",
    "loss": "loss$",
    "gradients": "gradients/",
    "training": "training$",
    "updates": "weights/(?!.*moving)",
    "statistics": "weights/.*moving_variance",
    "evaluation": "evaluation$",
}
FAULTS = {"nudged": nudge, "nan": one_nan}


@pytest.fixture(scope="module")
def verdicts(probes_of, tmp_path_factory) -> dict:
    """Verdicts over the torch probe with one array broken, by <group>-<fault>-<first or last>."""
    folder = tmp_path_factory.mktemp("broken")
    with np.load(probes_of("fashion-cnn") / "torch.npz") as arrays:
        good = {name: arrays[name] for name in arrays.files}
    broken = {"parameters": {**good, "parameters": good["parameters"] + 1}}
    for group, pattern in GROUPS.items():
        names = [name for name in good if re.match(pattern, name)]
        for fault, change in FAULTS.items():
            for which, name in (("first", names[0]), ("last", names[-1])):
                broken[f"{group}-{fault}-{which}"] = {**good, name: change(good[name])}
    for name, arrays in {**broken, "untouched": good}.items():
        np.savez(folder / f"{name}.npz", **arrays)
    np.savez(folder / "absent.npz", unavailable=np.array("no such device"))
    return judge(
        "fashion-cnn",
        probes_of("fashion-cnn") / "reference.npz",
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
    assert verdicts["absent"]["passed"] is None
    assert verdicts["absent"]["reason"] == "no such device"
    assert verdicts["absent"]["deviations"] == verdicts["absent"]["allowed"] == {}


def test_a_probe_without_its_data_is_refused_before_the_framework_is_imported(fashion, tmp_path):
    gone = Arrays(tmp_path / "gone.json", fashion.folder)
    line = fashion_probes(gone, tmp_path, one={})
    done = call(line, PYTHONPROFILEIMPORTTIME="1")
    refused(done, "gone.json", "is missing")
    imported = {text.rpartition("|")[2].strip() for text in done.stderr.splitlines()}
    assert "numpy" in imported
    assert "torch" not in imported
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
            assert compare.read(output).reason == f"the probe failed: the process {reasons[name]}"
        else:
            assert output.read_text() == "whole"
    assert capfd.readouterr().out.count("failed: ") == len(reasons)
