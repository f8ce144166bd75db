"""Every figure from made records: whole, traceable, the same bytes again; it shows what the records say."""

import json
import re
import shutil
import struct
from itertools import product

import numpy as np
import pandas as pd
import pypdf
import pytest
from draw_figures import FIGURES, FORMATS, Drawing, texts_of
from make_contests import windows
from make_experiments import COUNTS, SCALED, batch_sizes, of_cell, reuters, scaling, to_target
from make_records import (
    CLASS_NAMES,
    LABELS,
    PALETTE,
    TUNED,
    make_predictions,
    make_record,
    of_backend,
    speed,
    tabulated,
    time_to_target,
    validated,
    waited,
)
from make_records import clocks as clocks_of
from matplotlib.figure import Figure
from workspace import FOLDERS

from paragone.base.errors import UserError
from paragone.reporting import marks, style, tables
from paragone.reporting.figures import predictions, variants
from paragone.reporting.tables import TABLES, TextTable

SUFFIXES = ("svg", "pdf", "png")
# Figure: its records, the published experiment beside it.
STUDIES = {
    "epoch_time": (lambda: scaling("weak"), "mirrored_mobilenet"),
    "batch_size_throughput": (batch_sizes, "batch_size_throughput"),
    "time_to_target": (to_target, ""),
}


@pytest.mark.parametrize("figure", FIGURES)
@pytest.mark.filterwarnings("error")
def test_three_formats_at_column_width(everything, figure):
    """Without a time or a random number: the same bytes are drawn from records alone, tests/pipeline/."""
    paths, _ = everything.draw(figure, suffixes=SUFFIXES)
    svg, pdf, png = [path.read_bytes() for path in paths]
    assert svg.lstrip().startswith(b"<?xml")
    assert f'width="{style.SINGLE * 72:g}pt"'.encode() in svg
    assert not re.search(rb"20\d\d-\d\d-\d\dT", svg)
    assert struct.unpack(">I", png[16:20]) == (round(style.SINGLE * 300),)
    assert pdf.startswith(b"%PDF")
    assert b"CreationDate" not in pdf
    assert b"/Type3" not in pdf  # fonts are embedded as TrueType


def test_a_pdf_file_has_the_legend_and_neither_title_nor_notes(everything):
    (path,), _ = everything.draw("clocks", suffixes=("pdf",))
    (page,) = pypdf.PdfReader(path).pages
    heights: dict[str, float] = {}
    page.extract_text(visitor_text=lambda text, cm, *_: heights.setdefault(text.strip(), cm[5]))
    assert page.mediabox.bottom < heights["compilation"] < page.mediabox.top
    assert not [text for text in heights if text.startswith(("A title", "Each bar"))]


def test_an_unknown_figure_or_format_and_a_missing_input_are_named_and_nothing_is_written(tmp_path):
    drawing = Drawing.of(tmp_path, [make_record("torch")])
    del drawing.files["epochs"]
    for figure, suffix, words in (
        ("learning_curves", "svg", "epochs: missing"),
        ("variants", "bmp", "figure is written as .svg"),
        ("../inputs", "svg", "batch_size_throughput, clocks, "),
    ):
        with pytest.raises(UserError, match=words):
            drawing.draw(figure, suffixes=(suffix,))
    assert not (tmp_path / "out").exists()


def test_braces_and_dollars_are_plain_text(everything):
    title = "{results}, $a_1$ and {} 100 %"
    drawn = everything.figure("variants", title=title)
    assert title in texts_of(drawn)
    assert not any(text.get_parse_math() for text in drawn.texts)


