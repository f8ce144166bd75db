"""The smoke preset on real data: every promised file is there and says what happened."""

import json
import re

import pandas as pd
import yaml
from plan import Plan
from workspace import CONFIG, job_stats

import collect
from paragone.analysis import compliance
from paragone.reporting.answers import read

PLAN = Plan("smoke")
COUNTS = {name: len(runs) for name, runs in PLAN.experiments.items()}


def test_the_preset_leaves_nothing_out():
    """Every workload of the default is trained, every experiment has a run, every backend too."""
    assert set(Plan().workloads) <= set(PLAN.workloads)
    assert set(Plan().backends) <= set(PLAN.backends)
    for kind in ("figures", "tables"):
        assert sorted(PLAN.names(kind)) == sorted(Plan().names(kind))
    assert {spec.workers for spec in PLAN.runs.values()} == {1, 2}
    assert [spec.backend.name for spec in PLAN.unavailable] == ["tensorflow-tpu"]


def test_what_cannot_run_here_is_unavailable_and_all_else_completed(records):
    absent = {spec.name for spec in PLAN.unavailable}
    statuses = {name: "unavailable" if name in absent else "completed" for name in PLAN.runs}
    assert {made.run: made.status for made in records} == statuses
    for made in records:
        if made.run in absent:
            assert made.reason
            assert (made.devices, made.epochs) == (None, [])


def test_runs_took_the_first_steps_of_the_reference(completed):
    """Those of one replica and of two, in float32: engines that differ by more are in parity/."""
    compared = [made for made in completed if made.spec.workload.name == "fashion-cnn"]
    assert {("tensorflow-multiworker", 2), ("tensorflow-mirrored", 2), ("torch-xla", 2)} <= {
        (made.spec.backend.name, made.spec.replicas) for made in compared
    }
    for made in compared:
        assert made.first_steps.passed, made.first_steps.reason
        assert 0 < made.first_steps.deviations["updates"] < 0.05


def test_jobs_run_once_in_their_order_and_nothing_beside_a_timed_one(smoke):
    """Data first, then runs in the order of the schedule, each with nothing beside it, then what reads them;
    of the primary question before the other runs."""
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
        places = [PLAN.places[run] for run in trained if run.startswith(f"{workload}.")]
        assert places == sorted(places)
    last = max(at for at, (what, _) in enumerate(started) if what == "Training")
    checked = [rest for what, rest in started[:last] if what == "Checking"]
    assert checked[0] == f"the records of {PLAN.primary}"
    # While the page of these is written, one core may read what the same runs have decided: nothing else.
    primary = {*PLAN.runs_of(PLAN.primary)}
    same = {name for name in PLAN.experiments if {*PLAN.runs_of(name)} <= primary}
    assert {*checked} <= {f"the records of {name}" for name in same}


def test_every_figure_and_table_is_there_in_every_format_and_no_other(smoke, results):
    """A figure of synthetic data says so, see tests/pipeline/test_fresh.py; one of real data does not."""
    magic = {".svg": b"<?xml", ".pdf": b"%PDF-", ".png": b"\x89PNG\r\n"}
    for folder, name in PLAN.names("figures"):
        path = results / "figures" / folder / name
        for suffix, begin in magic.items():
            content = path.with_suffix(suffix).read_bytes()
            assert content.startswith(begin)
            assert len(content) > 5000
        assert len(pd.read_csv(path.with_suffix(".csv"))) > 0
        assert not smoke.real or "SYNTHETIC" not in path.with_suffix(".svg").read_text()
    for folder, name in PLAN.names("tables"):
        path = results / "tables" / folder / name
        for suffix, words in ((".md", "# "), (".tex", r"\begin{tabular"), (".csv", ",")):
            assert words in path.with_suffix(suffix).read_text(), path
        if name != "differences":
            assert len(pd.read_csv(path.with_suffix(".csv"))) > 0, path
    for kind, suffix in (("figures", "svg"), ("tables", "md")):
        made = {(path.parent.name, path.stem) for path in results.glob(f"{kind}/*/*.{suffix}")}
        assert made == set(PLAN.names(kind))
    assert not list(results.rglob("*unfinished*"))
    assert not list(results.glob("runs/*/checkpoints"))


def test_one_repeat_decides_nothing(results):
    for experiment in PLAN.declaring("differences"):
        specs = PLAN.experiments[experiment]
        differences = pd.read_csv(results / f"tables/{experiment}/differences.csv")
        assert set(differences["verdict"]) <= {"undecided", "not compared"}
        cells = {(spec.workload.name, spec.global_batch) for spec in specs}
        assert (len(differences) > 0) is (len(cells) < len(specs))  # something to compare with


def test_matrix_products_of_every_framework_are_among_the_published_peaks(results):
    products = pd.read_csv(results / "tables/device_matmul/matmul.csv")
    assert set(products["backend"]) == set(CONFIG["matmul"]["backends"])
    reference = pd.read_csv(results / "tables/accelerator_reference/accelerator_reference.csv")
    assert 3 <= (reference["measured here"] != "-").sum() < len(reference)
    assert set(reference["verdict"]) == {"not comparable"}


def test_all_records_are_tabulated_and_obey_the_rules(results, capsys):
    """The command of the README on a fresh run, and what the workflow wrote of each experiment."""
    runs = pd.read_csv(results / "tables/runs.csv")
    assert len(runs) == len(pd.read_parquet(results / "tables/runs.parquet")) == len(PLAN.runs)
    assert runs["experiment"].str.split().explode().value_counts().to_dict() == COUNTS
    completed = [spec for spec in PLAN.runs.values() if spec not in PLAN.unavailable]
    epochs = pd.read_csv(results / "tables/epochs.csv")
    assert len(epochs) == sum(spec.epochs for spec in completed)
    collect.main(["check", str(results)])
    assert f"{len(PLAN.runs) + len(PLAN.timed)} records" in capsys.readouterr().out
    *_, experiments = compliance.in_folder(results)
    assert {name: len(runs) for name, runs in experiments.items()} == COUNTS
    for experiment in COUNTS:
        remarks = pd.read_csv(results / "tables" / experiment / "compliance.csv")
        assert set(remarks["severity"]) <= {"remark"}


def test_report_holds_every_figure(results):
    page = (results / "report.html").read_text()
    assert len(page) > 100_000
    for experiment, figure in PLAN.names("figures"):
        assert f"{experiment}/{figure}.svg" in page


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
    assert PLAN.sections[PLAN.primary]["title"] in text
    (*_, opened) = read(results / "answers.json")
    named = {one.experiment for one in opened.answers if "device not available" in one.text}
    absent = {spec.name for spec in PLAN.unavailable}
    assert named == {name for name in PLAN.experiments if absent & {*PLAN.runs_of(name)}}


def test_a_plan_is_made_from_the_contests_of_this_run(smoke):
    """Its preset has what fits."""
    checkout = smoke.checkout
    line = ("plan", "--cores", "1", *smoke.options, "--config", "budget=8h")
    checkout.snakemake(*line)
    preset = yaml.safe_load((checkout / "results/plan.yaml").read_text())
    assert {*preset["only"]} <= {one["experiment"] for one in PLAN.asked()}
    assert preset["only"][0] == PLAN.primary


def test_nothing_was_fetched_or_decoded_again(smoke, fashion):
    assert not (smoke.checkout / "data").exists()
    source = json.loads((smoke.checkout / "results/data/fashion_mnist/source.json").read_text())
    assert not smoke.real or source["origin"] == "arrays in the data folder"
    assert len(list(fashion.folder.glob("arrays/fashion_mnist-*"))) == 1
