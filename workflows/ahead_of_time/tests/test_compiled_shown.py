"""Figures and tables of compiled steps, from made records, by the program that the rules call."""

import json
from pathlib import Path

import matplotlib.pyplot as plt
import msgspec
import pandas as pd
import pytest
from made_compilations import measured, over, refused
from workspace import FOLDERS

import show
from paragone.base.typed_json import write

SYSTEM = ["xla_fashion_cnn", "8 TPU cores (Colab), PyTorch/XLA", "8 made devices"]
SUFFIXES = {"figures": ("svg", "pdf", "png", "csv"), "tables": ("csv", "md", "json")}
EXHIBITS = [(kind, name) for kind in SUFFIXES for name in getattr(show, kind.upper())]


def shown(folder: Path, kind: str, name: str, made: list) -> list[Path]:
    """The files of a figure or table of these records."""
    paths = [folder / f"{number}.json" for number, _ in enumerate(made)]
    for path, record in zip(paths, made, strict=True):
        write(record, path)
    write(measured(), folder / "measured.json")
    files = [folder / f"{name}.{suffix}" for suffix in SUFFIXES[kind]]
    about = {"title": "A title", "systems": [SYSTEM], "labels": {"jax": "JAX"}, "palette": {}}
    options = [kind, name, "--about", json.dumps(about), "--records", *map(str, paths)]
    options += ["--measured", str(folder / "measured.json"), "--papers"]
    options += [str(FOLDERS[SYSTEM[0]])]
    show.main([*options, "--files", *map(str, files)])
    plt.close("all")
    return files


def all_records() -> list:
    strong = [over(devices, 1024) for devices in (1, 2, 8, 64)]
    weak = [over(devices, 128 * devices) for devices in (1, 2, 64)]
    other = msgspec.structs.replace(refused("refused", "no such TPU"), step=over(1, 7).step)
    return [*strong, *weak, other]


@pytest.mark.parametrize(("kind", "name"), EXHIBITS)
@pytest.mark.filterwarnings("error")
def test_each_is_the_same_bytes_again_and_says_that_nothing_ran(tmp_path, kind, name):
    files = shown(tmp_path, kind, name, all_records())
    first = [path.read_bytes() for path in files]
    assert first == [path.read_bytes() for path in shown(tmp_path, kind, name, all_records())]
    # Each text of an SVG file is a comment in it.
    assert "NOT RUN" in files[kind == "tables"].read_text()


def test_the_figure_of_bounds_has_published_times_and_what_was_not_compiled(tmp_path):
    *_, csv = shown(tmp_path, "figures", "published_bounds", all_records())
    rows = pd.read_csv(csv)
    published = rows[rows["part"] == "published"]
    assert published["seconds"].tolist() == [pytest.approx(269 / 2900)]
    assert published["place"].tolist() == ["fashion-cnn, batch 1,024: 8 made devices"]
    assert rows.loc[rows["status"] == "refused", "seconds"].isna().all()


def test_tables_have_verdicts_and_refusals(tmp_path):
    csv, markdown, *_ = shown(tmp_path, "tables", "compiled", all_records())
    assert pd.read_csv(csv)["status"].iloc[-1] == "refused"
    assert "refused by the compiler: no such TPU" in markdown.read_text()
    csv, *_ = shown(tmp_path, "tables", "published_bounds", all_records())
    assert pd.read_csv(csv)["verdict"].tolist() == ["lower bound, compiled, not run"]


def test_without_several_numbers_of_devices_there_is_one_message(tmp_path, capsys):
    with pytest.raises(SystemExit):
        shown(tmp_path, "figures", "compiled_scaling", [over(1, 1024), over(8, 1024)])
    assert "--records: no workload was compiled for several numbers" in capsys.readouterr().err
