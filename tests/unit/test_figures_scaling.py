"""Scaling figures and tables: what they show is what records and model say, in words if need be."""

import json

import numpy as np
import pandas as pd
import pytest
from make_records import LABELS, PALETTE, make_record, write_parity
from make_scaling import COUNTS, EACH, GLOBAL, MODELS, all_reduce_result, scaling
from matplotlib.colors import to_rgb
from matplotlib.image import imread
from workspace import CONFIG, ROOT

import allreduce
import compare_scaling
import fit_scaling
import plot_scaling
import plot_scaling_beyond
import plot_scaling_model
import tabulate_allreduce
import tabulate_scaling
from paragone.analysis import tidy
from paragone.records import parity_reports
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
        parity = parity_reports.read_parity(
            [write_parity(folder, "fashion-cnn", dict.fromkeys(MODELS, True))]
        )
        for how, made in self.made.items():
            runs, _ = tidy.tables(made, f"{how}_scaling", parity)
            tidy.write(runs, folder / f"{how}.parquet")
        results = []
        for backend in MODELS:
            results.append(folder / f"{backend}.json")
            results[-1].write_text(json.dumps(all_reduce_result(backend, noise=0.05)))
        parquet = folder / "allreduce.parquet"
        self.call(tabulate_allreduce, "--results", *results, "--output", parquet)
        self.runs = ["--runs", folder / "strong.parquet", folder / "weak.parquet"]
        self.call(
            fit_scaling,
            *(*self.runs, "--allreduce", parquet, *ABOUT[len(PALETTE) + 1 :]),
            *("--models", folder / "models.json", "--cases", folder / "cases.csv"),
            *self.texts("steps"),
        )

    @staticmethod
    def call(program, *arguments):
        program.main([str(argument) for argument in arguments])

    def texts(self, name):
        """Options of the three formats of a table."""
        endings = {"csv": "csv", "markdown": "md", "latex": "tex"}
        return [f"--{key}={self.folder / name}.{end}" for key, end in endings.items()]

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
        files = ["--steps", self.folder / "steps.csv", "--cases", self.folder / "cases.csv"]
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
    study.call(
        tabulate_scaling,
        *("--runs", study.folder / f"{how}.parquet", *ABOUT[len(PALETTE) + 1 :]),
        *study.texts(f"{how}_table"),
    )
    text = (study.folder / f"{how}_table.md").read_text()
    assert "share the cores of one machine" in text
    assert text.count("| shared cores |") == 2 * len(COUNTS)
    assert r"\begin{tabularx}" in (study.folder / f"{how}_table.tex").read_text()


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


def test_a_record_that_cannot_be_read_stands_in_words(study, tmp_path):
    """Of such a run only what its name says is known."""
    runs = tidy.read(study.folder / "weak.parquet")
    known = ["run", "experiment", "workload", "backend", "replicas", "global_batch", "seed"]
    broken = (runs["backend"] == "torch-xla") & (runs["replicas"] == 4)
    runs.loc[broken, [name for name in runs if name not in known]] = pd.NA
    runs.loc[broken, "status"] = "unreadable"
    tidy.write(runs, tmp_path / "runs.parquet")
    found = tabulate_scaling.table_of(tabulate_scaling.points_of(runs, LABELS))
    row = found[(found["backend"] == "torch-xla") & (found["replicas"] == 4)].iloc[0]
    assert (row["per_replica_batch"], row["n"], row["ideal"]) == (EACH, 0, 1)
    assert row["words"]
    assert found["speed_up"].notna().sum() == 7


def test_too_few_cells_and_synthetic_data_are_said(tmp_path):
    options = {"counts": (1,), "source": "synthetic", "edition": "made"}
    study = Study(tmp_path, *(scaling(how, 1, **options) for how in ("strong", "weak")))
    (svg, _, png), rows = study.model()
    assert "too few cells to leave one out" in svg.read_text()
    assert np.allclose(imread(png)[3, ::10, :3], to_rgb(style.ALARM), atol=0.02)
    assert rows.loc[rows["panel"] == "steps", "predicted"].isna().all()
    assert "SYNTHETIC DATA" in (tmp_path / "steps.md").read_text()


def test_predictions_are_called_so(study):
    (svg, *_), rows = study.beyond()
    assert "PREDICTED, nothing here was measured" in svg.read_text().replace("\n", " ")
    assert set(rows["machine"]) == {one["label"] for one in CONFIG["scaling"]["machines"]}
    assert rows.loc[rows["scaling"] == "strong", "replicas"].max() == GLOBAL
    assert rows.loc[rows["scaling"] == "weak", "replicas"].max() == 2048
    assert (rows.loc[rows["replicas"] == 1, "efficiency"] == 1).all()
    assert rows["efficiency"].between(0, 1 + 1e-9).all()


def test_the_table_of_steps_states_the_error(study):
    steps = pd.read_csv(study.folder / "steps.csv")
    assert len(steps) == 2 * 2 * len(COUNTS)
    assert steps["relative_error"].abs().between(0, 0.2).all()
    text = (study.folder / "steps.md").read_text()
    for words in ("predicted (ms)", "ms a step", "GB/s", "on cells left out"):
        assert words in text


def test_published_speed_ups_are_held_against_the_model(tmp_path):
    files = [f"--{name}={ROOT / 'published' / name}.csv" for name in ("published", "protocols")]
    files += [f"--{name}={ROOT / 'published' / name}.csv" for name in ("ratios", "flaws")]
    study = object.__new__(Study)
    study.folder = tmp_path
    checks = json.dumps(CONFIG["scaling"]["checks"])
    study.call(compare_scaling, "--checks", checks, "--title", "T", *files, *study.texts("c"))
    found = pd.read_csv(tmp_path / "c.csv")
    assert found.groupby("experiment").size().to_dict() == {
        "mirrored_mobilenet": 2,
        "multiworker_mobilenet": 4,
    }
    assert found["predicted"].between(1.5, 2).all()
    text = (tmp_path / "c.md").read_text()
    assert "4.17 = 150 / 36" in text
    assert "does not say whether" in text


def test_no_model_names_the_reason(study, tmp_path, capsys):
    (tmp_path / "models.json").write_text('{"models": []}')
    lines = [*study.runs, "--models", tmp_path / "models.json", "--machines", "[]", "--most", 8]
    with pytest.raises(SystemExit):
        study.draw(plot_scaling_beyond, "none", *lines)
    assert "no model to predict from" in capsys.readouterr().err


def test_the_program_prints_what_could_not_be_had():
    gone = {"status": "unavailable", "reason": "no gpu"}
    assert allreduce.summary(gone) == "unavailable: no gpu"