def test_variants_drop_no_run(everything):
    shown = everything.shown("variants")
    speeds = shown[shown["metric"] == variants.ABSOLUTE]
    by_run = {one["run"]: one for one in everything.made}
    for row in speeds.to_dict("records"):
        assert row["value"] == pytest.approx(speed(by_run[row["runs"]]))
    proven = [run for run, one in by_run.items() if one["spec"]["backend"]["name"] != "torch-xla"]
    completed = [run for run in proven if by_run[run]["status"] == "completed"]
    assert sorted(speeds["runs"]) == sorted(completed)
    words = shown.drop_duplicates("series").set_index("series")["words"].fillna("").to_dict()
    assert words == {
        "TensorFlow Mirrored": "",
        "PyTorch": "diverged (1 of 3 runs)",
        "PyTorch/XLA SPMD": "failed parity: no speed compared (all 3 runs)",
        "PyTorch DDP": "diverged (both runs)",
        "TensorFlow MultiWorkerMirrored": "out of memory (both runs)",
        "TensorFlow TPU": "not available here",
    }
    torch = speeds[speeds["series"] == "PyTorch"].iloc[0]
    median = np.median(speeds[speeds["series"] == "PyTorch"]["value"])
    assert (torch["n"], torch["median"]) == (2, pytest.approx(median))


def test_clocks_show_a_real_run_whose_parts_add_up(everything):
    shown = everything.shown("clocks")
    by_run = {one["run"]: one for one in everything.made}
    bars = shown.dropna(subset="run").groupby("run")
    assert len(bars) == 2
    for run, parts in bars:
        assert parts["seconds"].sum() == pytest.approx(waited(by_run[run]))
        named = parts.set_index("part")["seconds"]
        compilation = by_run[run]["clocks"]["compilation"]
        assert named["compilation"] == pytest.approx(compilation)
    totals = sorted(map(waited, of_backend(everything.made, "tensorflow-mirrored")))
    tensorflow = shown[shown["series"] == "TensorFlow Mirrored"].iloc[0]
    assert tensorflow["end_to_end_seconds"] == pytest.approx(totals[1])


# Learning curves, and the grid of predictions


def test_learning_curve_points_are_those_of_the_records(everything):
    shown = everything.shown("learning_curves", "tpu_fashion_conv")
    medians = shown[(shown["kind"] == "median") & (shown["series"] == "TensorFlow Mirrored")]
    for row in medians.to_dict("records"):
        values = [one["epochs"][row["epoch"] - 1][row["metric"]] for one in everything.made[:3]]
        assert row["value"] == pytest.approx(np.median(values))
        assert (row["low"], row["high"]) == pytest.approx((min(values), max(values)))
        assert row["runs"].split() == sorted(one["run"] for one in everything.made[:3])
    stopped = shown[shown["kind"] == "stopped"]
    diverged = {one["run"] for one in everything.made if one["status"] == "diverged"}
    assert set(stopped["runs"]) == diverged
    points = shown[shown["kind"] == "published"]
    losses = points[points["metric"] == "train_loss"].set_index("epoch")["value"].to_dict()
    assert losses == {1: 12.7235, 2: 0.76, 3: 0.4443, 4: 0.3401, 5: 0.2867}


def test_a_validation_split_is_drawn_beside_the_test_split(tmp_path):
    made = [validated(make_record("torch", seed=seed)) for seed in range(3)]
    drawing = Drawing.of(tmp_path, made)
    labels = [axes.get_ylabel() for axes in drawing.figure("learning_curves").axes]
    assert [label.replace("\n", " ").partition(" (")[0] for label in labels] == [
        *("training loss", "validation loss", "test accuracy", "validation accuracy")
    ]
    shown = drawing.shown("learning_curves").set_index(["metric", "epoch"])["value"]
    assert shown["validation_accuracy"].tolist() == shown["test_accuracy"].tolist()


