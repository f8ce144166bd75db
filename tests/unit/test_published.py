"""Published rows: what they are compared with, every verdict, and tables that survive LaTeX."""

import re
from pathlib import Path

import pandas as pd
import pytest
from make_records import LABELS, make_record, typed, waited
from make_tables import beside, write

from paragone.analysis import published, tidy, verdicts
from paragone.analysis.grouping import sweeps_of
from paragone.analysis.quantities import QUANTITIES
from paragone.analysis.statistics import Summary
from paragone.base.errors import UserError

CSV = Path(__file__).parents[2] / "published" / "published.csv"
PROTOCOLS = CSV.with_name("protocols.csv")
CONV, CNN = "tpu_fashion_conv", "xla_fashion_cnn"


def row_of(experiment, metric, epoch=None):
    rows = [r for r in published.read_rows(CSV, experiment) if r.metric == metric]
    return next(r for r in rows if epoch is None or r.epoch == epoch)


def judge(row, made, experiment=CONV, passed=True):
    key = made[0]["spec"]["workload"]["name"], made[0]["spec"]["backend"]["name"]
    runs, epochs = tidy.tables(typed(made), "one", {key: passed})
    protocols = published.read_protocols(PROTOCOLS, experiment)
    (sweep,) = sweeps_of(runs, LABELS)
    return verdicts.compare(row, protocols[row.system], sweep.runs, epochs)


def with_accuracy(values, **options):
    epochs = options.pop("epochs", 5)
    return [
        make_record(seed=k, epochs=epochs, accuracies=[0.5] * (epochs - 1) + [value], **options)
        for k, value in enumerate(values)
    ]


def test_every_row_of_both_experiments_is_understood():
    assert [len(published.read_rows(CSV, key)) for key in (CNN, CONV)] == [2, 17]
    for key in (CNN, CONV):
        for row in published.read_rows(CSV, key):
            assert row.metric in QUANTITIES
            assert row.epoch in (1, 2, 3, 4, 5, 50)
    assert row_of(CONV, "test_accuracy").final
    assert not row_of(CONV, "train_loss", 5).final
    assert row_of(CNN, "training_time").epoch == 50


def test_precision_is_that_of_the_source():
    # The file says 0.76 where the source prints 0.7600.
    assert row_of(CONV, "train_loss", 2).tolerance == pytest.approx(0.5e-4)
    assert row_of(CONV, "step_time", 1).tolerance == pytest.approx(0.5)


def test_match_when_the_interval_holds_the_published_value():
    finding = judge(row_of(CONV, "test_accuracy"), with_accuracy([0.880, 0.886, 0.889]))
    assert finding.verdict == verdicts.MATCH
    assert finding.measured == "0.8860 [0.8800, 0.8890] (n = 3)"


def test_match_within_rounding_with_one_run():
    row = row_of(CONV, "test_accuracy")
    assert judge(row, with_accuracy([0.88484])).verdict == verdicts.MATCH
    assert judge(row, with_accuracy([0.88491])).verdict == verdicts.TREND


def test_trend_only_tells_the_difference():
    finding = judge(row_of(CONV, "test_accuracy"), with_accuracy([0.860, 0.862, 0.864]))
    assert finding.verdict == verdicts.TREND
    assert finding.why == "differs by -0.0228"
    assert finding.asides == ("1 x batch 1000 per replica, published 8 x 125",)


def test_a_lower_bound_is_met_by_more():
    options = {"workload": "fashion-cnn", "replicas": 8, "global_batch": 1024, "epochs": 50}
    row = row_of(CNN, "test_accuracy")
    assert row.lower_bound
    assert row.printed == "over 0.89"
    made = with_accuracy([0.9], steps_per_epoch=None, **options)
    assert judge(row, made, CNN).verdict == verdicts.MATCH
    below = judge(row, with_accuracy([0.88], steps_per_epoch=None, **options), CNN)
    assert (below.verdict, below.why) == (verdicts.TREND, "under the stated bound by 0.0100")
    options["replicas"] = 1
    other = judge(row, with_accuracy([0.9], steps_per_epoch=None, **options), CNN)
    assert other.asides == ("1 x batch 1024 per replica, published 8 x 128",)


def test_times_are_never_a_match():
    made = [make_record(seed=k, epochs=5) for k in range(3)]
    finding = judge(row_of(CONV, "step_time", 2), made)
    epoch = [m["epochs"][1] for m in made]
    expected = sorted(1000 * e["train_seconds"] / e["steps"] for e in epoch)[1]
    assert finding.verdict == verdicts.NOT_COMPARABLE
    assert "other hardware" in finding.why
    assert float(finding.measured.split()[0]) == pytest.approx(expected, abs=0.051)


def test_training_time_is_the_whole_run():
    made = make_record(workload="fashion-cnn", global_batch=1024, epochs=50, steps_per_epoch=None)
    finding = judge(row_of(CNN, "training_time"), [made], CNN)
    assert float(finding.measured.split()[0]) == pytest.approx(waited(made), abs=0.051)


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"source": "synthetic"}, "SYNTHETIC DATA"),
        ({"global_batch": 500}, "global batch 500, published 1000"),
        ({"steps_per_epoch": 30}, "30 steps per epoch, published 60"),
    ],
)
def test_another_protocol_is_not_comparable(options, why):
    finding = judge(row_of(CONV, "test_accuracy"), with_accuracy([0.8848], **options))
    assert (finding.verdict, finding.why) == (verdicts.NOT_COMPARABLE, why)


