"""Scaling figures: what they show is what records and model say, in words if need be."""

import json

import numpy as np
import pytest
from draw_figures import Drawing, banners, texts_of
from make_experiments import of_cell
from make_records import LABELS, make_record, speed
from make_scaling import COUNTS, EACH, GLOBAL, MODELS, scaling
from make_tables import calibrated
from workspace import CONFIG

import measure_all_reduces
from paragone.reporting.drawing import style
from paragone.reporting.figures import beyond

FIGURES = {"strong": "scaling", "weak": "scaling", "model": "scaling_model", "beyond": "beyond"}
SETTINGS = {key: CONFIG["scaling"][key] for key in ("machines", "most")}


class Study:
    """The figures of two scaling experiments and their cost model, in a folder of its own."""

    def __init__(self, folder, strong, weak):
        self.made = {"strong": strong, "weak": weak}
        files = calibrated(folder, strong, weak)
        runs = {"strong": files["runs"][:1], "weak": files["runs"][1:]}
        self.drawings = {}
        for name in FIGURES:
            (folder / f"of_{name}").mkdir()
            given = {**files, "runs": runs.get(name, files["runs"])}
            self.drawings[name] = Drawing(folder / f"of_{name}", SETTINGS, **given)
        self.shown = {name: self.draw(name)[1] for name in FIGURES}

    def draw(self, name):
        return self.drawings[name].draw(FIGURES[name])

    def figure(self, name):
        return self.drawings[name].figure(FIGURES[name])


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    made = [scaling(how, noise=0.02) for how in ("strong", "weak")]
    return Study(tmp_path_factory.mktemp("scaling"), *made)


@pytest.mark.parametrize("name", FIGURES)
@pytest.mark.filterwarnings("error")
def test_same_bytes_at_column_width(study, name):
    first = [path.read_bytes() for path in study.draw(name)[0]]
    assert f'width="{style.DOUBLE * 72:g}pt"'.encode() in first[0]
    assert first == [path.read_bytes() for path in study.draw(name)[0]]


@pytest.mark.parametrize("how", ["strong", "weak"])
def test_speed_up_and_efficiency_pair_seeds(study, how):
    rows = study.shown[how]
    measured = rows[rows["kind"] == "measured"].set_index(["series", "replicas"])
    assert len(measured) == 2 * len(COUNTS)
    for backend in MODELS:
        single = of_cell(study.made[how], backend, 1)
        for replicas in COUNTS:
            cell = of_cell(study.made[how], backend, replicas)
            ratios = [speed(b) / speed(a) for a, b in zip(single, cell, strict=True)]
            row = measured.loc[(LABELS[backend], replicas)]
            assert row["speed_up"] == pytest.approx(np.median(ratios))
            expected = min(ratios), max(ratios)
            assert (row["speed_up_low"], row["speed_up_high"]) == pytest.approx(expected)
            assert row["efficiency"] == pytest.approx(np.median(ratios) / replicas)
            batch = GLOBAL if how == "strong" else EACH * replicas
            steps = [batch / speed(one) for one in cell]
            assert row["step_seconds"] == pytest.approx(np.median(steps))
            assert (row["n"], row["pairs"], row["ideal"]) == (3, 3, 1)


def test_no_mark_is_cut_at_the_top(tmp_path):
    """Of steps that take about as long, the margin is little of an axis that begins at 0."""
    of = {"counts": (1, 2), "backends": ["torch-xla"]}
    strong, weak = (scaling(how, 1, **of) for how in ("strong", "weak"))
    strong[1]["window"] = strong[0]["window"]
    study = Study(tmp_path, strong, weak)
    milliseconds = 1e3 * study.shown["strong"]["step_seconds"]
    assert milliseconds.max() < 1.2 * milliseconds.min()
    assert milliseconds.max() < 0.96 * study.figure("strong").axes[0].get_ylim()[1]


def test_the_curve_is_the_models(study):
    rows = study.shown["weak"]
    curve = rows[(rows["kind"] == "model") & (rows["backend"] == "torch-xla")]
    assert curve["replicas"].tolist() == list(range(1, 9))
    known = [MODELS["torch-xla"].seconds(n, EACH) for n in range(1, 9)]
    assert curve["step_seconds"].to_numpy() == pytest.approx(known, rel=0.1)
    assert curve["words"].str.contains("leave-one-out error").all()


@pytest.mark.parametrize("how", ["strong", "weak"])
def test_every_figure_says_that_cores_are_shared(study, how):
    text = texts_of(study.figure(how))
    assert "Replicas here are virtual" in text
    assert f"{how.capitalize()} scaling" in text


