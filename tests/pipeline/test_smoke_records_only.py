"""A folder of records alone draws every figure and table: no data, nothing measured again."""

import shutil

import pytest
import yaml
from plan import SMOKE, measured
from plan import smoke as plan_of_smoke
from workspace import Checkout

PLAN = plan_of_smoke()
# What a machine has measured, and what runs read, which must not be newer than a record.
RECORDS = (
    "data/*/manifest.json",
    "parity/*/*.npz",
    "runs/*/*.json",
    "runs/*/*.npz",
    "contests/*/record.json",
    "matmul/*.json",
)
# What is made before all is measured.
EARLY = {name: PLAN.jobs()[name] for name in ("first_answer", "page_so_far")}
LINE = ("all", "--cores", "2", "--configfile", "presets/smoke.yaml", "part.yaml")
ALONE = ("--config", "records_only=True")
DRAWN = "tpu_fashion_conv"
TITLE = PLAN.sections[DRAWN].title


@pytest.fixture(scope="module")
def bundle(smoke, results, tmp_path_factory) -> Checkout:
    """Another checkout with the records of the smoke run and nothing else of it."""
    made = Checkout(tmp_path_factory.mktemp("bundle"))
    (made / "part.yaml").write_text(yaml.safe_dump(SMOKE))
    for pattern in RECORDS:
        paths = list(results.glob(pattern))
        assert paths, pattern
        for path in paths:
            target = made / "results" / str(path.relative_to(results))
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target)
    return made


def test_nothing_is_measured_fetched_or_serialized_again(bundle):
    left_out = measured(PLAN.jobs()) | EARLY
    reading = {name: count for name, count in PLAN.jobs().items() if name not in left_out}
    assert bundle.jobs(*LINE, *ALONE) == reading
    assert bundle.jobs(*LINE) == reading | EARLY
    jobs = bundle.jobs("figures", *LINE[1:])
    assert jobs.keys() - {"figures"} <= reading.keys()


def test_one_table_is_made_of_what_it_reads(bundle, results):
    """Of a machine that has multiplied no matrices and drawn nothing."""
    (bundle / "results/matmul").rename(bundle / "matmul")
    target = f"results/tables/{DRAWN}/comparison.md"
    try:
        made = bundle.jobs(target, *LINE[1:], *ALONE)
        assert made == {"check_parity": 1, "collect_runs": 1, f"draw_{DRAWN}": 1}
        text = bundle.snakemake(target, *LINE[1:], *ALONE)
    finally:
        (bundle / "matmul").rename(bundle / "results/matmul")
    assert (bundle / target).read_bytes() == (results.parent / target).read_bytes()
    assert len([line for line in text.splitlines() if line.startswith(TITLE)]) == 1


def test_figures_and_tables_are_to_the_byte_what_the_measuring_machine_drew(bundle, results):
    """In an environment without any framework: tests/pipeline/test_fresh.py."""
    kinds = ("figures", "tables")
    files = [path for kind in kinds for path in PLAN.files(kind, section=DRAWN)]
    targets = [path.replace("<results>", "results") for path in files]
    bundle.snakemake(*targets, *LINE[1:], *ALONE, PARAGONE_MIRRORS="")
    assert not (bundle / "data").exists()
    for kind in kinds:
        paths = [path for path in results.glob(f"{kind}/{DRAWN}/*.*") if path.suffix != ".parquet"]
        assert len(paths) > 3 * len(getattr(PLAN.sections[DRAWN], kind))
        for path in paths:
            copy = bundle / "results" / str(path.relative_to(results))
            assert copy.read_bytes() == path.read_bytes(), path
