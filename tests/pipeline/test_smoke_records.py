"""The records of the smoke preset on real data, beyond the rules, which test_smoke.py checks."""

import json
import os

import numpy as np
import pandas as pd

from paragone.parity.compare import TOLERANCES
from paragone.records import contest_record, run_metrics


def test_records_say_what_data_they_are_of(records, smoke):
    """Of the edition that was found: real where there is a mirror, else said to be synthetic."""
    for made in records:
        name = made.spec.workload.dataset
        manifest = json.loads((smoke.checkout / f"results/data/{name}/manifest.json").read_text())
        of_manifest = (name, manifest["source"], manifest["edition"])
        assert (made.data.dataset, made.data.source, made.data.edition) == of_manifest
        if name == "fashion_mnist":
            assert (manifest["source"] == "real") is smoke.real
            assert manifest["edition"] == ("official" if smoke.real else "synthetic")
            used = made.spec.workload.train_examples or 60_000
            tested = made.spec.tested_examples(10_000)
            assert (made.data.train_examples, made.data.test_examples) == (used, tested)


def test_every_data_set_was_read_from_the_mirror(records, mirror, plan):
    assert {made.data.source for made in records} == {"real"}
    used = {spec.workload.dataset for spec in plan.runs.values()}
    assert {made.data.dataset for made in records} == used


def test_completed_runs_have_what_was_planned_and_clocks_that_add_up(records, plan):
    """A run that a contest times has no speed window."""
    for made in records:
        timed = plan.window(made.run)["seconds"] > 0
        assert bool(made.window) is (made.status == "completed" and timed)
        if made.status != "completed":
            continue
        planned = made.spec.planned_steps(made.data.train_examples)
        assert [epoch.steps for epoch in made.epochs] == [planned] * made.spec.epochs
        # Every part is counted, imports from the start of the process; nothing is left uncounted.
        parts = run_metrics.parts(made)
        assert min(parts.values()) > 0
        assert parts["other"] < 0.2 * run_metrics.end_to_end(made)


def test_frameworks_count_the_same_operations_each_by_its_own_counter(completed, plan):
    """More: unit/test_torch_engine.py."""
    for workload in plan.workloads:
        of = [made.efficiency for made in completed if made.spec.workload.name == workload]
        assert len({each.train_flop_per_example for each in of}) == 1, workload
        assert len({each.counter for each in of}) >= (3 if workload == "fashion-cnn" else 1)


def test_contests_time_the_primary_question(results, plan):
    """All its variants, in every round of each contest, restored at the end."""
    (path,) = plan.timings(plan.primary)
    made = contest_record.read(results.parent / path.replace("<results>", "results"))
    variants = [spec.backend.name for spec in plan.timed[made.question].variants]
    rounds = plan.config["contest"]["rounds"]
    assert len(made.contests) == made.planned == 1
    for contest in made.contests:
        assert [each.spec.backend.name for each in contest.contestants] == variants
        ends = {(each.status, each.restored) for each in contest.contestants}
        assert ends == {("completed", True)}
        assert len(contest.windows) == len(variants) * rounds
    table = pd.read_parquet(results / f"tables/{plan.primary}/rounds.parquet")
    assert table.groupby("backend").size().to_dict() == dict.fromkeys(variants, rounds)


def test_every_rank_records_what_it_did(completed):
    for made in completed:
        workers = made.spec.workers
        assert [process.rank for process in made.processes] == list(range(workers))
        for process in made.processes:
            assert process.threads == max(1, min(2, os.cpu_count()) // workers)
            assert len(process.devices) == made.spec.replicas // workers
            first = process.rank == 0  # of the host: what it did is there once
            assert len(process.epochs) == len(made.epochs) * first
            assert bool(process.load.life) == first
            assert len(process.window) == len(made.window) * first


def test_parity_of_every_backend(results, plan):
    """All but averages and dropout is compared on each backend: parity/test_gate.py leaves them out."""
    runs = pd.read_parquet(results / "tables/runs.parquet")
    passed = runs["parity"] == "passed"
    assert set(runs.loc[~passed, "run"]) == {spec.name for spec in plan.unavailable}
    assert set(runs.loc[~passed, "parity"]) == {"not checked"}
    timed = runs["run"].map(lambda run: plan.window(run)["seconds"] > 0)
    speeds = runs.loc[timed, "steady_examples_per_second"].notna()
    assert (speeds == (runs.loc[timed, "status"] == "completed")).all()
    verdicts = json.loads((results / "parity/fashion-cnn.json").read_text())["backends"]
    trained = [spec for spec in plan.runs.values() if spec.workload.name == "fashion-cnn"]
    assert verdicts.keys() == {spec.backend.name for spec in trained}
    for verdict in verdicts.values():
        assert verdict["deviations"].keys() == TOLERANCES.keys() - {"averages", "dropout"}
        # Two methods never agree to the last bit: all zeros would mean that nothing was compared.
        assert max(verdict["deviations"].values()) > 1e-15


def test_predictions_are_of_the_first_test_examples(results, completed, smoke, fashion):
    """Every completed run that learns classes has them; small images are kept with them, for the grid."""
    for made in (each for each in completed if each.spec.workload.task.name == "classification"):
        name = made.spec.workload.dataset
        manifest = json.loads((results / f"data/{name}/manifest.json").read_text())
        folder = fashion.folder / manifest["folder"]
        with np.load(results / f"runs/{made.run}/predictions.npz") as arrays:
            assert np.array_equal(arrays["labels"], np.load(folder / "test_labels.npy")[:25])
            outputs = made.spec.workload.model.get("outputs", len(manifest["class_names"]))
            least = 0.999 / outputs  # of the predicted class
            assert ((arrays["probabilities"] >= least) & (arrays["probabilities"] <= 1)).all()
            assert ("images" in arrays.files) is (name != "reuters")
            if name == "fashion_mnist":
                images = np.load(folder / "test_inputs.npy", mmap_mode="r")
                assert np.array_equal(arrays["images"], images[:25])
                learned = (made.spec.steps_per_epoch or 0) >= 8
                easy = {"fashion-cnn", *["fashion-conv"] * smoke.real}
                if learned and made.spec.workload.name in easy:
                    assert (arrays["predictions"] == arrays["labels"]).mean() > 0.3