def test_cells_without_speed_stand_in_words(tmp_path):
    made = scaling("strong", 2, counts=(1, 2, 4))
    gone = [
        make_record(
            "torch-xla",
            seed=seed,
            replicas=8,
            global_batch=GLOBAL,
            workload="fashion-cnn",
            status="out_of_memory",
        )
        for seed in range(2)
    ]
    lonely = [one for one in scaling("weak", 1) if one["spec"]["replicas"] > 1]
    study = Study(tmp_path, [*made, *gone], lonely)
    rows = study.shown["strong"]
    row = rows[(rows["kind"] == "measured") & (rows["replicas"] == 8)].iloc[0]
    assert (row["words"], row["n"]) == ("out of memory (both runs)", 0)
    assert "8 replica(s): out of memory (both runs)." in texts_of(study.figure("strong"))
    rows = study.shown["weak"]
    measured = rows[rows["kind"] == "measured"]
    assert measured["speed_up"].isna().all()
    assert measured["step_seconds"].notna().all()
    assert set(measured["words"]) == {"no run of one replica with its seed"}


def test_too_few_cells_and_synthetic_data_are_said(tmp_path):
    options = {"counts": (1,), "source": "synthetic", "edition": "made"}
    study = Study(tmp_path, *(scaling(how, 1, **options) for how in ("strong", "weak")))
    figure, rows = study.figure("model"), study.shown["model"]
    assert "too few cells to leave one out" in texts_of(figure)
    assert banners(figure)
    assert rows.loc[rows["panel"] == "steps", "predicted"].isna().all()


def test_each_step_is_drawn_against_its_prediction(study):
    rows = study.shown["model"].query("panel == 'steps'")
    *charts, steps = study.figure("model").axes
    assert len(charts) == len(MODELS)
    drawn = [point for dots in steps.collections for point in dots.get_offsets()]
    expected = 1e3 * rows[["measured", "predicted"]].dropna().to_numpy()
    assert np.array(sorted(map(tuple, drawn))) == pytest.approx(
        np.array(sorted(map(tuple, expected)))
    )


def test_predictions_are_called_so(study):
    figure, rows = study.figure("beyond"), study.shown["beyond"]
    assert "PREDICTED, nothing here was measured" in texts_of(figure)
    machines = [one["label"] for one in CONFIG["scaling"]["machines"]]
    assert set(rows["machine"]) == set(machines)
    assert [axes.get_title(loc="left") for axes in figure.axes[: len(machines)]] == machines
    assert len(figure.axes) == 2 * len(machines)
    assert rows.loc[rows["scaling"] == "strong", "replicas"].max() == GLOBAL
    assert rows.loc[rows["scaling"] == "weak", "replicas"].max() == CONFIG["scaling"]["most"]
    assert (rows.loc[rows["replicas"] == 1, "efficiency"] == 1).all()
    assert rows["efficiency"].between(0, 1 + 1e-9).all()
    assert list(rows) == beyond.COLUMNS  # those of a file without a model, too


@pytest.mark.parametrize(
    ("left", "why"),
    [(None, "no all-reduce was measured"), ([], "No scaling run on one machine has a speed")],
)
def test_without_a_model_the_figure_says_why(study, tmp_path, left, why):
    """It stops neither the other figures nor the page, where its twin is empty."""
    files = study.drawings["beyond"].files
    content = json.loads(files["models"][0].read_text())
    for one in content["models"]:
        one.update(model=None, errors=None, reason=why)
    content["models"] = content["models"] if left is None else left
    (tmp_path / "models.json").write_text(json.dumps(content))
    drawing = Drawing(tmp_path, SETTINGS, **{**files, "models": [tmp_path / "models.json"]})
    words = texts_of(drawing.figure("beyond"))
    assert "no model to predict from" in words
    assert why in words
    _, points = drawing.draw("beyond")
    assert points.empty
    assert beyond.twin(points).rows.empty


def test_missing_machines_name_the_option(study, tmp_path, capsys):
    with pytest.raises(SystemExit):
        Drawing(tmp_path, **study.drawings["beyond"].files).draw("beyond")
    assert "--settings: machines" in capsys.readouterr().err


def test_the_program_prints_what_could_not_be_had():
    gone = {"status": "unavailable", "reason": "no gpu"}
    assert measure_all_reduces.summary(gone) == "unavailable: no gpu"
