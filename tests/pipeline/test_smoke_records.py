"""The records of the smoke preset on real data: they add up, and the backends agree."""

import json
import math
import os
from collections import Counter

import numpy as np
import pandas as pd
from workspace import CONFIG

from paragone.base.engine_reports import Devices
from paragone.parity.compare import TOLERANCES
from paragone.records import host_metrics, run_metrics


def test_records_say_what_data_they_are_of(records, smoke):
    """Of the edition that was found: real where there is a mirror, else said to be synthetic."""
    for made in records:
        name = made.spec.workload["dataset"]
        manifest = json.loads((smoke.checkout / f"results/data/{name}/manifest.json").read_text())
        assert made.data.dataset == name
        assert made.data.source == manifest["source"]
        assert made.data.edition == manifest["edition"]
        if name == "fashion_mnist":
            assert (manifest["source"] == "real") is smoke.real
            assert manifest["edition"] == ("official" if smoke.real else "synthetic")
            counts = made.data.train_examples, made.data.test_examples
            used = made.spec.workload.get("train_examples", 60_000)
            assert counts == (used, 10_000)


def test_every_data_set_of_the_mirror_was_used(records, mirror):
    assert {made.data.source for made in records} == {"real"}
    assert {made.data.dataset for made in records} == set(CONFIG["datasets"])


def test_epochs_have_the_steps_that_were_planned(completed):
    for made in completed:
        assert len(made.epochs) == made.spec.epochs
        (steps,) = {epoch.steps for epoch in made.epochs}
        assert steps == (made.spec.steps_per_epoch or steps)


def test_a_completed_run_has_a_speed_window_as_long_as_the_preset_says(records, results, plan):
    """Too short to decide anything, and every table says so."""
    for made in records:
        assert bool(made.window) is (made.status == "completed")
        if made.window:
            seconds = math.fsum(one.seconds for one in made.window)
            steps = sum(one.steps for one in made.window)
            # Steps of MobileNetV2 are longer than `limit_seconds` allows.
            assert (seconds >= plan.config["speed_window"]["seconds"] and steps >= 20) or steps < 20
            assert made.clocks.window >= seconds
    runs = pd.read_parquet(results / "tables/runs.parquet")
    assert not runs["window_adequate"].any()
    short = runs["violations"].fillna("").str.split().map(lambda rules: "window" in rules)
    assert (short == (runs["status"] == "completed")).all()


def test_clocks_are_plausible(completed):
    """Every part is counted, imports from the start of the process; nothing is left uncounted."""
    for made in completed:
        parts = run_metrics.parts(made)
        assert min(parts.values()) > 0
        assert parts["other"] < 0.2 * run_metrics.end_to_end(made)


def test_every_backend_starts_from_the_same_weights_and_learns(completed, plan):
    for workload in plan.workloads:
        of = [made for made in completed if made.spec.workload["name"] == workload]
        assert len({made.model.initial_weights for made in of}) == 1
        assert len({made.model.parameters for made in of}) == 1
        # Two workers may compute what two replicas of one do, bit by bit.
        ends = {made.model.final_weights for made in of}
        assert len(ends) >= len(of) - (workload == "fashion-cnn")
        assert of[0].model.initial_weights not in ends
    runs = Counter(made.spec.workload["name"] for made in completed)
    several = {name for name, count in runs.items() if count > 1}
    assert several == {"fashion-cnn"}


def test_frameworks_count_the_same_operations(completed, plan):
    """To the last operation, each by its own counter; other workloads: unit/test_flop.py."""
    for workload in plan.workloads:
        of = [made.efficiency for made in completed if made.spec.workload["name"] == workload]
        assert len({one.train_flop_per_example for one in of}) == 1, workload
        assert len({one.counter for one in of}) >= (3 if workload == "fashion-cnn" else 1)


def test_every_rank_records_where_it_ran(completed):
    for made in completed:
        workers = made.spec.workers
        assert made.devices == Devices("cpu", made.spec.replicas, workers)
        assert [one.rank for one in made.processes] == list(range(workers))
        for process in made.processes:
            assert process.machine.host == os.uname().nodename
            assert process.threads == max(1, min(2, os.cpu_count()) // workers)
            first = process.rank == 0  # of the host: what it did is there once
            assert len(process.epochs) == len(made.epochs) * first
            assert bool(process.load.life) == first
            assert len(process.window) == len(made.window) * first
            shares = host_metrics.shares(process).values()
            assert all(0 <= share <= 1 for share in shares if share is not None)
            assert len(process.devices) == made.spec.replicas // workers


def test_parity_of_every_backend(results, plan):
    runs = pd.read_parquet(results / "tables/runs.parquet")
    passed = runs["parity"] == "passed"
    assert set(runs.loc[~passed, "run"]) == {spec.name for spec in plan.unavailable}
    assert set(runs.loc[~passed, "parity"]) == {"not checked"}
    speeds = runs["steady_examples_per_second"].notna()
    assert (speeds == (runs["status"] == "completed")).all()


def test_all_that_the_gate_compares_was_compared(results, plan):
    """On every backend that trains fashion-cnn, without dropout: parity/test_gate.py leaves them out."""
    verdicts = json.loads((results / "parity/fashion-cnn.json").read_text())["backends"]
    trained = [spec for spec in plan.runs.values() if spec.workload["name"] == "fashion-cnn"]
    assert verdicts.keys() == {spec.backend["name"] for spec in trained}
    for verdict in verdicts.values():
        assert verdict["deviations"].keys() == TOLERANCES.keys() - {"dropout"}
        # Two methods never agree to the last bit: all zeros would mean that nothing was compared.
        assert max(verdict["deviations"].values()) > 1e-15


def test_predictions_are_of_the_first_test_examples(results, completed, smoke, fashion):
    """Of every completed run; small images are kept with them, for the grid."""
    for made in completed:
        name = made.spec.workload["dataset"]
        manifest = json.loads((results / f"data/{name}/manifest.json").read_text())
        arrays_folder = fashion.folder / manifest["folder"]
        labels = np.load(arrays_folder / manifest["arrays"]["test_labels"]["file"])
        with np.load(results / f"runs/{made.run}/predictions.npz") as arrays:
            assert np.array_equal(arrays["labels"], labels[:25])
            outputs = made.spec.workload["model"].get("outputs", len(manifest["class_names"]))
            least = 0.999 / outputs  # of the predicted class
            assert ((arrays["probabilities"] >= least) & (arrays["probabilities"] <= 1)).all()
            assert ("images" in arrays.files) is (name != "reuters")
            if name == "fashion_mnist":
                images = np.load(arrays_folder / "test_inputs.npy", mmap_mode="r")
                assert np.array_equal(arrays["images"], images[:25])
                learned = (made.spec.steps_per_epoch or 0) >= 8
                easy = {"fashion-cnn", *["fashion-conv"] * smoke.real}
                if learned and made.spec.workload["name"] in easy:
                    assert (arrays["predictions"] == arrays["labels"]).mean() > 0.3
