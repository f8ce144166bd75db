"""What fails in the parity gate costs nothing else."""

import sys

import numpy as np
from parity.probing import judge, probe_command
from workspace import call, changed, config_of, succeed

from paragone.config.expand import probe
from paragone.parity import compare
from probe import supervise

SPEC = probe(config_of(), "fashion-conv", "torch")


def test_a_failed_or_absent_probe_costs_the_others_nothing(fashion, tmp_path):
    """Its file holds the reason. An absent device is no verdict; without a reference nothing is in parity."""
    absent = changed(SPEC, backend={"device": "gpu"})
    line = probe_command([absent], [fashion], [tmp_path / "absent.npz"])
    assert "[fashion-conv torch] without result: " in succeed(line)
    broken = {"optimizer": SPEC.workload.optimizer | {"beta_2": "nothing"}}
    outputs = [tmp_path / f"{name}.npz" for name in ("before", "broken", "after")]
    done = call(probe_command([SPEC, changed(SPEC, broken), SPEC], [fashion], outputs))
    assert done.returncode == 0
    assert done.stdout.count("computed") == 2
    assert "model 'fashion-conv' on backend torch: TypeError: " in done.stdout
    assert "Traceback" not in done.stderr  # it is in a file
    with np.load(tmp_path / "before.npz") as arrays:
        off = dict(arrays) | {"loss": arrays["loss"] * 1.001}
        # What the reference has more.
        initial = {
            name.replace("weights", "initial"): 0 * arrays[name]
            for name in arrays.files
            if name.startswith("weights/")
        }
        expected = {**arrays, **initial, "evaluation_unbiased": arrays["evaluation"]}
    np.savez(tmp_path / "off.npz", **off)
    np.savez(tmp_path / "expected.npz", **expected)
    paths = {
        name: tmp_path / f"{name}.npz" for name in ("before", "broken", "after", "absent", "off")
    }

    def verdicts(reference: str) -> dict:
        return judge("any", tmp_path / f"{reference}.npz", list(paths.values()))

    judged = verdicts("expected")
    assert [judged[name]["passed"] for name in paths] == [True, False, True, None, False]
    assert judged["broken"]["reason"].startswith("the probe failed: ")
    assert "gpu" in judged["absent"]["reason"]
    assert judged["off"]["reason"].startswith("loss deviate by 1.0e-03")
    judged = verdicts("broken")
    assert [judged[name]["passed"] for name in paths] == [False, False, False, None, False]
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
    names = ["first", "abort", "second", "exit", "again", "late", "leave"]
    outputs = [tmp_path / f"{name}.npz" for name in names]
    (tmp_path / "first.npz").write_text("of an earlier call")
    supervise([sys.executable, "-c", ENDS, *map(str, outputs)], [SPEC] * len(names), outputs)
    reasons = {"abort": "was ended by SIGABRT (aborted)", "exit": "ended with status 7"}
    reasons["leave"] = "ended with status 0"
    for name, output in zip(names, outputs, strict=True):
        if name in reasons:
            assert compare.read(output).reason == f"the probe failed: the process {reasons[name]}"
        else:
            assert output.read_text() == "whole"
    assert capfd.readouterr().out.count("failed: ") == len(reasons)
