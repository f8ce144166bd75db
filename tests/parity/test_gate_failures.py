"""What fails in the parity gate costs nothing else."""

import sys

import numpy as np
import pytest
from parity.probing import judge, probe_command
from workspace import call, changed, config_of, succeed

from paragone.config.expand import probe
from paragone.parity import compare
from probe import Probing, supervise

SPEC = probe(config_of(), "fashion-conv", "torch")


def test_a_failed_or_absent_probe_costs_the_others_nothing(fashion, tmp_path):
    """Its file holds the reason. An absent device is no verdict; without a reference nothing is in parity."""
    absent = changed(SPEC, backend={"device": "gpu"})
    line = probe_command(absent, fashion, tmp_path / "absent.npz")
    assert "[fashion-conv torch] without result: " in succeed(line)
    broken = {"optimizer": SPEC.workload.optimizer | {"beta_2": "nothing"}}
    line = probe_command(SPEC, fashion, tmp_path / "before.npz")
    assert "[fashion-conv torch] computed, " in succeed(line)
    done = call(probe_command(changed(SPEC, broken), fashion, tmp_path / "broken.npz"))
    assert done.returncode == 0
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
    paths = {name: tmp_path / f"{name}.npz" for name in ("before", "broken", "absent", "off")}

    def verdicts(reference: str) -> dict:
        return judge("any", tmp_path / f"{reference}.npz", list(paths.values()))

    judged = verdicts("expected")
    assert [judged[name]["passed"] for name in paths] == [True, False, None, False]
    assert judged["broken"]["reason"].startswith("the probe failed: ")
    assert "gpu" in judged["absent"]["reason"]
    assert judged["off"]["reason"].startswith("loss deviate by 1.0e-03")
    judged = verdicts("broken")
    assert [judged[name]["passed"] for name in paths] == [False, False, None, False]
    assert "nothing to compare with; reference: the probe failed" in judged["before"]["reason"]


# In place of a process with a framework: how it ends, the output, and what becomes of it.
ENDS = {
    "import os; os.abort()": "the process was ended by SIGABRT (aborted)",
    "import os; os._exit(7)": "the process ended with status 7",
    "": "the process ended with status 0",
}
WRITES = "import sys; open(sys.argv[1], 'x').write('whole'); sys.exit(1)"


@pytest.mark.parametrize("program", ENDS)
def test_a_crash_is_the_verdict_on_its_probe(program, tmp_path, capfd):
    probing = Probing(
        spec=SPEC, output=tmp_path / "output.npz", manifest=tmp_path, data_folder=tmp_path
    )
    probing.output.write_text("of an earlier call")
    supervise([sys.executable, "-c", program], probing)
    assert compare.read(probing.output).reason == f"the probe failed: {ENDS[program]}"
    assert capfd.readouterr().out.count("failed: ") == 1
    supervise([sys.executable, "-c", WRITES, str(probing.output)], probing)
    assert probing.output.read_text() == "whole"
