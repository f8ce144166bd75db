"""The jobs that the presets ask for, and mistakes in the config through snakemake itself."""

import re

import pytest
from plan import Plan
from workspace import CONFIG, Checkout

from paragone.config.expand import expand
from paragone.config.schedule import schedule

# Cells of each experiment's published matrix x seeds: the one count made by hand. All others in these
# tests are made by tests/plan.py, which must agree with it.
PAPER = {
    "one_device": 15
    * 5
    * (6 + 2)
    * 2,  # at five kinds of work: six ways, two of them tuned as well; two precisions
    "xla_fashion_cnn": 4 * 8,
    "tpu_fashion_conv": 4 * 8,
    "mirrored_mobilenet": 7 * 9,
    "multiworker_mobilenet": 5 * 8,
    "reuters_strategies": 10 * 10,
    "batch_size_throughput": 3 * 12 * 11,
    "batch_size_time_to_accuracy": 3 * 12 * 11,
    "strong_scaling": 2 * 4 * 11,
    "weak_scaling": 2 * 4 * 8,
}
SHARED = 2 * 8  # 8 replicas of 128 are a cell of both scaling experiments


@pytest.mark.full
def test_paper_preset_lists_the_whole_matrix(checkout):
    plan = Plan("paper")
    assert {name: len(runs) for name, runs in plan.experiments.items()} == PAPER
    assert len(plan.runs) == sum(PAPER.values()) - SHARED == 2395
    assert plan.workloads == sorted(CONFIG["workloads"])
    jobs = checkout().jobs("all", "--cores", "2", "--configfile", "presets/paper.yaml")
    assert jobs == plan.jobs()


def test_figures_ask_for_the_same_figures_without_the_tables(checkout):
    jobs = checkout().jobs("figures", "--cores", "2")
    plan = Plan()
    assert {name: jobs[name] for name in plan.drawn()} == plan.drawn()
    assert jobs["collect"] == len(plan.experiments)  # no figure without
    assert not [name for name in jobs if name.startswith("tabulate_")]


# In place of the program that trains: here only the order counts.
TOUCH = """
import sys
from pathlib import Path

def option(name):
    return sys.argv[sys.argv.index(name) + 1]


for name in ("--record", "--predictions"):
    Path(option(name)).touch()
print(option("--place"), "of", option("--places"))
"""
TOUCH_OUTPUT = """
import sys
from pathlib import Path

Path(sys.argv[sys.argv.index("--output") + 1]).touch()
"""
TOUCH_TABLES = """
import sys
from pathlib import Path

for name in ("--violations", "--runs", "--epochs"):
    Path(sys.argv[sys.argv.index(name) + 1]).touch()
"""


@pytest.fixture
def ordered(checkout) -> Checkout:
    """A checkout of two experiments whose runs, if started, do nothing."""
    made = checkout()
    made.only("tpu_fashion_conv", ["torch-xla", "tensorflow-mirrored", "torch"], repeats=3)
    block = made.config["experiments"]["tpu_fashion_conv"]
    pair = [{"backend": ["torch", "torch-xla"], "replicas": 1, "global_batch": 100}]
    made.config["experiments"]["fewer"] = {**block, "matrix": pair, "epochs": 1}
    made.configure()
    (made / "scripts/launch.py").write_text(TOUCH)
    (made / "scripts/take_first_steps.py").write_text(TOUCH_OUTPUT)
    manifest = made / "results/data/fashion_mnist/manifest.json"
    manifest.parent.mkdir(parents=True)
    manifest.touch()
    return made


def scheduled(made: Checkout) -> list[str]:
    experiments = {name: expand(made.config, name) for name in made.config["experiments"]}
    return schedule(experiments, made.config["seed"])


def records_of(runs: list[str]) -> list[str]:
    return sorted(f"results/runs/{name}/record.json" for name in runs)


@pytest.mark.parametrize("scheduler", ["greedy", "ilp"])
def test_runs_take_place_in_the_order_of_the_schedule(ordered, scheduler):
    runs = scheduled(ordered)
    done = ordered.snakemake(*records_of(runs), "--cores", "2", "--scheduler", scheduler)
    assert done.returncode == 0, done.stdout
    assert re.findall(r"Training (\S+)", done.stdout) == runs
    places = [f"{place} of {len(runs)}" for place in range(1, len(runs) + 1)]
    assert re.findall(r"^\d+ of 15$", done.stdout, re.MULTILINE) == places