def test_fewer_epochs_are_labelled():
    made = with_accuracy([0.8848], epochs=3)
    final = judge(row_of(CONV, "test_accuracy"), made)
    assert final.verdict == verdicts.NOT_COMPARABLE
    assert final.measured == "0.8848 (n = 1) at epoch 3"
    assert final.why == "only 3 of the published 5 epochs were run"
    missing = judge(row_of(CONV, "train_loss", 4), made)
    assert (missing.measured, missing.verdict) == ("-", verdicts.NOT_COMPARABLE)
    assert judge(row_of(CONV, "train_loss", 3), made).measured.endswith("(n = 1)")


def test_without_parity_accuracy_is_compared_and_time_is_not():
    made = with_accuracy([0.8848])
    assert judge(row_of(CONV, "test_accuracy"), made, passed=False).verdict == verdicts.MATCH
    time = judge(row_of(CONV, "step_time", 1), made, passed=False)
    assert (time.measured, time.why) == ("-", "parity is not proven: no speed")


def test_no_completed_run():
    made = [make_record(status="out_of_memory")]
    finding = judge(row_of(CONV, "test_accuracy"), made)
    assert (finding.verdict, finding.why) == (
        verdicts.NOT_COMPARABLE,
        "no run was completed: out of memory",
    )


def test_overall_needs_every_comparable_backend():
    match = verdicts.Finding("1", verdicts.MATCH, "a")
    trend = verdicts.Finding("1", verdicts.TREND, "b")
    none = verdicts.Finding("-", verdicts.NOT_COMPARABLE, "c")
    assert verdicts.overall({"A": match, "B": match}) == (verdicts.MATCH, "a")
    assert verdicts.overall({"A": match, "B": trend}) == (verdicts.TREND, "A: a; B: b")
    assert verdicts.overall({"A": match, "B": none})[0] == verdicts.MATCH
    assert verdicts.overall({"A": none, "B": none}) == (verdicts.NOT_COMPARABLE, "c")


def test_overall_is_opposite_only_when_all_are():
    match = verdicts.Finding("1", verdicts.MATCH, "a")
    opposite = verdicts.Finding("1", verdicts.OPPOSITE, "b")
    none = verdicts.Finding("-", verdicts.NOT_COMPARABLE, "c")
    assert verdicts.overall({"A": opposite, "B": opposite}) == (verdicts.OPPOSITE, "b")
    assert verdicts.overall({"A": opposite, "B": none})[0] == verdicts.OPPOSITE
    assert verdicts.overall({"A": opposite, "B": match})[0] == verdicts.TREND


def test_unknown_metric_is_said_not_guessed():
    rows = published.read_rows(CSV, "accelerator_reference")
    finding = verdicts.compare(rows[0], None, pd.DataFrame(), pd.DataFrame())
    assert finding.verdict == verdicts.NOT_COMPARABLE
    assert "no measured quantity" in finding.why


def test_unknown_experiment_names_the_key():
    with pytest.raises(UserError, match="no_such"):
        published.read_rows(CSV, "no_such")


def test_interval_bounds_are_inside():
    row = row_of(CONV, "test_accuracy")
    edge = Summary(3, 0.88, 0.87, float(row.value))
    assert verdicts._judge(row, None, edge)[0] == verdicts.MATCH


@pytest.fixture
def written(tmp_path):
    made = with_accuracy([0.86, 0.87]) + with_accuracy([0.85], backend="torch-xla")
    parity = {("fashion-conv", name): True for name in ("torch", "torch-xla")}
    runs, epochs = tidy.tables(typed(made), "one", parity)
    labels = {"torch": "Py_Torch & 100 %", "torch-xla": "XLA"}
    options = [*beside(CONV), "--title", "A_title #1"]
    return write(tmp_path, "comparison", *options, labels=labels, runs=runs, epochs=epochs)


def test_three_formats_hold_the_same_rows(written):
    table = pd.read_csv(written["csv"])
    assert len(table) == 17
    assert {"metric", "condition", "system", "published", "verdict", "why"} <= set(table)
    markdown = written["markdown"].read_text()
    assert markdown.count("\n| ") == 17 + 1
    assert "pixels" in markdown  # a flaw of the source
    assert written["latex"].read_text().count(r" \\") == 17 + 1


def test_latex_escapes_and_balances(written):
    text = written["latex"].read_text()
    assert r"Py\_Torch \& 100 \%" in text
    assert r"A\_title \#1" in text
    body = "\n".join(line for line in text.splitlines() if not line.startswith("%"))
    assert not re.search(r"(?<!\\)[%#_$]", body)
    for line in body.splitlines():
        if line.endswith(r"\\"):
            assert len(re.findall(r"(?<!\\)&", line)) == 6  # 7 columns
    opened = re.findall(r"\\begin\{(\S+?)\}", body)
    assert sorted(opened) == sorted(re.findall(r"\\end\{(\S+?)\}", body))
    assert all(rule in body for rule in (r"\toprule", r"\midrule", r"\bottomrule"))
