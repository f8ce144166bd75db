"""What `snakemake conform` says of a way of training: each demand is missed once."""

import copy
import json
from pathlib import Path

import numpy as np
import pytest
from unit.make_records import make_record, sealed
from unit.make_results import resume, valid_records

from paragone.base.errors import UserError
from paragone.conformity.judge import Row, judged

WAY = ("fashion-conv", "torch")
IN_PARITY = {
    "passed": True,
    "reason": None,
    "deviations": {"logits": 2e-16, "training": 4e-8},
    "allowed": {"logits": 1e-6, "training": 1e-6},
}


def made_trial() -> dict:
    """What the short runs of a way that meets all demands left."""
    (whole,) = valid_records(range(1), ["torch"])
    killed = copy.deepcopy(whole)
    resume(killed)
    records = {
        "whole": whole,
        "killed": killed,
        "diverging": make_record(status="diverged"),
        "elsewhere": make_record(status="unavailable"),
        "bfloat16": make_record(),
    }
    return {name: {"record": record, "says": "done"} for name, record in records.items()}


def probe(path: Path, hidden: int = 4, **arrays: object) -> None:
    """What the gate compares, as far as its shapes matter."""
    path.parent.mkdir(parents=True, exist_ok=True)
    kernel = {"initial/0.dense.kernel": np.zeros((3, hidden)), "parameters": np.array(3 * hidden)}
    np.savez(path, **(arrays or kernel))


def judge(folder: Path, runs: dict, verdict: dict = IN_PARITY) -> dict[str, Row]:
    """The rows of one way, by their demand."""
    workload, backend = WAY
    (folder / "trials").mkdir(exist_ok=True)
    trial = folder / f"trials/{workload}.{backend}.json"
    for ended in runs.values():
        if ended["record"] and "digest" in ended["record"]:
            ended["record"] = sealed(ended["record"])
    trial.write_text(json.dumps({"spec": {}, "runs": runs}))
    for name in ("reference", backend):
        if not (path := folder / f"parity/{workload}/{name}.npz").exists():
            probe(path)
    report = {"workload": workload, "backends": {"jax": IN_PARITY, backend: verdict}}
    (folder / f"parity/{workload}.json").write_text(json.dumps(report))
    trials = sorted((folder / "trials").iterdir())
    return {row.demand: row for row in judged(trials, folder / "parity")[WAY]}


def test_a_way_that_meets_all_demands(tmp_path):
    found = judge(tmp_path, made_trial())
    assert {demand for demand, row in found.items() if not row.holds} == set(), found
    assert len(found) == 10
    assert found["weights as the reference"].reason.startswith("1 arrays of the same shapes, 12")
    assert "training by 4e-08, allowed 1e-06" in found["parity in double precision"].reason


def other_weights(runs: dict) -> None:
    model = runs["killed"]["record"]["model"]
    runs["killed"]["record"]["model"] = model | {"final_weights": "0" * 64}


def other_losses(runs: dict) -> None:
    runs["killed"]["record"]["epochs"] = epochs = copy.deepcopy(runs["whole"]["record"]["epochs"])
    epochs[-1]["test_loss"] += 1e-12


def began_anew(runs: dict) -> None:
    runs["killed"] = runs["whole"]


def no_checkpoint(runs: dict) -> None:
    runs["killed"] = {"record": None, "says": "error: state.npz is missing"}


def wrong_clock(runs: dict) -> None:
    runs["whole"]["record"]["clocks"]["other"] += 5


def wrong_first_steps(runs: dict) -> None:
    runs["whole"]["record"]["first_steps"]["deviations"]["updates"] = 0.5


def raises_for_infinity(runs: dict) -> None:
    runs["diverging"] = {"record": None, "says": "FloatingPointError"}


def trains_elsewhere(runs: dict) -> None:
    runs["elsewhere"]["record"] = make_record(status="diverged")


def fails_in_bfloat16(runs: dict) -> None:
    runs["bfloat16"] = {"record": None, "says": "TypeError"}


@pytest.mark.parametrize(
    ("change", "demand", "word"),
    [
        (other_weights, "deterministic, and goes on after a kill", "other weights"),
        (other_losses, "deterministic, and goes on after a kill", "other losses"),
        (began_anew, "deterministic, and goes on after a kill", "no checkpoint"),
        (no_checkpoint, "deterministic, and goes on after a kill", "state.npz is missing"),
        (wrong_clock, "clocks and record", "clock-sum"),
        (wrong_first_steps, "parity in single precision", "updates"),
        (raises_for_infinity, "status of a loss that is not finite", "FloatingPointError"),
        (trains_elsewhere, "status of a device that is not here", "unavailable expected"),
        (fails_in_bfloat16, "bfloat16", "TypeError"),
    ],
)
def test_a_demand_that_is_missed(tmp_path, change, demand, word):
    runs = made_trial()
    change(runs)
    found = judge(tmp_path, runs)
    assert [name for name, row in found.items() if row.holds is False] == [demand]
    assert word in found[demand].reason


def test_what_the_gate_says_is_said(tmp_path):
    failed = {"passed": False, "reason": "logits deviate by 1e-01", "deviations": {}, "allowed": {}}
    row = judge(tmp_path, made_trial(), failed)["parity in double precision"]
    assert (row.holds, row.reason) == (False, "logits deviate by 1e-01")


@pytest.mark.parametrize(
    ("arrays", "holds", "words"),
    [
        (
            {"initial/0.dense.kernel": np.zeros((3, 5)), "parameters": np.array(15)},
            False,
            "3 x 5, 3 x 4",
        ),
        (
            {"initial/1.dense.kernel": np.zeros((3, 4)), "parameters": np.array(12)},
            False,
            "not there, 3 x 4",
        ),
        ({"failed": np.array("ValueError: no")}, None, "ValueError: no"),
    ],
)
def test_weights_unlike_the_reference(tmp_path, arrays, holds, words):
    probe(tmp_path / "parity/fashion-conv/torch.npz", **arrays)
    row = judge(tmp_path, made_trial())["weights as the reference"]
    assert row.holds is holds
    assert words in row.reason


def test_a_run_that_does_not_end_well_is_all_that_is_said(tmp_path):
    runs = {"whole": {"record": None, "says": "error: models/torch.py, line 3: NameError"}}
    found = judge(tmp_path, runs)
    assert list(found)[-1] == "trains"
    assert found["trains"] == Row("trains", False, f"no record: {runs['whole']['says']}")


def test_flop_that_differ_between_backends(tmp_path):
    other = made_trial()
    other["whole"]["record"]["efficiency"]["train_flop_per_example"] += 1
    (tmp_path / "trials").mkdir()
    trial = tmp_path / "trials/fashion-conv.jax.json"
    trial.write_text(json.dumps({"spec": {}, "runs": other}))
    probe(tmp_path / "parity/fashion-conv/jax.npz")
    row = judge(tmp_path, made_trial())["FLOP"]
    assert row.holds is False
    assert "2,206,465 on jax" in row.reason


def test_a_record_that_is_none(tmp_path):
    runs = made_trial()
    runs["whole"]["record"] = {"run": "x"}
    with pytest.raises(UserError, match="short run 'whole' is not valid"):
        judge(tmp_path, runs)
