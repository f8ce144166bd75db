"""The smoke preset on real data: every promised file is there and says what happened."""

import math
import re

import numpy as np
import pandas as pd
import pytest
from workspace import CONFIG, job_stats

from paragone import record

EXPERIMENTS = sorted(CONFIG["experiments"])
BACKENDS = set(CONFIG["backends"])


@pytest.fixture(scope="module")
def results(smoke):
    return smoke.checkout / "results"


@pytest.fixture(scope="module")
def records(results):
    """The valid records; `record.read` checks each."""
    return [record.read(path) for path in sorted(results.glob("runs/*/record.json"))]


def test_every_run_trained_once(smoke):
    jobs = job_stats(smoke.output)
    assert jobs["train"] == 6
    assert jobs["probe"] == 8
    assert jobs["check_parity"] == 2
    assert jobs["fetch"] == jobs["serialize"] == 1


def test_nothing_runs_beside_a_timed_run(smoke):
    """From the start of a training to its end no other job starts or finishes."""
    events = re.findall(
        r"^(?:Job (\d+): (\w+)|Finished jobid: (\d+))", smoke.output, flags=re.MULTILINE
    )
    timed = [number for number, (_, what, _) in enumerate(events) if what == "Training"]
    assert len(timed) == 6
    assert len(events) > 50
    for number in timed:
        assert events[number + 1][2] == events[number][0]


@pytest.mark.parametrize("experiment", EXPERIMENTS)
@pytest.mark.parametrize("figure", ["learning_curves", "throughput", "clocks", "predictions"])
def test_every_figure_in_every_format(results, experiment, figure):
    path = results / "figures" / experiment / figure
    for suffix, magic in ((".svg", b"<?xml"), (".pdf", b"%PDF-"), (".png", b"\x89PNG\r\n")):
        content = path.with_suffix(suffix).read_bytes()
        assert content.startswith(magic)
        assert len(content) > 5000
    assert len(pd.read_csv(path.with_suffix(".csv"))) > 0


@pytest.mark.parametrize("experiment", EXPERIMENTS)
def test_every_table(results, experiment):
    runs = pd.read_csv(results / "tables/runs.csv")
    assert len(runs) == 6
    assert len(pd.read_parquet(results / "tables/runs.parquet")) == 6
    assert len(pd.read_csv(results / "tables/epochs.csv")) == 12
    comparison = pd.read_csv(results / f"tables/{experiment}/comparison.csv")
    assert comparison["published"].notna().any()
    for backend in CONFIG["backends"].values():
        (column,) = (name for name in comparison if name.partition(" (")[0] == backend["label"])
        assert comparison[column].notna().any()
    for suffix, words in ((".md", "|"), (".tex", r"\begin{tabular")):
        assert words in (results / f"tables/{experiment}/comparison{suffix}").read_text()


def test_report_holds_every_figure(results):
    page = (results / "report.html").read_text()
    assert len(page) > 100_000
    for experiment in EXPERIMENTS:
        for figure in CONFIG["experiments"][experiment]["figures"]:
            assert f"{experiment}/{figure}.svg" in page


def test_records_are_of_real_data_and_say_so(records):
    assert len(records) == 6
    for made in records:
        assert made["status"] == "completed"
        assert made["data"]["source"] == "real"
        assert made["data"]["edition"] == "official"
        assert (made["data"]["train_examples"], made["data"]["test_examples"]) == (60_000, 10_000)


def test_throughput_is_examples_over_seconds(records):
    for made in records:
        first, second = made["epochs"]
        assert (first["first_of_process"], second["first_of_process"]) == (True, False)
        assert first["examples"] == 8 * made["spec"]["batch"]["global"]
        steady = made["steady"]
        assert steady["examples_per_second"] == second["examples"] / second["train_seconds"]


