"""`make all FRAMEWORKS=...` from a clean checkout: installs, trains and answers with that framework alone."""

import json

import pytest
from workspace import CONFIG, Checkout, call, succeed

from paragone.config.environments import FRAMEWORKS, framework_of
from paragone.records import record

pytestmark = pytest.mark.alone
# By framework: the package that only its environment has.
PACKAGES = {"torch-xla": "torch-xla", "jax": "jax"}


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_one_framework_is_enough(tmp_path, framework):
    checkout = Checkout(tmp_path / "checkout")
    line = ["make", "--directory", str(checkout.folder), "all", f"FRAMEWORKS={framework}"]
    done = call([*line, "CONFIG=presets/smoke.yaml", "CORES=2"], timeout=1800)
    assert done.returncode == 0, done.stdout + done.stderr
    assert ", as `frameworks` has it" in done.stderr
    python = checkout.folder / f".venv-{framework}/bin/python"
    listed = succeed([python.with_name("uv"), "pip", "list", "--format=json", f"--python={python}"])
    installed = {package["name"] for package in json.loads(listed)}
    assert {name for name, package in PACKAGES.items() if package in installed} <= {framework}
    records = [record.read(path) for path in checkout.folder.glob("results/runs/*/record.json")]
    assert "completed" in {made.status for made in records}
    trained = [CONFIG["backends"][made.spec.backend.name] for made in records]
    assert {framework_of(backend["environment"]) for backend in trained} == {framework}
    answers = (checkout.folder / "results/answers.json").read_text()
    assert f"not of {framework}, as `frameworks` has it" in answers