@pytest.mark.parametrize(
    ("watched", "scheduler"),
    [
        (False, "greedy"),
        pytest.param(False, "ilp", marks=pytest.mark.full),
        pytest.param(True, "greedy", marks=pytest.mark.full),
    ],
)
def test_results_are_read_after_all_runs_or_as_soon_as_they_can_be_if_watched(
    ordered, watched, scheduler
):
    """Here `so_far` fails at the first page: the tables that were touched are none."""
    (ordered / "scripts/collect.py").write_text(TOUCH_TABLES)
    for name in ("parity/fashion-conv.json", "tables/device_matmul/peaks.json"):
        path = ordered / "results" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    tables = [f"results/tables/{name}/runs.parquet" for name in ordered.config["experiments"]]
    line = [*tables, *["so_far"] * watched, "--cores", "2", "--scheduler", scheduler]
    done = ordered.snakemake(*line)
    jobs = re.findall(r"Job \d+: (Training|Checking)", done.stdout)
    assert jobs.count("Training") == len(scheduled(ordered))
    assert jobs.count("Checking") == len(tables)
    first = jobs.index("Checking")
    assert ("Training" in jobs[first:]) == watched


def test_another_place_in_the_order_is_no_reason_to_train_again(ordered):
    runs = scheduled(ordered)
    done = ordered.snakemake(*records_of(runs), "--cores", "2")
    assert done.returncode == 0, done.stdout
    del ordered.config["experiments"]["fewer"]
    ordered.configure()
    left = scheduled(ordered)
    assert left[0] != runs[0]
    assert ordered.jobs(*records_of(left), "--cores", "2") == {}


def test_more_repeats_train_only_the_new_ones(ordered):
    runs = scheduled(ordered)
    done = ordered.snakemake(*records_of(runs), "--cores", "2")
    assert done.returncode == 0, done.stdout
    ordered.config["experiments"]["fewer"]["repeats"] += 2
    ordered.configure()
    more = scheduled(ordered)
    jobs = ordered.jobs(*records_of(more), "--cores", "2")
    assert jobs == {"first_steps": 2, "train": len(more) - len(runs)}


def one_message(done, *words: str) -> None:
    """Status 1 and one error that holds all `words`, no traceback."""
    assert done.returncode == 1, done.stdout
    assert "Traceback" not in done.stdout
    assert done.stdout.count("WorkflowError in ") == 1, done.stdout
    for word in words:
        assert word in done.stdout


@pytest.mark.parametrize(
    ("path", "value", "words"),
    [
        ("experiments.tpu_fashion_conv.repeat", 3, ["experiments.tpu_fashion_conv", "repeats"]),
        ("workloads.fashion-cnn.optimizer.lr", 3, ["workloads.fashion-cnn.optimizer", "'lr'"]),
        ("colour", "red", ["config:", "'colour'", "backends"]),
        ("data.source", "fake", ["data.source", '"synthetic"']),
        ("seed", -1, ["seed", "-1"]),
        ("experiments.tpu_fashion_conv.workload", "mnist", ["'mnist'", "fashion-conv"]),
        ("experiments.tpu_fashion_conv.global_batch", 999, []),
        ("backends.torch.engine", "mxnet", ["backends.torch.engine", "mxnet.py"]),
        (
            "experiments.batch_size_throughput.figures",
            ["batch_size_throughput", "strong"],
        ),
        ("experiments.mirrored_mobilenet.figures", ["pie"], ["mirrored_mobilenet", "'pie'"]),
        ("experiments.mirrored_mobilenet.tables", ["pie"], ["mirrored_mobilenet", "'pie'"]),
    ],
)
def test_mistake_in_the_config_is_one_message(checkout, path, value, words):
    made = checkout()
    *parents, last = path.split(".")
    at = made.config
    for key in parents:
        at = at[key]
    at[last] = value
    if value == 999:
        at["matrix"][0]["replicas"] = 2
        words = ["experiments.tpu_fashion_conv.matrix[0]", "999", "2 replicas"]
    made.configure()
    one_message(made.dry_run("all", "--cores", "2"), *words)
    assert not (made / "results").exists()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (b"# \xe4\n", ["config.yaml", "not UTF-8"]),
        (b"backends: &it\n  torch: *it\n", ["config.yaml", "an alias refers to a node"]),
        (b"backends: [\n", ["config.yaml", "line 2"]),
        (b"- backends\n", ["config.yaml", "mapping"]),
    ],
    ids=["encoding", "recursion", "syntax", "list"],
)
def test_config_that_is_no_yaml_mapping_is_one_message(checkout, text, words):
    made = checkout()
    (made / "config.yaml").write_bytes(text)
    one_message(made.dry_run("all", "--cores", "2"), *words)


BRACES = "{results} in {braces}, {0} and }{"


def test_braces_in_titles_and_labels_are_text(checkout):
    """Snakemake formats categories, messages and shell commands; what people write stays as it is."""
    made = checkout()
    for block in made.config["experiments"].values():
        block["title"] = BRACES
    for key in ("matmul", "accelerator_reference", "scaling"):
        made.config[key]["title"] = BRACES
    made.config["backends"]["torch"]["label"] = BRACES
    made.configure()
    done = made.dry_run("all", "--cores", "2", "--printshellcmds")
    assert done.returncode == 0, done.stdout