def test_each_printed_metric_has_a_panel_and_flawed_numbers_are_hollow(tmp_path, monkeypatch):
    folder = tmp_path / "paper"
    shutil.copytree(FOLDERS["tpu_fashion_conv"], folder)
    text = (folder / "paper.yaml").read_text()
    flaw = "    flaws:\n      - {text: Wrong., metric: train_loss, epochs: [1]}\n"
    (folder / "paper.yaml").write_text(text.replace("    flaws:\n", flaw, 1))
    monkeypatch.setitem(FOLDERS, "tpu_fashion_conv", folder)
    drawing = Drawing.of(tmp_path, [make_record("torch", seed=k, epochs=5) for k in range(3)])
    figure = drawing.figure("learning_curves", "tpu_fashion_conv")
    labels = [axes.get_ylabel().partition(" (")[0].partition("\n")[0] for axes in figure.axes]
    assert labels == ["training loss", "test loss", "test accuracy", "training accuracy"]
    hollow = [line for line in figure.axes[0].lines if line.get_markerfacecolor() == "none"]
    assert [line.get_xdata().tolist() for line in hollow] == [[1.0]]
    assert "published, flawed" in texts_of(figure)
    table = pd.read_csv(drawing.table("comparison", "tpu_fashion_conv")["csv"])
    (row,) = table[table["verdict"] == "flawed"].to_dict("records")
    assert (row["metric"], row["epoch"], row["why"][:6]) == ("train_loss", 1, "Wrong.")


def test_a_flawed_number_of_the_best_epoch_is_a_level_that_says_so(tmp_path, monkeypatch):
    folder = tmp_path / "paper"
    shutil.copytree(FOLDERS["tpu_fashion_conv"], folder)
    rows = pd.read_csv(folder / "numbers.csv", dtype=str)
    final = rows[(rows["metric"] == "accuracy") & (rows["split"] == "test") & rows["final"].notna()]
    best = final.head(1).assign(epoch="best", final=None, value="0.9123", decimals="4")
    pd.concat([rows, best]).to_csv(folder / "numbers.csv", index=False)
    text = (folder / "paper.yaml").read_text()
    flaw = "    flaws:\n      - {text: Wrong., metric: test_accuracy}\n"
    (folder / "paper.yaml").write_text(text.replace("    flaws:\n", flaw, 1))
    monkeypatch.setitem(FOLDERS, "tpu_fashion_conv", folder)
    drawing = Drawing.of(tmp_path, [make_record("torch", seed=k, epochs=5) for k in range(3)])
    text = texts_of(drawing.figure("learning_curves", "tpu_fashion_conv"))
    assert "flawed: 0.9123 in the best epoch" in text


def test_lines_are_the_medians_and_bands_their_intervals(everything):
    shown = everything.shown("learning_curves")
    axes = everything.figure("learning_curves").axes[0]
    lines = {line.get_color(): line for line in axes.lines[:3]}
    here = shown[(shown["kind"] == "median") & (shown["metric"] == "train_loss")]
    line, median = lines[PALETTE["torch"]], here[here["series"] == "PyTorch"]
    assert line.get_ydata().tolist() == pytest.approx(median["value"].tolist())
    assert line.get_xdata().tolist() == pytest.approx([1, 2, 3], abs=0.1)
    first, second = (line.get_xdata()[0] for line in axes.lines[:2])
    assert first < second  # equal curves are side by side
    assert len(axes.collections) == 3  # a band per series with several runs


def test_published_value_beyond_the_measured_epochs_is_a_level(tmp_path):
    options = {"workload": "fashion-cnn", "global_batch": 1024, "steps_per_epoch": None}
    made = [make_record("torch", epochs=2, **options)]
    made += [make_record("torch-xla", epochs=2, replicas=8, **options)]
    figure = Drawing.of(tmp_path, made).figure("learning_curves", "xla_fashion_cnn")
    text = texts_of(figure)
    assert "published: over 0.89 after epoch 50" in text
    assert "PyTorch/XLA SPMD (8 replicas)" in text
    assert "n = 1 run each: no interval." in text
    assert figure.axes[1].get_xlim()[1] < 3


