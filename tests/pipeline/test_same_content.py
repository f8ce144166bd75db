"""What counts as changed is content: the same bytes rerun nothing, whatever their place and time."""

import os
import random
import shutil
import sys
import time
from pathlib import Path

import pytest
import yaml
from workspace import BRIEF, ROOT, Checkout, edited, jobs, snakemake, succeed, write_files

pytestmark = pytest.mark.full

# By file, how often fetch, serialize, train and the drawing of the paper then run again. There are 12 runs
# of the question, 6 of the paper and 2 of pictures, which has the model of the question.
EDITS = {
    "shapes.npz": (1, 1, 12, 0),
    "pictures/b/3.ppm": (1, 1, 2, 0),
    "my_paper/shapes.npz": (1, 1, 6, 1),
    "my_paper/numbers.csv": (0, 0, 0, 1),
    "own/models/jax.py": (0, 0, 14, 0),
    "results/data/pictures/manifest.json": (0, 0, 2, 0),
}
OWN, DAY = "work/my_question", 86_400


def line(base: Path, *targets: str) -> list[str]:
    """A call with the checkout in a folder."""
    options = ["-s", str(base / "checkout/Snakefile"), "--cores", "1", "--configfile"]
    return [*targets, *options, "my_question.yaml", "more.yaml"]


@pytest.fixture(scope="module")
def finished(tmp_path_factory) -> Path:
    """A folder where all seems to be trained and drawn: most results are empty, but recorded as made."""
    base = tmp_path_factory.mktemp("content")
    Checkout(base / "checkout")
    folder = base / OWN
    for place, *options in ((folder,), (folder / "my_paper", "--paper")):
        succeed([sys.executable, str(ROOT / "scripts/new.py"), *options, str(place)])
        succeed([sys.executable, "make_data.py"], cwd=place)
    pictures = [f"pictures/{name}/{number}.ppm" for name in "ab" for number in range(8)]
    write_files(folder, {name: f"P3 1 1 255 {name[11]} 0 0" for name in pictures})
    more = yaml.safe_load((folder / "my_question.yaml").read_text()) | BRIEF
    workload, experiment = (more[key].popitem()[1] for key in ("workloads", "experiments"))
    more |= {"papers": ["my_paper"], "only": ["my_question", "my_paper", "pictures"]}
    more["datasets"] = {"pictures": {"form": "folder", "path": "pictures", "size": 16}}
    more["datasets"]["pictures"]["held_out"] = 0.5
    more["workloads"]["pictures"] = workload | {"dataset": "pictures"}
    more["experiments"]["pictures"] = experiment | {"workload": "pictures", "repeats": 1}
    (folder / "more.yaml").write_text(yaml.safe_dump(more))
    sets = ("shapes", "my_paper_shapes", "pictures")
    fetched = [f"results/data/{name}/source.json" for name in sets]
    snakemake(line(base, *fetched), folder)
    rows = snakemake(line(base, "all", "--summary"), folder).splitlines()
    names = [row.split("\t")[0] for row in rows if row.startswith("results/")]
    write_files(folder, {name: "" for name in names if name not in fetched})
    snakemake(line(base, "all", "--forceall", "--touch"), folder)
    return base


@pytest.mark.parametrize("is_clone", [False, True])
def test_the_same_bytes_rerun_nothing(finished, tmp_path, is_clone):
    """A copy at another depth, its data elsewhere, with times of ten years back to tomorrow, as of a clock
    that was set back. A clone lacks what Snakemake has recorded beside the results. A job may read all."""
    base, draw = tmp_path / "another/disk", random.Random(0)
    shutil.copytree(finished, base, copy_function=shutil.copyfile)
    folder = base / OWN
    (folder / "shapes.npz").rename(folder.parent / "shapes.npz")
    config = folder / "my_question.yaml"
    config.write_text(config.read_text().replace("path: shapes", "path: ../shapes"))
    for path in base.rglob("*"):
        os.utime(path, (time.time() + DAY * draw.uniform(-3650, 1),) * 2)
    os.utime(folder / "results/data/shapes/source.json", (time.time() + DAY,) * 2)
    if is_clone:
        shutil.rmtree(folder / ".snakemake")
    assert jobs(line(base, "all"), folder, TZ="Asia/Tokyo") == {}
    (folder.parent / "shapes.npz").rename(folder / "shapes.npz")
    (folder / "results/data/shapes/manifest.json").unlink()
    snakemake(line(base, "results/data/shapes/manifest.json"), folder)


@pytest.mark.parametrize("name", EDITS)
def test_other_bytes_rerun_what_depends_on_them(finished, name):
    with edited(finished / OWN / name, lambda text: f"{text}\n"):
        made = jobs(line(finished, "all"), finished / OWN)
    rules = ("fetch", "serialize", "train", "draw_my_paper")
    assert tuple(made.get(rule, 0) for rule in rules) == EDITS[name]
