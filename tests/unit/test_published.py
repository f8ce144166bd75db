"""Published rows: what they are compared with, every verdict, and tables that survive LaTeX."""

import re

import pandas as pd
import pytest
from judge_rows import FOLDER, judge, of, row_of, spreads_of, tabulated, with_accuracy
from make_records import make_record, waited
from make_tables import beside, write

from paragone.analysis import published, verdicts
from paragone.analysis.cells import QUANTITIES
from paragone.base.errors import UserError

CSV = FOLDER / "published.csv"
CONV, CNN = "tpu_fashion_conv", "xla_fashion_cnn"
# Five runs: standard deviation 0.0015811, t(4) = 2.776445.
SPREAD = spreads_of(with_accuracy([0.884, 0.885, 0.886, 0.887, 0.888]))


def accuracy(values, spreads=SPREAD, **options):
    """The finding on the final test accuracy, 0.8848, of runs that end in `values`."""
    row = row_of(CONV, "test_accuracy")
    return judge(row, of(CONV, spreads)[1], with_accuracy(values, **options))


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


def test_reproduced_within_the_margin():
    found = accuracy([0.884, 0.886])
    assert found.verdict == verdicts.REPRODUCED
    assert found.measured == "0.8850 ± 0.0054 (n = 2)"  # 2.776445 x 0.0015811 x sqrt(1.5)
    assert found.why == "published - measured = -0.0002"
    assert found.asides == ("1 x batch 1000 per replica, published 8 x 125",)
    # An accuracy 1.98 points away does not matter, whatever its p value.
    assert accuracy([0.865]).verdict == verdicts.REPRODUCED
    assert accuracy([0.865]).judgement.p < 0.001


def test_differs_beyond_margin_and_interval():
    found = accuracy([0.8647])
    assert (found.verdict, found.why) == (verdicts.DIFFERS, "published - measured = +0.0201")
    assert accuracy([0.92, 0.921]).why == "published - measured = -0.0357"


def test_undecided_says_what_would_decide():
    wide = spreads_of(with_accuracy([0.876, 0.881, 0.886, 0.891, 0.896]))  # deviation 0.0079057
    found = accuracy([0.885], wide)
    assert found.verdict == verdicts.UNDECIDED
    # 2.776445 x 0.0079057 x sqrt(1 + 1 / n): 0.03104 for 1, and never below 0.02195.
    assert found.why.endswith(
        "one more run may differ by 0.0310, the margin is 0.0200; no number of runs decides"
    )
    assert accuracy([0.85], wide).verdict == verdicts.DIFFERS
    assert accuracy([0.86], wide).verdict == verdicts.UNDECIDED
    less = spreads_of(with_accuracy([0.878, 0.882, 0.886, 0.890, 0.894]))  # deviation 0.0063246
    found = accuracy([0.885], less)  # 0.02483 for 1, 0.02028 for 3, 0.01963 for 4 runs
    assert found.judgement.needed == 4
    assert found.why.endswith("; 4 runs would decide")
    assert accuracy([0.885] * 4, less).verdict == verdicts.REPRODUCED


def test_without_a_spread_of_the_protocol_it_takes_three_runs():
    found = accuracy([0.884, 0.886], {})
    assert (found.verdict, found.measured) == (verdicts.UNDECIDED, "0.8850 (n = 2)")
    assert found.why.endswith("no committed spread of this protocol: an interval takes 3 runs")
    found = accuracy([0.884, 0.885, 0.886], {})
    assert found.verdict == verdicts.REPRODUCED
    assert found.measured == "0.8850 ± 0.0050 (n = 3)"  # 4.302653 x 0.001 x sqrt(4 / 3)
    other = spreads_of(with_accuracy([0.884, 0.885, 0.886], steps_per_epoch=30))
    assert accuracy([0.884, 0.886], other).verdict == verdicts.UNDECIDED
    short = spreads_of(with_accuracy([0.884, 0.885, 0.886], epochs=4))
    assert accuracy([0.884, 0.886], short).verdict == verdicts.UNDECIDED


