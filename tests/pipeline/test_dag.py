"""What Snakemake makes of the plan: the order of the jobs, what another plan reruns, and its one message."""

import re

import pytest
from workspace import Checkout

from paragone.config.expand import expand
from paragone.config.questions import schedule

# In place of the programs that train and compute first steps: here only the order counts.
TOUCH = """
import sys
from pathlib import Path

for option in ("--record", "--predictions", "--output", "--violations", "--runs", "--epochs"):
    if option in sys.argv:
        Path(sys.argv[sys.argv.index(option) + 1]).touch()
if "--place" in sys.argv:
    place, places = (sys.argv[sys.argv.index(name) + 1] for name in ("--place", "--places"))
    print(place, "of", places)
"""
READY = (
    "data/fashion_mnist/manifest.json",
    "parity/fashion-conv.json",
    "tables/device_matmul/peaks.json",
)


def ordered(made: Checkout) -> Checkout:
    """A checkout of two experiments whose runs, if started, do nothing."""
    backends = ["torch-xla", "tensorflow-mirrored", "torch"]
    made.only("tpu_fashion_conv", backends, repeats=2, figures=["clocks"], tables=[])
    block = made.config["experiments"]["tpu_fashion_conv"]
    pair = [{"backend": ["torch", "torch-xla"], "replicas": 1, "global_batch": 100}]
    made.config["experiments"]["fewer"] = {**block, "matrix": pair, "epochs": 1}
    made.configure()
    for program in ("launch", "take_first_steps", "collect"):
        (made / f"scripts/{program}.py").write_text(TOUCH)
    for name in READY:
        (made / "results" / name).parent.mkdir(parents=True, exist_ok=True)
        (made / "results" / name).touch()
    return made


def scheduled(made: Checkout) -> list[str]:
    """The runs that the config asks for, in the order in which they are to be trained."""
    experiments = {name: expand(made.config, name) for name in made.config["experiments"]}
    return schedule(experiments, made.config["seed"])


def records_of(runs: list[str]) -> list[str]:
    return [f"results/runs/{name}/record.json" for name in sorted(runs)]


def call(made: Checkout, *targets: str) -> str:
    """What Snakemake prints while it makes the tidy tables of both experiments."""
    tables = [f"results/tables/{name}/runs.parquet" for name in made.config["experiments"]]
    return made.snakemake(*tables, *targets, "--cores", "2").stdout


@pytest.fixture(scope="module")
def finished(tmp_path_factory) -> tuple[Checkout, str]:
    """All runs were trained and read; and what Snakemake printed."""
    made = ordered(Checkout(tmp_path_factory.mktemp("ordered")))
    return made, call(made)


def test_runs_take_place_in_the_order_of_the_schedule_and_are_read_after_the_last(finished):
    made, output = finished
    runs = scheduled(made)
    assert re.findall(r"Training (\S+)", output) == runs
    places = [f"{place} of {len(runs)}" for place in range(1, len(runs) + 1)]
    assert re.findall(rf"^\d+ of {len(runs)}$", output, re.MULTILINE) == places
    jobs = re.findall(r"Job \d+: (Training|Checking)", output)
    assert jobs == ["Training"] * len(runs) + ["Checking"] * 2


def test_a_watched_call_reads_results_as_soon_as_it_can(checkout):
    """Its page fails here: the tables that were touched are none."""
    jobs = re.findall(r"Job \d+: (Training|Checking)", call(ordered(checkout()), "so_far"))
    assert (jobs.count("Training"), jobs.count("Checking")) == (10, 2)
    assert "Training" in jobs[jobs.index("Checking") :]


def test_another_place_in_the_order_is_no_reason_to_train_again(finished):
    """Nor are more repeats, of which only the new ones are trained."""
    made, _ = finished
    before = scheduled(made)
    del made.config["experiments"]["fewer"]
    made.configure()
    left = scheduled(made)
    assert left[0] != before[0]
    assert made.jobs(*records_of(left), "--cores", "2") == {}
    made.config["experiments"]["tpu_fashion_conv"]["repeats"] += 1
    made.configure()
    more = scheduled(made)
    jobs = made.jobs(*records_of(more), "--cores", "2")
    assert jobs == {"first_steps": 1, "train": len(more) - len(left)}


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("seed: 0 ", "sede: 0 ", ["config: config:", "'sede'", "seed"]),
        ("backends:\n", "backends: [\n", ["config.yaml", "line"]),
    ],
    ids=["key", "syntax"],
)
def test_mistake_in_the_config_is_one_message(checkout, old, new, words):
    """Which mistakes there are: tests/unit/test_config.py."""
    made = checkout()
    with made.edited("config.yaml", lambda text: text.replace(old, new, 1)):
        done = made.dry_run("all", "--cores", "2")
    assert done.returncode == 1, done.stdout
    assert "Traceback" not in done.stdout
    assert done.stdout.count("WorkflowError in ") == 1, done.stdout
    for word in words:
        assert word in done.stdout
    assert not (made / "results").exists()
