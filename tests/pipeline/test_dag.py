"""What Snakemake makes of a plan beside the usual order of jobs (test_smoke.py), and its one message."""

import re

from workspace import Checkout

from paragone.config.expand import expand
from paragone.config.questions import schedule

# In place of the programs that train and check: here only the order counts.
TOUCH = """
import sys
from pathlib import Path

for option in ("--record", "--predictions", "--output", "--outputs", "--violations", "--runs", "--epochs"):
    if option in sys.argv:
        Path(sys.argv[sys.argv.index(option) + 1]).touch()
"""
READY = (
    "data/fashion_mnist/manifest.json",
    "parity/fashion-conv.json",
    "tables/device_matmul/matmul.parquet",
)


def test_runs_follow_the_schedule_and_those_of_the_primary_question_are_read_at_once(checkout):
    """Two experiments whose runs do nothing; the primary one is the second."""
    made: Checkout = checkout()
    made.only("tpu_fashion_conv", ["torch-xla", "torch"], repeats=2, figures=["clocks"], tables=[])
    block = made.config["experiments"]["tpu_fashion_conv"]
    pair = [{"backend": ["torch"], "replicas": 1, "global_batch": 100}]
    fewer = {**block, "matrix": pair, "epochs": 1}
    made.config["experiments"] = {"fewer": fewer, **made.config["experiments"]}
    made.config["primary"]["experiment"] = "tpu_fashion_conv"
    made.configure()
    for program in ("launch", "probe", "collect"):
        (made / f"scripts/{program}.py").write_text(TOUCH)
    for name in READY:
        (made / "results" / name).parent.mkdir(parents=True, exist_ok=True)
        (made / "results" / name).touch()
    tables = [f"results/tables/{name}/runs.parquet" for name in made.config["experiments"]]
    output = made.snakemake(*tables, "--cores", "2").stdout
    experiments = {name: expand(made.config, name) for name in ("tpu_fashion_conv", "fewer")}
    first, last = schedule(experiments, made.config["seed"]).values()
    assert re.findall(r"Training (\S+)", output) == [*first, *last]
    jobs = re.findall(r"Job \d+: (Training|Checking)", output)
    assert jobs == ["Training"] * 4 + ["Checking"] + ["Training"] * 2 + ["Checking"]


def test_mistake_in_the_config_is_one_message(checkout):
    """Which mistakes there are: tests/unit/test_config.py."""
    made = checkout()
    for old, new, words in (
        ("seed: 0 ", "sede: 0 ", ["config: config:", "'sede'", "seed"]),
        ("backends:\n", "backends: [\n", ["config.yaml", "line"]),
    ):
        with made.edited("config.yaml", lambda text: text.replace(old, new, 1)):  # noqa: B023
            done = made.dry_run("all", "--cores", "2")
        assert done.returncode == 1, done.stdout
        assert "Traceback" not in done.stdout
        assert done.stdout.count("WorkflowError in ") == 1, done.stdout
        assert [word for word in words if word not in done.stdout] == []
        assert not (made / "results").exists()