def test_a_loss_has_a_margin_of_a_tenth():
    row = row_of(CONV, "train_loss", 5)
    assert row.value == "0.2867"
    evidence = of(CONV)[1]
    for difference, verdict in ((0.0286, verdicts.REPRODUCED), (0.0288, verdicts.DIFFERS)):
        made = [
            make_record(seed=k, epochs=5, curves={"train_loss": [0.2867 + difference + noise] * 5})
            for k, noise in enumerate((-0.001, 0, 0.001))
        ]
        assert judge(row, evidence, made).verdict == verdict


def test_what_learned_nothing_agrees_with_nothing():
    made = with_accuracy([0.8849])
    made[0]["data"]["test_majority"] = 0.8847
    found = judge(row_of(CONV, "test_accuracy"), of(CONV, SPREAD)[1], made)
    assert found.verdict == verdicts.AT_CHANCE
    assert "majority-class rate 0.885" in found.why
    made[0]["data"] |= {"test_majority": 0.1, "train_majority": 0.8847}
    assert judge(row_of(CONV, "test_accuracy"), of(CONV, SPREAD)[1], made).verdict == "reproduced"


def test_a_lower_bound_is_met_by_more():
    options = {"workload": "fashion-cnn", "replicas": 8, "global_batch": 1024, "epochs": 50}
    options["steps_per_epoch"] = None
    row, evidence = row_of(CNN, "test_accuracy"), of(CNN)[1]
    assert row.bound == "lower"
    assert row.printed == "over 0.89"

    def at(mean, **other):  # 4.302653 x 0.001 x sqrt(4 / 3) = 0.0050 around the mean
        values = [mean - 0.001, mean, mean + 0.001]
        return judge(row, evidence, with_accuracy(values, **{**options, **other}))

    assert at(0.8951).verdict == verdicts.REPRODUCED
    below = at(0.88)
    assert below.verdict == verdicts.DIFFERS
    assert below.why == "published - measured = +0.0100 from the stated bound"
    unclear = at(0.8949)
    assert unclear.verdict == verdicts.UNDECIDED
    assert unclear.why.endswith("one more run may be above the bound or below")
    assert at(0.9, replicas=1).asides == ("1 x batch 1024 per replica, published 8 x 128",)
    one = judge(row, evidence, with_accuracy([0.99], **options))
    assert one.verdict == verdicts.UNDECIDED


def test_the_nearest_number_of_replicas_that_was_completed_stands_for_the_published_one():
    """Published are 8; runs over 4 and 8 diverged."""
    made = [
        make_record(
            workload="fashion-cnn",
            replicas=replicas,
            global_batch=1024,
            epochs=50,
            steps_per_epoch=None,
            status=status,
        )
        for replicas, status in (
            (1, "completed"),
            (2, "completed"),
            (4, "diverged"),
            (8, "diverged"),
        )
    ]
    found = judge(row_of(CNN, "test_accuracy"), of(CNN)[1], made)
    assert found.runs == (made[1]["run"],)
    assert found.asides == ("2 x batch 512 per replica, published 8 x 128",)


def test_times_are_never_reproduced():
    made = [make_record(seed=k, epochs=5) for k in range(3)]
    finding = judge(row_of(CONV, "step_time", 2), of(CONV)[1], made)
    epoch = [m["epochs"][1] for m in made]
    expected = sorted(1000 * e["train_seconds"] / e["steps"] for e in epoch)[1]
    assert finding.verdict == verdicts.NOT_COMPARABLE
    assert "other hardware" in finding.why
    assert float(finding.measured.split()[0]) == pytest.approx(expected, abs=0.051)


def test_training_time_is_the_whole_run():
    made = make_record(workload="fashion-cnn", global_batch=1024, epochs=50, steps_per_epoch=None)
    finding = judge(row_of(CNN, "training_time"), of(CNN)[1], [made])
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
    finding = accuracy([0.8848], **options)
    assert (finding.verdict, finding.why) == (verdicts.NOT_COMPARABLE, why)


