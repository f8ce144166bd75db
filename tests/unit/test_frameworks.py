"""Only what you have: `frameworks`, `make all FRAMEWORKS=...`, frameworks that are absent."""

import copy
from importlib import import_module

import pytest
import yaml
from workspace import CONFIG, ROOT, call, make_spec, train_command

from paragone.base.errors import UserError, needing_packages
from paragone.config.expand import expand, products
from paragone.config.narrow import FRAMEWORKS, framework_of, narrow
from paragone.records import record


def narrowed(*frameworks: str, **changes: object) -> tuple[dict, list[str]]:
    """The default config with some frameworks alone, and what was left out in words."""
    config = copy.deepcopy(CONFIG) | {"frameworks": list(frameworks)} | changes
    return config, narrow(config)


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_only_backends_of_named_frameworks_are_left(framework):
    config, words = narrowed(framework)
    runs = {name: expand(config, name) for name in config["experiments"]}
    trained = {spec.backend.name for specs in runs.values() for spec in specs}
    for name in trained | {*products(config)}:
        assert framework_of(config["backends"][name]["environment"]) == framework
    assert all(runs.values())
    assert config["primary"]["experiment"] in runs
    assert config["baseline"] in trained
    assert f"not of {framework}," in words[0]


def test_what_cannot_be_narrowed_is_an_error():
    with pytest.raises(UserError, match="no experiment has a backend of jax or torch-xla"):
        narrowed("jax", "torch-xla", only=["batch_size_throughput"])
    given = {"one_device": {"runs": ["a@elsewhere"], "contests": []}}
    with pytest.raises(UserError, match="given runs are drawn whole"):
        narrowed("jax", records_only=given)


def test_the_baseline_is_of_the_experiment_that_draws_it_and_an_own_environment_stays():
    experiments = CONFIG["experiments"]
    first = {"first": experiments["multiworker_mobilenet"]} | copy.deepcopy(experiments)
    config, _ = narrowed("tensorflow", experiments=first)
    assert config["baseline"] == "tensorflow-mirrored"
    backends = CONFIG["backends"] | {"torch": CONFIG["backends"]["torch"] | {"environment": "mine"}}
    config, _ = narrowed("jax", backends=backends)
    assert "torch" in {spec.backend.name for spec in expand(config, "one_device")}


def test_make_installs_and_names_the_frameworks():
    def make(*words: str) -> str:
        """What `make` would do, or what it says is wrong."""
        done = call(["make", "--directory", str(ROOT), "--dry-run", "--always-make", *words])
        return done.stderr if done.returncode else done.stdout

    line = make("all", "FRAMEWORKS=jax,torch")
    assert ".venv-jax-torch/bin/uv pip install" in line
    for name in ("base", "jax-tpu", "torch", "tensorflow"):  # TensorFlow Datasets imports the last
        assert f"-r envs/{name}.linux-64.txt" in line
    assert "torch-xla" not in line
    assert yaml.safe_load(line.split("--config frameworks=")[1].split()[0]) == ["jax", "torch"]
    refusal = make("all", "FRAMEWORKS=mxnet")
    assert 'tensorflow, torch, torch-xla or jax, or several, not "mxnet"' in refusal


def test_a_run_without_its_framework_is_unavailable(small, tmp_path):
    """JAX is as if it were not installed. A module that the project itself lacks is another matter."""
    package = tmp_path / "absent/jax/__init__.py"
    package.parent.mkdir(parents=True)
    package.write_text("raise ModuleNotFoundError('No module named jax', name='jax')\n")
    spec = make_spec("fashion-cnn", "jax", epochs=1, steps_per_epoch=2)
    done = call(train_command(spec, small, tmp_path), PYTHONPATH=str(tmp_path / "absent"))
    assert done.returncode == 0, done.stdout + done.stderr
    made = record.read(tmp_path / "record.json")
    assert (made.status, made.reason) == ("unavailable", "jax is not installed here")
    assert "Traceback" not in done.stderr
    with pytest.raises(ModuleNotFoundError), needing_packages():
        import_module("paragone.engines.misspelled")