def test_variants_are_side_by_side_with_their_own_published_points(tmp_path):
    drawing = Drawing.of(tmp_path, reuters())
    shown = drawing.shown("learning_curves", "reuters_strategies")
    points = shown[shown["kind"] == "published"].groupby("series")["workload"].unique()
    assert {system: list(names) for system, names in points.items()} == {
        "1 GPU (Colab), custom loop": ["reuters-cnn"],
        "2 logical GPUs (Colab), MirroredStrategy": ["reuters-cnn"],
        "8 TPU cores (Colab), TPUStrategy": ["reuters-cnn-double-softmax"],
    }
    figure = drawing.figure("learning_curves", "reuters_strategies")
    titles = [axes.get_title(loc="left") for axes in figure.axes]
    assert titles[:2] == ["reuters-cnn", "reuters-cnn-\ndouble-softmax"]
    assert len({axes.get_ylim() for axes in figure.axes[:2]}) == 1  # flat beside falling
    dashed = {line.get_color() for line in figure.axes[0].lines if line.is_dashed()}
    assert PALETTE["tensorflow-mirrored"] in dashed  # two replicas


def test_predictions_name_the_label_first(everything):
    shown = everything.shown("predictions")
    assert shown["run"].nunique() == 3  # one run for each backend with a completed run
    expected = make_predictions(0)
    grid = shown[shown["series"] == "TensorFlow Mirrored"]
    assert grid["seed"].unique().tolist() == [0]
    assert grid["label"].tolist() == [CLASS_NAMES[label] for label in expected["labels"]]
    predicted = [CLASS_NAMES[label] for label in expected["predictions"]]
    assert grid["prediction"].tolist() == predicted
    assert grid.loc[~grid["right"], "position"].tolist() == [4, 12, 13]
    assert grid["probability"].tolist() == pytest.approx(expected["probabilities"].tolist())


def test_where_backends_disagree_each_says_what_it_saw(tmp_path):
    drawing = Drawing.of(tmp_path, [make_record("torch"), make_record("torch-xla")])
    _, path = drawing.files["predictions"]
    found = make_predictions(0)
    found["predictions"][0] = CLASS_NAMES.index("Bag")  # the other one is right
    np.savez(path, **found)
    axes = drawing.figure("predictions").axes[0]
    texts = {text.get_text(): text.get_color() for text in axes.texts[:3]}
    assert [*texts] == ["→ Bag ✗", "→ T-shirt/top", "T-shirt/top"]  # upwards
    assert [*texts.values()][:2] == [PALETTE["torch-xla"], PALETTE["torch"]]
    assert axes.patches[0].get_linestyle() == "--"


def test_predictions_without_images_or_names_are_explained(tmp_path):
    path = tmp_path / "predictions.npz"
    for missing, words in (("images", "holds no images"), ("class_names", "not the predictions")):
        kept = {name: value for name, value in make_predictions(0).items() if name != missing}
        np.savez(path, **kept)
        with pytest.raises(UserError, match=words):
            predictions.read(path)
    path.write_bytes(b"PK")
    with pytest.raises(UserError, match="not the predictions"):
        predictions.read(path)


# Batch sizes, time to target and epoch time


@pytest.fixture(scope="module")
def drawings(tmp_path_factory):
    return {
        name: Drawing.of(tmp_path_factory.mktemp(name), make())
        for name, (make, _) in STUDIES.items()
    }


@pytest.fixture(scope="module")
def shown(drawings):
    return {name: one.shown(name, STUDIES[name][1]) for name, one in drawings.items()}


def test_throughput_by_batch_is_that_of_the_records(drawings, shown):
    rows, made = shown["batch_size_throughput"], drawings["batch_size_throughput"].made
    medians = rows[(rows["panel"] == "measured") & (rows["kind"] == "median")]
    found = medians[(medians["series"] == "TensorFlow Mirrored") & (medians["x"] == 64)]
    speeds = [speed(one) for one in of_cell(made, "tensorflow-mirrored", 1, 64)]
    assert found["value"].item() == pytest.approx(np.median(speeds))
    chart = rows[(rows["panel"] == "published")].set_index("x")["value"].to_dict()
    assert (chart[8], chart[700], len(chart)) == (328, 1332, 8)
    relative = rows[(rows["panel"] == "relative") & (rows["x"] == 512)]
    relative = relative[relative["kind"] != "run"].set_index("series")["value"]
    assert relative["published"] == pytest.approx(1329 / 328)
    base = of_cell(made, "torch", 1, 8)
    ratios = [
        speed(b) / speed(a) for a, b in zip(base, of_cell(made, "torch", 1, 512), strict=True)
    ]
    assert relative["PyTorch"] == pytest.approx(np.median(ratios))


