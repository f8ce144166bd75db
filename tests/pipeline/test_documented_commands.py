"""The commands of each document, in their order, in one clean checkout: run, or dry-run."""

import shlex
import subprocess

import pytest
import snakemake_server
from documents import DRY_RUN, PAGES, RUN, blocks, commands, preset_commands
from plan import Plan
from workspace import ROOT, Checkout, environment, job_stats

PAGES_WITH_COMMANDS = [page for page in PAGES if commands(page)]
IN_PRESETS = [one for path in sorted(ROOT.glob("presets/*.yaml")) for one in preset_commands(path)]


def bash(made: Checkout, text: str) -> None:
    """Run a command as a reader would, in the checkout."""
    done = subprocess.run(
        ["bash", "-euc", text],
        cwd=made.folder,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, f"{text}\n{done.stdout}{done.stderr}"


def dry_run(made: Checkout, text: str) -> None:
    """Go as far as a command goes without doing its work."""
    program, *arguments = shlex.split(text)
    if "records_only=True" in arguments:
        pretend_to_have_run(made)
    if program == "snakemake":
        done = made.dry_run(*arguments)
        assert done.returncode == 0, f"{text}\n{done.stdout}"
    elif program == "make":
        bash(made, f"{text} --dry-run")
    else:
        bash(made, f"{text} --help")


def pretend_to_have_run(made: Checkout) -> None:
    """Empty files where docs/results.md lists those that figures from records alone need."""
    plan, results = Plan(), made / "results"
    probes = {(spec.workload["name"], spec.backend["name"]) for spec in plan.runs.values()}
    probes |= {(workload, "reference") for workload in plan.workloads}
    for path in [
        *(f"runs/{run}/{file}" for run in plan.runs for file in ("record.json", "predictions.npz")),
        *(f"parity/{workload}/{backend}.npz" for workload, backend in probes),
        *(f"parity/first_steps/{spec.name}.npz" for spec in plan.references.values()),
        *(f"{kind}/{name}.json" for kind in ("matmul",) for name in made.config["backends"]),
    ]:
        (results / path).parent.mkdir(parents=True, exist_ok=True)
        (results / path).touch()


@pytest.mark.full
@pytest.mark.parametrize(
    "page", PAGES_WITH_COMMANDS, ids=[page.name for page in PAGES_WITH_COMMANDS]
)
def test_commands(checkout, page):
    made = checkout()
    (made / "mine.yaml").write_text("\n".join(blocks(page, "yaml")))
    for command in commands(page):
        if command.treatment == RUN:
            bash(made, command.text)
        elif command.treatment == DRY_RUN:
            dry_run(made, command.text)


@pytest.mark.full
def test_commands_of_presets(checkout):
    made = checkout()
    planned = [command.text for command in IN_PRESETS if command.treatment == DRY_RUN]
    assert len(planned) == len(IN_PRESETS) - 1  # presets/gpu.yaml needs a GPU
    for text in planned:
        dry_run(made, text)


@pytest.mark.full
def test_the_example_of_a_module_would_run(tmp_path):
    (example,) = blocks(ROOT / "docs/extending.md", "python")
    Checkout(tmp_path / "paragone")
    (tmp_path / "Snakefile").write_text(example)
    (tmp_path / "mine.yaml").write_text("data: {source: synthetic}\n")
    line = ["paragone_all", "--cores", "2", "--dry-run", "--quiet", "rules"]
    done = snakemake_server.call(line, tmp_path, environment())
    assert done.returncode == 0, done.stdout
    assert "paragone_train" in job_stats(done.stdout)