def test_fewer_epochs_are_labelled():
    made = with_accuracy([0.8848], epochs=3)
    evidence = of(CONV, SPREAD)[1]
    final = judge(row_of(CONV, "test_accuracy"), evidence, made)
    assert final.verdict == verdicts.NOT_COMPARABLE
    assert final.measured == "0.8848 (n = 1) at epoch 3"
    assert final.why == "only 3 of the published 5 epochs were run"
    missing = judge(row_of(CONV, "train_loss", 4), evidence, made)
    assert (missing.measured, missing.verdict) == ("-", verdicts.NOT_COMPARABLE)
    assert judge(row_of(CONV, "train_loss", 3), evidence, made).measured.endswith("(n = 1)")


def test_without_parity_accuracy_is_compared_and_time_is_not():
    made = with_accuracy([0.8848])
    evidence = of(CONV, SPREAD)[1]
    finding = judge(row_of(CONV, "test_accuracy"), evidence, made, passed=False)
    assert finding.verdict == verdicts.REPRODUCED
    time = judge(row_of(CONV, "step_time", 1), evidence, made, passed=False)
    assert (time.measured, time.why) == ("-", "parity is not proven: no speed")


def test_no_completed_run():
    made = [make_record(status="out_of_memory")]
    finding = judge(row_of(CONV, "test_accuracy"), of(CONV)[1], made)
    assert (finding.verdict, finding.why) == (
        verdicts.NOT_COMPARABLE,
        "no run was completed: out of memory",
    )


def test_one_designated_column_judges():
    found = {
        "A": verdicts.Finding("-", verdicts.NOT_COMPARABLE, "a"),
        "B": verdicts.Finding("1", verdicts.REPRODUCED, "b"),
        "C": verdicts.Finding("1", verdicts.DIFFERS, "c"),
    }
    assert verdicts.overall(found, "C") == ("C", found["C"])
    assert verdicts.overall(found, "A") == ("B", found["B"])
    assert verdicts.overall(found) == ("B", found["B"])
    assert verdicts.overall({"A": found["A"]}, "B") == ("A", found["A"])


def test_unknown_metric_is_said_not_guessed():
    rows = published.read_rows(CSV, "accelerator_reference")
    finding = verdicts.compare(rows[0], verdicts.Evidence({}), pd.DataFrame(), pd.DataFrame())
    assert finding.verdict == verdicts.NOT_COMPARABLE
    assert "no measured quantity" in finding.why


def test_unknown_experiment_names_the_key():
    with pytest.raises(UserError, match="no_such"):
        published.read_rows(CSV, "no_such")


@pytest.mark.parametrize(
    ("name", "read", "old", "new", "words"),
    [
        ("margins", published.read_margins, "metric", "quantity", "has no column 'metric'"),
        ("margins", published.read_margins, "0.02", "two", "'two' is no number"),
        ("margins", published.read_margins, "0.02", "inf", "'inf' is no number"),
        ("margins", published.read_margins, "difference", "gap", "'gap' is no kind"),
        ("published", lambda path: published.read_rows(path, CONV), "0.8848", "?", "no number"),
        ("published", lambda path: published.read_rows(path, CONV), "value", "worth", "no column"),
        ("protocols", lambda path: published.read_protocols(path, CONV), "1000", "k", "protocols"),
        ("flaws", lambda path: published.read_flaws(path, CONV), "experiment", "x", "no column"),
        ("spread", published.read_spreads, "seed", "sead", "not a table of spreads"),
    ],
)
def test_another_table_is_named(tmp_path, name, read, old, new, words):
    path = tmp_path / f"{name}.csv"
    whole = (FOLDER / path.name).read_text(encoding="utf-8")
    assert old in whole
    path.write_text(whole, encoding="utf-8")
    read(path)
    path.write_text(whole.replace(old, new), encoding="utf-8")
    with pytest.raises(UserError, match=words) as caught:
        read(path)
    assert str(path) in str(caught.value)


@pytest.fixture
def written(tmp_path):
    made = with_accuracy([0.86, 0.87]) + with_accuracy([0.85], backend="torch-xla")
    runs, epochs = tabulated(made)
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