def test_clocks_are_plausible(records):
    """Each framework takes time to import, to compile and to train; nothing is left uncounted."""
    for made in records:
        clocks = made["clocks"]
        assert clocks["cold"]["imports"] > 0.3
        assert clocks["evaluate"] > 0
        assert clocks["cold"]["compilation"] > 0
        assert clocks["checkpoint"] > 0
        assert clocks["other"] < 0.2 * clocks["end_to_end"]
        parts = [*clocks["cold"].values()]
        parts += [clocks[part] for part in ("train", "evaluate", "checkpoint", "other")]
        assert math.fsum(parts) == pytest.approx(clocks["end_to_end"], rel=1e-9)


def test_every_backend_starts_from_the_same_weights(records):
    for workload, count in (("fashion-cnn", 3), ("fashion-conv", 3)):
        of = [made for made in records if made["spec"]["workload"]["name"] == workload]
        assert {made["spec"]["backend"]["name"] for made in of} == BACKENDS
        assert len(of) == count
        assert len({made["model"]["initial_weights"] for made in of}) == 1
        assert len({made["model"]["parameters"] for made in of}) == 1
        assert len({made["model"]["final_weights"] for made in of}) == count


def test_backends_agree_after_equal_epochs(records):
    """fashion-conv has no batch norm: 16 steps leave the backends no room to differ."""
    of = [made for made in records if made["spec"]["workload"]["name"] == "fashion-conv"]
    accuracies = [made["epochs"][-1]["test_accuracy"] for made in of]
    assert max(accuracies) - min(accuracies) < 0.01
    assert min(accuracies) > 0.5


def test_devices_are_those_asked_for(records):
    replicas = sorted(made["devices"]["observed"]["replicas"] for made in records)
    assert replicas == [1, 1, 1, 1, 8, 8]
    for made in records:
        assert made["devices"]["observed"] == made["devices"]["requested"]
        (process,) = made["processes"]
        assert process["threads"] >= 1
        assert 0 <= process["load"]["other_cpu_share"] <= 1
        assert len(process["machine"]["devices"]) == made["devices"]["observed"]["replicas"]


def test_parity_of_every_backend(results):
    runs = pd.read_parquet(results / "tables/runs.parquet")
    assert set(runs["parity"]) == {"passed"}


def test_predictions_are_of_the_first_test_images(results, fashion):
    test_labels = np.load(next(fashion.folder.glob("arrays/*/test_labels.npy")))
    test_images = np.load(next(fashion.folder.glob("arrays/*/test_images.npy")), mmap_mode="r")
    paths = sorted(results.glob("runs/*/predictions.npz"))
    assert len(paths) == 6
    for path in paths:
        with np.load(path) as arrays:
            assert np.array_equal(arrays["labels"], test_labels[:25])
            assert np.array_equal(arrays["images"], test_images[:25])
            assert ((arrays["probabilities"] > 0.09) & (arrays["probabilities"] <= 1)).all()
            assert (arrays["predictions"] == arrays["labels"]).mean() > 0.3


def test_progress_reaches_the_terminal_and_the_log(smoke, results):
    for path in results.glob("runs/*/record.json"):
        log = (results / f"logs/runs/{path.parent.name}.log").read_text()
        workload, backend = path.parent.name.split(".")[:2]
        lines = [line for line in log.splitlines() if line.startswith(f"[{workload} {backend} x")]
        lines = [line for line in lines if ", step " not in line]  # a slow machine says more
        assert len(lines) == 2
        for number, line in enumerate(lines, start=1):
            assert re.search(
                rf"epoch {number}/2: [\d,]+ examples/s, test accuracy 0\.\d+, \d:\d\d:\d\d left$",
                line,
            )
            assert line in smoke.output


def test_nothing_is_left_behind(results):
    assert not list(results.rglob("*unfinished*"))
    assert not list(results.glob("runs/*/checkpoints"))


def test_nothing_was_fetched_or_decoded_again(smoke, fashion):
    assert not (smoke.checkout / "data").exists()
    assert (
        "arrays in the data folder"
        in (smoke.checkout / "results/data/fashion_mnist/source.json").read_text()
    )
    assert len(list(fashion.folder.glob("arrays/*"))) == 1
