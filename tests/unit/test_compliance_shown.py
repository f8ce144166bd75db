"""What the compliance program says, and what figures and tables make of a run that breaks a rule."""

import pandas as pd
import pytest
from draw_figures import Drawing, texts_of
from make_processes import make_activity
from make_records import LABELS
from make_results import FIRST, find, write_results
from make_tables import beside, write

import collect
from paragone.analysis import columns, tidy
from paragone.analysis.grouping import series_of
from paragone.records import compliance


def test_program_names_file_rule_and_value(tmp_path, records, capsys):
    records[0]["clocks"]["other"] += 9.0
    folder = write_results(tmp_path, records)
    with pytest.raises(SystemExit) as stopped:
        collect.main(["check", str(folder)])
    printed = capsys.readouterr().out
    assert stopped.value.code == 1
    assert f"runs/{FIRST}/record.json: clock-sum (invalid): processes.age: " in printed
    assert "s by the kernel's clock, the parts add up to " in printed
    assert "1 violations: 1 invalid" in printed


def run_workflow(folder, records):
    """Check and collect as the rule does; the runs and epochs."""
    write_results(folder, records)
    paths = sorted(map(str, folder.glob("runs/*/record.json")))
    found, parity = folder / "compliance.csv", str(folder / "parity/fashion-conv.json")
    outputs = [folder / "runs.parquet", folder / "epochs.parquet"]
    collect.main(
        [
            *("runs", "--experiment", "one", "--parity", parity, "--violations", str(found)),
            *("--records", *paths, "--runs", str(outputs[0]), "--epochs", str(outputs[1])),
        ]
    )
    return [tidy.read(path) for path in outputs]


def test_a_run_that_breaks_a_rule_is_shown_as_such(tmp_path, records):
    records[0]["clocks"]["other"] += 9.0
    records[1]["processes"][0]["load"]["life"] = make_activity(10.0, others=0.5)
    records[2]["processes"][0]["git"]["dirty"] = True
    runs, epochs = run_workflow(tmp_path, records)
    assert len(runs) == len(records)
    broken = runs.set_index("run").loc[FIRST]
    assert (broken["status"], broken["violations"]) == ("invalid", "clock-sum")
    assert broken["reason"].startswith("was completed; clock-sum: processes.age ")
    assert broken[columns.SPEED_COLUMNS].isna().all()
    assert epochs.loc[epochs["run"] == FIRST, "train_seconds"].isna().all()
    busy = runs.set_index("run").loc[records[1]["run"]]
    assert (busy["status"], busy["violations"]) == ("completed", "isolation")
    assert busy["steady_examples_per_second"] > 0
    series = series_of(runs, LABELS)
    assert [len(one.measured) for one in series] == [3, 2, 3]
    text = texts_of(Drawing(tmp_path, runs=runs).figure("throughput"))
    assert "breaks a rule (1 of 3 runs)" in text
    assert "BUSY MACHINE: others used up to 50 %" in text
    assert "Rules broken: clean-code (1 of 9 runs), clock-sum (1 of 9 runs)." in text


def test_a_record_that_cannot_be_read_is_shown_in_words(tmp_path, records):
    """In its figures, of which two are drawn, and in every table."""
    records[0]["status"] = "fine"
    runs, epochs = run_workflow(tmp_path, records)
    broken = runs.set_index("run").loc[FIRST]
    assert (broken["status"], broken["violations"]) == ("invalid", "schema")
    assert "$.status" in broken["reason"]
    assert (broken["backend"], broken["seed"], broken["global_batch"]) == ("torch", 0, 1000)
    assert [len(one.runs) for one in series_of(runs, LABELS)] == [3, 3, 3]
    drawing = Drawing(tmp_path, runs=runs, epochs=epochs)
    for figure in ("throughput", "learning_curves"):
        assert "breaks a rule (1 of 3 runs)" in texts_of(drawing.figure(figure))
    published = beside("tpu_fashion_conv")
    for table, *options in (["comparison", *published], ["epochs", *published], ["differences"]):
        more = {"epochs": epochs} if options else {}
        outputs = write(tmp_path / table, table, *options, labels={}, runs=runs, **more)
        assert "schema (1 of 9 runs)" in outputs["markdown"].read_text()
        assert len(pd.read_csv(outputs["csv"])) > 0


def test_violations_survive_their_file(tmp_path, records):
    records[0]["reason"] = 'it said "no", twice,\nand ended'
    found = find(write_results(tmp_path, records))
    compliance.write(found, tmp_path / "compliance.csv")
    rows = pd.read_csv(tmp_path / "compliance.csv", dtype=str, keep_default_na=False)
    assert rows.to_dict("records") == [vars(one) for one in found]
    compliance.write([], tmp_path / "none.csv")
    none = pd.read_csv(tmp_path / "none.csv")
    assert (len(none), list(none.columns)) == (0, list(rows.columns))