def test_every_try_is_a_hit_or_a_censored_miss(drawings, shown):
    rows, made = shown["time_to_target"], drawings["time_to_target"].made
    runs = rows[rows["kind"] != "median"].set_index("runs")
    tried = [one for one in made if one["status"] in ("completed", "diverged")]
    assert sorted(runs.index) == sorted(one["run"] for one in tried)
    for one in tried:
        row = runs.loc[one["run"]]
        if found := time_to_target(one):
            assert (row["last_miss"], row["first_hit"]) == pytest.approx(found)
            assert (row["kind"], np.isnan(row["censored_at"])) == ("hit", True)
        else:
            assert row["censored_at"] == pytest.approx(clocks_of(one)["train"])
            assert row["kind"] == ("miss" if one["status"] == "completed" else "diverged")
    cells = rows[rows["kind"] == "median"].set_index("global_batch")
    assert cells[["reached", "n"]].T.to_dict("list") == {8: [3, 3], 128: [0, 3], 512: [0, 1]}
    assert cells.loc[512, "words"] == "diverged (1 of 3 runs); out of memory (2 of 3 runs)"
    text = texts_of(drawings["time_to_target"].figure("time_to_target"))
    for words in ("3/3", "0/3", "0/1", "0.85 in 2 evaluations in a row"):
        assert words in text


def test_a_median_between_hits_and_a_miss(tmp_path):
    curves = [[0.5, 0.9, 0.9], [0.5, 0.5, 0.9], [0.5, 0.5, 0.5]]
    made = [
        make_record(seed=k, accuracies=curve, target=0.8, speed=1000.0)
        for k, curve in enumerate(curves)
    ]
    drawing = Drawing.of(tmp_path, made)
    rows = drawing.shown("time_to_target")
    cell = rows[rows["kind"] == "median"].iloc[0]
    # 60,000 examples an epoch: hits at 120 and 180 s, one miss after 180 s.
    assert (cell["value"], cell["low"], cell["high"]) == (pytest.approx(180), 120, np.inf)
    assert rows.loc[rows["kind"] == "miss", "censored_at"].tolist() == pytest.approx([180])


def test_without_parity_a_hit_counts_and_has_no_time(tmp_path):
    drawing = Drawing.of(tmp_path, [make_record("torch", target=0.5)], torch=False)
    rows = drawing.shown("time_to_target")
    cell = rows[rows["kind"] == "median"].iloc[0]
    assert (cell["reached"], cell["n"], pd.isna(cell["value"])) == (1, 1, True)
    assert cell["words"] == "parity not passed: no time"


def test_without_a_target_the_key_is_named(tmp_path):
    with pytest.raises(UserError, match="set `target`"):
        Drawing.of(tmp_path, [make_record()]).draw("time_to_target")


def test_epoch_times_are_extrapolated_from_the_records(drawings, shown):
    rows, made = shown["epoch_time"], drawings["epoch_time"].made
    medians = rows[(rows["panel"] == "measured") & (rows["kind"] == "median")]
    assert medians["extrapolated"].all()
    runs = rows[(rows["panel"] == "measured") & (rows["kind"] == "run")].set_index("runs")["value"]
    expected = {one["run"]: pytest.approx(23_262 / speed(one)) for one in made}
    assert runs.to_dict() == expected


# Variants relative to the baseline

CELLS = [("torch", None, 1e3), ("torch", TUNED, 2e3), ("tensorflow-mirrored", None, 1.5e3)]


