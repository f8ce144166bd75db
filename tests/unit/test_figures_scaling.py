"""Scaling figures: what they show is what records and model say, in words if need be."""

import json

import numpy as np
import pandas as pd
import pytest
from make_records import LABELS, PALETTE, make_record
from make_scaling import COUNTS, EACH, GLOBAL, MODELS, scaling
from make_tables import calibrated
from matplotlib.colors import to_rgb
from matplotlib.image import imread
from workspace import CONFIG

import measure_all_reduces
import plot_scaling
import plot_scaling_beyond
import plot_scaling_model
from paragone.reporting.drawing import style

SUFFIXES = ("svg", "pdf", "png")
ABOUT = [
    *("--palette", *(f"{name}={color}" for name, color in PALETTE.items())),
    *("--labels", *(f"{name}={label}" for name, label in LABELS.items())),
    *("--title", "A title"),
]


class Study:
    """The chain from records and all-reduces to figures, in a folder of its own."""

    def __init__(self, folder, strong, weak):
        self.folder, self.made, self.drawn = folder, {"strong": strong, "weak": weak}, {}
        self.files = calibrated(folder, strong, weak)
        self.runs = ["--runs", *self.files["runs"]]

    @staticmethod
    def call(program, *arguments):
        program.main([str(argument) for argument in arguments])

    def draw(self, program, name, *arguments):
        if name not in self.drawn:
            outputs = [self.folder / f"{name}.{suffix}" for suffix in SUFFIXES]
            sidecar = self.folder / f"{name}.csv"
            self.call(program, *arguments, *ABOUT, "--output", *outputs, "--sidecar", sidecar)
            self.drawn[name] = outputs, pd.read_csv(sidecar)
        return self.drawn[name]

    def scaling(self, how):
        runs = ["--runs", self.folder / f"{how}.parquet", "--models", self.folder / "models.json"]
        return self.draw(plot_scaling, f"{how}_figure", *runs)

    def model(self):
        files = ["--steps", *self.files["steps"], "--all-reduce-fit", *self.files["all-reduce-fit"]]
        return self.draw(plot_scaling_model, "model_figure", *self.runs, *files)

    def beyond(self, most=2048):
        machines = json.dumps(CONFIG["scaling"]["machines"])
        given = ["--models", self.folder / "models.json", "--machines", machines, "--most", most]
        return self.draw(plot_scaling_beyond, "beyond_figure", *self.runs, *given)


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    made = [scaling(how, noise=0.02) for how in ("strong", "weak")]
    return Study(tmp_path_factory.mktemp("scaling"), *made)


def speed(record):
    return record["steady"]["examples_per_second"]


def of_cell(made, backend, replicas):
    return [
        one
        for one in made
        if (one["spec"]["backend"]["name"], one["spec"]["replicas"]) == (backend, replicas)
    ]


@pytest.mark.parametrize("figure", ["strong", "weak", "model", "beyond"])
@pytest.mark.filterwarnings("error")
def test_same_bytes_at_column_width(study, figure):
    draw = {
        "strong": lambda: study.scaling("strong"),
        "weak": lambda: study.scaling("weak"),
        "model": study.model,
        "beyond": study.beyond,
    }[figure]
    first = [path.read_bytes() for path in draw()[0]]
    assert f'width="{style.DOUBLE * 72:g}pt"'.encode() in first[0]
    study.drawn.clear()
    assert first == [path.read_bytes() for path in draw()[0]]


@pytest.mark.parametrize("how", ["strong", "weak"])
def test_speed_up_and_efficiency_pair_seeds(study, how):
    _, rows = study.scaling(how)
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


def test_the_curve_is_the_models(study):
    _, rows = study.scaling("weak")
    curve = rows[(rows["kind"] == "model") & (rows["backend"] == "torch-xla")]
    assert curve["replicas"].tolist() == list(range(1, 9))
    known = [MODELS["torch-xla"].seconds(n, EACH) for n in range(1, 9)]
    assert curve["step_seconds"].to_numpy() == pytest.approx(known, rel=0.1)
    assert curve["words"].str.contains("on cells left out").all()


@pytest.mark.parametrize("how", ["strong", "weak"])
def test_every_figure_says_that_cores_are_shared(study, how):
    (svg, *_), _ = study.scaling(how)
    told = " ".join(svg.read_text().split())
    assert "Replicas here are virtual" in told
    assert f"{how.capitalize()} scaling" in told


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
    (svg, *_), rows = study.scaling("strong")
    row = rows[(rows["kind"] == "measured") & (rows["replicas"] == 8)].iloc[0]
    assert (row["words"], row["n"]) == ("out of memory (all 2 runs)", 0)
    assert "8 replica(s): out of memory (all 2 runs)." in svg.read_text().replace("\n", " ")
    _, rows = study.scaling("weak")
    measured = rows[rows["kind"] == "measured"]
    assert measured["speed_up"].isna().all()
    assert measured["step_seconds"].notna().all()
    assert set(measured["words"]) == {"no run of one replica with its seed"}


def test_too_few_cells_and_synthetic_data_are_said(tmp_path):
    options = {"counts": (1,), "source": "synthetic", "edition": "made"}
    study = Study(tmp_path, *(scaling(how, 1, **options) for how in ("strong", "weak")))
    (svg, _, png), rows = study.model()
    assert "too few cells to leave one out" in svg.read_text()
    assert np.allclose(imread(png)[3, ::10, :3], to_rgb(style.ALARM), atol=0.02)
    assert rows.loc[rows["panel"] == "steps", "predicted"].isna().all()


def test_predictions_are_called_so(study):
    (svg, *_), rows = study.beyond()
    assert "PREDICTED, nothing here was measured" in svg.read_text().replace("\n", " ")
    assert set(rows["machine"]) == {one["label"] for one in CONFIG["scaling"]["machines"]}
    assert rows.loc[rows["scaling"] == "strong", "replicas"].max() == GLOBAL
    assert rows.loc[rows["scaling"] == "weak", "replicas"].max() == 2048
    assert (rows.loc[rows["replicas"] == 1, "efficiency"] == 1).all()
    assert rows["efficiency"].between(0, 1 + 1e-9).all()


def test_no_model_names_the_reason(study, tmp_path, capsys):
    (tmp_path / "models.json").write_text('{"models": []}')
    lines = [*study.runs, "--models", tmp_path / "models.json", "--machines", "[]", "--most", 8]
    with pytest.raises(SystemExit):
        study.draw(plot_scaling_beyond, "none", *lines)
    assert "no model to predict from" in capsys.readouterr().err


def test_the_program_prints_what_could_not_be_had():
    gone = {"status": "unavailable", "reason": "no gpu"}
    assert measure_all_reduces.summary(gone) == "unavailable: no gpu"
