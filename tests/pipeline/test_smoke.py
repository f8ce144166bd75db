"""The smoke preset on real data: every promised file is there and says what happened; records add up."""

import json
import os
import re

import numpy as np
import pandas as pd
from plan import smoke as plan_of_smoke
from workspace import job_stats

from paragone.parity.compare import TOLERANCES
from paragone.records import record, run_metrics
from paragone.reporting.answers import read

PLAN = plan_of_smoke()
COUNTS = {name: len(runs) for name, runs in PLAN.experiments.items()}


def test_what_cannot_run_here_is_unavailable_and_all_else_completed(records):
    absent = {spec.name for spec in PLAN.unavailable}
    statuses = {name: "unavailable" if name in absent else "completed" for name in PLAN.runs}
    assert {made.run: made.status for made in records} == statuses
    for made in records:
        if made.run in absent:
            assert made.reason
            assert made.epochs == []


def test_jobs_run_once_in_their_order_and_nothing_beside_a_timed_one(smoke):
    """Data first, then runs in the order of the schedule, each with nothing beside it. What reads those of an
    experiment comes before the next run, and the page so far has each experiment in its turn."""
    jobs = PLAN.jobs()
    assert job_stats(smoke.output) == jobs
    shown = r"(?m)^(?:Job (\d+): (\w+) ?(.*)|Finished jobid: (\d+))"
    events = re.findall(shown, smoke.output)
    assert len(events) == 2 * sum(jobs.values()) - jobs["all"]  # which has no message
    what = ("Training", "Timing", "Multiplying")
    timed = [at for at, event in enumerate(events) if event[1] in what]
    assert len(timed) == jobs["train"] + jobs.get("contests", 0) + jobs["measure_products"]
    for at in timed:
        assert events[at + 1][3] == events[at][0]
    started = [(what, rest) for _, what, rest, ended in events if not ended]
    read = {spec.workload.dataset for spec in PLAN.runs.values()}
    data = {(what, name) for what in ("Looking", "Serializing") for name in read}
    first = {(what, rest.removeprefix("for ")) for what, rest in started[: len(data)]}
    assert first == data
    trained = [rest.split()[0] for what, rest in started if what == "Training"]
    for workload in PLAN.workloads:  # of those whose gate has passed
        places = [PLAN.turns[run] for run in trained if run.startswith(f"{workload}.")]
        assert places == sorted(places)
    begun = {
        word: at
        for at, (kind, rest) in enumerate(started)
        for word in rest.split()
        if kind in what and word in PLAN.turns
    }
    assert begun.keys() == PLAN.turns.keys()
    for section, name, _ in (row for row in PLAN.drawings() if row[0] in PLAN.shown()):
        needed = [*PLAN.products] if name != section else []
        if section in PLAN.experiments:
            needed += [*PLAN.runs_of(section), *(one.name for one in PLAN.questions_of[section])]
        last = max(begun[each] for each in needed)
        following = min((at for at in begun.values() if at > last), default=len(started))
        assert last < started.index(("Drawing", f"and tabulating {name}")) < following, name
    pages = [rest.split()[-1] for what, rest in started if what == "Writing" and "so far" in rest]
    assert pages == PLAN.until([*PLAN.experiments][-1])


def test_every_figure_and_table_is_there_in_every_format_and_no_other(smoke, results):
    """A figure of synthetic data says so, see tests/pipeline/test_fresh.py; one of real data does not."""
    magic = {".svg": b"<?xml", ".pdf": b"%PDF-", ".png": b"\x89PNG\r\n"}
    report = (results / "report.html").read_text()
    for folder, name in PLAN.names("figures"):
        assert f"{folder}/{name}.svg" in report
        path = results / "figures" / folder / name
        for suffix, begin in magic.items():
            content = path.with_suffix(suffix).read_bytes()
            assert content.startswith(begin)
            assert len(content) > 5000
        assert len(pd.read_csv(path.with_suffix(".csv"))) > 0
        assert not smoke.real or "SYNTHETIC" not in path.with_suffix(".svg").read_text()
    for folder, name in PLAN.names("tables"):
        path = results / "tables" / folder / name
        for suffix, words in ((".md", "# "), (".csv", ",")):
            assert words in path.with_suffix(suffix).read_text(), path
        if name != "differences":
            assert len(pd.read_csv(path.with_suffix(".csv"))) > 0, path
    for kind, suffix in (("figures", "svg"), ("tables", "md")):
        made = {(path.parent.name, path.stem) for path in results.glob(f"{kind}/*/*.{suffix}")}
        assert made == set(PLAN.names(kind))
    assert not list(results.rglob("*unfinished*"))
    assert not list(results.glob("runs/*/checkpoints"))


def test_all_records_are_tabulated_and_obey_the_rules(results):
    runs = pd.read_csv(results / "tables/runs.csv")
    assert len(runs) == len(pd.read_parquet(results / "tables/runs.parquet")) == len(PLAN.runs)
    assert runs["experiment"].str.split().explode().value_counts().to_dict() == COUNTS
    completed = [spec for spec in PLAN.runs.values() if spec not in PLAN.unavailable]
    epochs = pd.read_csv(results / "tables/epochs.csv")
    assert len(epochs) == sum(spec.epochs for spec in completed)
    # Other tests share the cores: they slow a run or a turn, and a variant that waits is late to fall asleep.
    for experiment in COUNTS:
        broken = pd.read_csv(results / "tables" / experiment / "compliance.csv")
        assert {*broken.loc[broken["severity"] != "remark", "rule"]} <= {"asleep", "pace"}