def with_tuned() -> list[dict]:
    """Seven runs of each cell with a known speed, and a variant whose device is absent."""
    found = [make_record("tensorflow-tpu", status="unavailable")]
    for (backend, tuning, value), seed in product(CELLS, range(7)):
        quick = value * (1 + seed % 3 / 100)
        found.append(make_record(backend, seed=seed, tuning=tuning, speed=quick))
    return found


@pytest.fixture(scope="module")
def drawing(tmp_path_factory):
    return Drawing.of(tmp_path_factory.mktemp("variants"), with_tuned())


@pytest.mark.filterwarnings("error")
def test_each_dot_is_the_ratio_of_a_pair(drawing):
    shown = drawing.shown("variants")
    by_run = {one["run"]: one for one in drawing.made}
    ratios = shown[shown["metric"] == "speed"].dropna(subset="value")
    names = ["PyTorch", "PyTorch (tuned)", "TensorFlow Mirrored"]
    assert ratios.groupby("series").size().to_dict() == dict.fromkeys(names, 7)
    for row in ratios[ratios["series"] == "PyTorch (tuned)"].to_dict("records"):
        runs = [by_run[name] for name in row["runs"].split()]
        tuned, plain = sorted(runs, key=lambda one: not one["spec"]["tuning"])
        assert tuned["spec"]["seed"] == plain["spec"]["seed"]
        assert row["value"] == pytest.approx(speed(tuned) / speed(plain))
    median = ratios.set_index("series")["median"]
    assert median["PyTorch"].unique().tolist() == [1.0]
    assert np.allclose(median["PyTorch (tuned)"], 2, rtol=0.02)
    assert np.allclose(median["TensorFlow Mirrored"], 1.5, rtol=0.02)


def test_the_best_is_on_top_and_what_did_not_run_is_below(drawing):
    rows = [label.get_text() for label in drawing.figure("variants").axes[0].get_yticklabels()]
    names = ["PyTorch (tuned)", "TensorFlow Mirrored", "PyTorch", "TensorFlow TPU"]
    assert [row.replace("\n", " ") for row in rows] == names


def test_each_machine_has_a_baseline_of_its_own(tmp_path):
    speeds = {("node-1", "torch"): 1e3, ("node-2", "torch"): 3e3}
    speeds |= {("node-1", "torch-xla"): 2e3, ("node-2", "torch-xla"): 6e3}
    made = [make_record(name, host=host, speed=value) for (host, name), value in speeds.items()]
    shown = Drawing.of(tmp_path, made).shown("variants")
    ratios = shown[(shown["metric"] == "speed") & (shown["series"] == LABELS["torch-xla"])]
    assert ratios["value"].tolist() == pytest.approx([2, 2])
    assert ratios["work"].nunique() == 2


def test_where_the_baseline_has_no_speed_the_first_variant_takes_its_place(tmp_path):
    made = [one for one in with_tuned() if one["spec"]["backend"]["name"] != "torch"]
    shown = Drawing.of(tmp_path, made).shown("variants")
    assert set(shown["baseline"]) == {"TensorFlow Mirrored"}


def test_a_point_says_in_the_svg_file_what_it_is(drawing):
    (path,), _ = drawing.draw("variants")
    titles = re.findall("<circle [^>]*><title>([^<]*)</title></circle>", path.read_text())
    runs = {one["run"] for one in drawing.made if one["status"] == "completed"}
    assert runs <= {word.strip(",") for title in titles for word in title.split()}
    (mean,) = [title for title in titles if title.startswith("PyTorch (tuned): 2 x (95 %: ")]
    assert "\nn = 7\n" in mean


# Scaling, also as a table


def scaled(folder, records, how):
    return Drawing(folder, runs=tabulated(records, experiment=how)[0])