def test_progress_reaches_the_terminal_and_the_log(smoke, results, completed):
    printed = {*smoke.output.splitlines()}
    for made in completed:
        spec = made.spec
        begin = rf"\[{spec.workload.name} {spec.backend.name} x.*\] epoch (\d+)/{spec.epochs}: "
        line_of = begin + r"[\d,]+ examples/s, test [a-z ]+ [\d.]+, \d:\d\d:\d\d left$"
        log = (results / f"logs/runs/{made.run}.log").read_text().splitlines()
        epochs = [match[1] for line in log if (match := re.search(line_of, line))]
        assert [*map(int, epochs)] == list(range(1, spec.epochs + 1))
        assert {line for line in log if "] epoch " in line} <= printed


def test_the_answers_name_the_first_question_and_what_was_not_run(smoke, results):
    text = (results / "answers.md").read_text()
    first = (results / "first_answer.md").read_text()
    # The last thing on the terminal, and the first: speeds, by one contest, which decides nothing.
    assert smoke.output.index(first) < smoke.output.index(text)
    assert "undecided" in first
    assert PLAN.sections[PLAN.primary].title in text
    (*_, opened) = read(results / "answers.json")
    named = {one.experiment for one in opened.answers if "not available here" in one.text}
    absent = {spec.name for spec in PLAN.unavailable}
    assert named == {name for name in PLAN.experiments if absent & {*PLAN.runs_of(name)}}


def test_nothing_was_fetched_or_decoded_again(smoke, fashion):
    assert not (smoke.checkout / "data").exists()
    source = json.loads((smoke.checkout / "results/data/fashion_mnist/source.json").read_text())
    assert not smoke.real or source["origin"] == "arrays in the data folder"
    assert len(list(fashion.folder.glob("arrays/fashion_mnist-*"))) == 1


# Records, beyond the rules, which are checked above


def test_records_say_what_data_they_are_of(records, smoke):
    """Data are real where there is a mirror, and otherwise recorded as synthetic."""
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


def test_completed_runs_have_what_was_planned_and_clocks_that_add_up(records):
    for made in records:
        if made.status != "completed":
            continue
        planned = made.spec.planned_steps(made.data.train_examples)
        assert [epoch.steps for epoch in made.epochs] == [planned] * made.spec.epochs
        # Every part is counted, imports from the start of the process; nothing is left uncounted.
        parts = run_metrics.parts(made)
        assert (parts.pop("first_steps") > 0) is (made.first_steps is not None)
        assert min(parts.values()) > 0
        assert parts["other"] < 0.2 * run_metrics.end_to_end(made)


def test_records_of_equal_work_agree(completed):
    """What every backend does to the weights of a workload, and the two clocks of each epoch."""
    seeds = {made.model.final_weights: made.spec.seed for made in completed}
    for made in completed:
        assert seeds[made.model.final_weights] == made.spec.seed
        same = [other for other in completed if other.spec.workload.name == made.spec.workload.name]
        assert {other.model.parameters for other in same} == {made.model.parameters}
        seed = {other.model.initial_weights for other in same if other.spec.seed == made.spec.seed}
        assert seed == {made.model.initial_weights} != {made.model.final_weights}
        for epoch, activity in zip(made.epochs, made.processes[0].epochs, strict=True):
            assert abs(epoch.train_seconds - activity.seconds) <= 0.02


def test_contests_time_the_primary_question(results):
    """All its variants, in every round of each contest."""
    (path,) = PLAN.timings(PLAN.primary)
    made = record.read_contests(results.parent / path.replace("<results>", "results"))
    variants = [spec.backend.name for spec in PLAN.timed[made.question].variants]
    rounds = PLAN.config.contest.rounds
    assert len(made.contests) == made.planned == 1
    for contest in made.contests:
        assert [each.spec.backend.name for each in contest.contestants] == variants
        assert {each.status for each in contest.contestants} == {"completed"}
        assert len(contest.windows) == len(variants) * rounds
    table = pd.read_parquet(results / f"tables/{PLAN.primary}/rounds.parquet")
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
            assert bool(process.life) == first


def test_parity_of_every_backend(results):
    """All but averages and dropout is compared on each backend: parity/test_gate.py leaves them out."""
    runs = pd.read_parquet(results / "tables/runs.parquet")
    passed = runs["parity"] == "passed"
    assert set(runs.loc[~passed, "run"]) == {spec.name for spec in PLAN.unavailable}
    assert set(runs.loc[~passed, "parity"]) == {"not checked"}
    timed = runs["steady_source"].eq("contests") | runs["epochs"].gt(1)
    speeds = runs.loc[timed, "steady_examples_per_second"].notna()
    assert (speeds == (runs.loc[timed, "status"] == "completed")).all()
    report = json.loads((results / "parity/fashion-cnn.json").read_text())
    # Two convolutions, the first without a gradient of the data, and two dense layers.
    assert report["flop_per_example"] == 2 * 288_000 + 3 * (640_000 + 32_000 + 1_000)
    verdicts = report["backends"]
    trained = [spec for spec in PLAN.runs.values() if spec.workload.name == "fashion-cnn"]
    assert verdicts.keys() == {spec.backend.name for spec in trained}
    for verdict in verdicts.values():
        assert verdict["deviations"].keys() == TOLERANCES.keys() - {"dropout"}
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