@pytest.mark.parametrize("how", ["strong", "weak"])
def test_speed_up_and_efficiency_pair_seeds(tmp_path, how):
    records = scaling(how)
    measured = scaled(tmp_path, records, how).shown("scaling").set_index(["series", "replicas"])
    assert len(measured) == len(SCALED) * len(COUNTS)
    for backend, replicas in product(SCALED, COUNTS):
        cell = of_cell(records, backend, replicas)
        ratios = [
            speed(b) / speed(a) for a, b in zip(of_cell(records, backend, 1), cell, strict=True)
        ]
        row = measured.loc[(LABELS[backend], replicas)]
        assert row["speed_up"] == pytest.approx(np.median(ratios))
        expected = min(ratios), max(ratios)
        assert (row["speed_up_low"], row["speed_up_high"]) == pytest.approx(expected)
        assert row["efficiency"] == pytest.approx(np.median(ratios) / replicas)
        batch = cell[0]["spec"]["global_batch"]
        assert row["step_seconds"] == pytest.approx(np.median([batch / speed(one) for one in cell]))
        assert (row["n"], row["pairs"], row["ideal"]) == (3, 3, 1)


def test_without_one_replica_there_is_no_speed_up(tmp_path):
    measured = scaled(tmp_path, scaling("weak", COUNTS[1:]), "weak").shown("scaling")
    assert measured["speed_up"].isna().all()
    assert measured["step_seconds"].notna().all()
    assert set(measured["words"]) == {"no run of one replica to compare with"}


def test_figure_and_table_have_the_speeds_of_contests(tmp_path):
    """Three contests and one run are there, and the contests decide."""
    runs, _ = tabulated([make_record("torch", replicas=count, speed=1000.0) for count in (1, 2)])
    same = ["workload", "global_batch", "machine", "machine_name", "data_edition", "data_source"]
    about, speeds = runs[same].iloc[0], np.array([[900.0] * 2, [1000.0] * 2, [1100.0] * 2])
    held = [windows({"torch": count * speeds}, **about, replicas=count) for count in (1, 2)]
    rounds = pd.concat(held, ignore_index=True)
    drawn = Drawing(tmp_path, runs=runs, rounds=rounds)
    files = drawn.table("scaling")
    table = pd.read_csv(files["csv"])
    pd.testing.assert_frame_equal(table, drawn.shown("scaling"))
    assert table[["n", "speed_up"]].to_numpy().tolist() == [[3, 1], [3, 2]]
    assert "n = 3 contests each" in files["markdown"].read_text()


# Formats of tables


def test_an_unknown_table_is_one_message(tmp_path):
    words = f"'no_such' is none of the tables: {', '.join(sorted(TABLES))}"
    with pytest.raises(UserError, match=words):
        Drawing(tmp_path).table("no_such")
    assert not list(tmp_path.iterdir())


def test_cells_and_remarks_in_every_format(tmp_path):
    cells = pd.DataFrame({"e": ["1", None], "a_b": ["2|3", "4"]})
    rows, runs = pd.DataFrame({"tidy": [0.1]}), ["r1 r2 r1", ""]
    table = TextTable(rows, "A title", ["One & two."], cells, runs=runs)
    paths = {kind: tmp_path / "new" / f"t.{suffix}" for kind, suffix in FORMATS.items()}
    tables.save(table, paths.values())
    assert paths["csv"].read_text() == "tidy\n0.1\n"
    text = paths["markdown"].read_text()
    assert text.startswith("# A title\n\n| e ")
    assert r"2\|3" in text
    assert text.endswith("\n\n- One & two.\n")
    shown = json.loads(paths["cells"].read_text())
    assert (shown["lines"], shown["runs"]) == ([["1", "2|3"], ["", "4"]], [["r1", "r2"], []])


@pytest.mark.parametrize("view", [(0.3, 1.8), (0.55, 1.07), (0.9, 1.12), (0.95, 1.06)])
def test_a_logarithmic_axis_has_the_one_and_another_tick(view):
    axes = Figure().subplots()
    axes.set_xscale("log")
    axes.set_xlim(view)
    marks.plain_logarithms(axes.xaxis)
    ticks = [tick for tick in axes.get_xticks() if view[0] <= tick <= view[1]]
    assert len(ticks) >= 2
    assert pytest.approx(min(ticks, key=lambda tick: abs(tick - 1))) == 1
