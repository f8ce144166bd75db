"""Versions of packages as variants of a backend: names, labels, what is pooled, and environments."""

import sys

import pytest
from make_records import make_record, typed
from plan import Plan
from test_matrix import config_with
from workspace import config_of, refusing

import make_environment
from paragone.analysis import tidy
from paragone.analysis.compliance import of_run
from paragone.analysis.grouping import series_of
from paragone.base.errors import Unavailable, UserError
from paragone.base.interpreters import Interpreter, python_of
from paragone.base.typed_json import write
from paragone.config.environments import content_of, requirements, variant, variants
from paragone.config.expand import expand, named_backend
from paragone.config.validate import validate

PRIMARY = {"primary": {"experiment": "one", "metric": "speed"}}
OLD, NEW = {"torch": "2.8.0"}, {"torch": "2.9.1"}


def config_of_versions(*versions, backend="torch", **row):
    """A config whose only experiment has a backend in some versions, and its variants among the backends."""
    cell = {"backend": backend, "versions": [*versions], "replicas": 1, **row}
    config = config_of(config_with(cell, epochs=1))
    config.backends |= variants(config)
    return config


def test_each_version_is_a_variant_and_none_is_the_backend_as_it_is():
    config = config_of_versions({}, OLD, NEW)
    own, old, new = expand(config, "one")
    (plain,) = expand(config_of(config_with({"backend": "torch", "replicas": 1}, epochs=1)), "one")
    assert own.sha256 == plain.sha256
    assert [spec.backend.name for spec in (old, new)] == ["torch.torch-2.8.0", "torch.torch-2.9.1"]
    assert [spec.backend.versions for spec in (old, new)] == [OLD, NEW]
    assert len({own.sha256, old.sha256, new.sha256}) == 3
    several = {f"package-{number}": "1.0" for number in range(12)}
    assert len(variant("torch", several)) < 30


def test_a_label_has_the_versions_in_which_variants_differ():
    def labels(*versions, backend="torch"):
        config = config_of_versions(*versions, backend=backend)
        return [config.backends[spec.backend.name].label for spec in expand(config, "one")]

    assert labels(OLD, NEW) == ["PyTorch eager 2.8.0", "PyTorch eager 2.9.1"]
    assert labels({}, OLD) == ["PyTorch eager", "PyTorch eager 2.8.0"]
    assert labels(OLD) == ["PyTorch eager"]
    assert labels(OLD | {"numpy": "2.0.0"}, NEW | {"numpy": "2.0.0"}) == labels(OLD, NEW)
    assert labels({"optax": "0.2.5"}, {"optax": "0.2.6"}, backend="jax") == [
        "JAX SPMD with optax 0.2.5",
        "JAX SPMD with optax 0.2.6",
    ]
    assert labels({}, {"numpy": "2.0.0", "torch": "2.8.0"})[1] == (
        "PyTorch eager with numpy 2.0.0 and torch 2.8.0"
    )
    tensorflow = ({"tensorflow-cpu": "2.20.0"}, {"tensorflow-cpu": "2.21.0"})
    assert labels(*tensorflow, backend="tensorflow-mirrored")[0] == "TensorFlow Mirrored 2.20.0"


def test_variants_have_colours_of_their_own_in_every_order_of_experiments():
    config = config_of_versions({}, OLD, NEW)
    colors = [config.backends[spec.backend.name].color for spec in expand(config, "one")]
    assert len(set(colors)) == 3
    assert colors[0] == config.backends["torch"].color
    alone = config_of_versions(NEW)
    assert alone.backends["torch.torch-2.9.1"].color == alone.backends["torch"].color


@pytest.mark.parametrize(
    ("versions", "backend", "words"),
    [
        ({"torch": 2.8}, "torch", ["matrix.0.versions.0.torch", "2.8", "quotes"]),
        ({"torch": ">=2.8"}, "torch", ["'>=2.8'", "2.8.0"]),
        ({"Torch": "2.8.0"}, "torch", ["'Torch'"]),
        (
            {"tensorflow": "2.20.0"},
            "tensorflow-mirrored",
            ["matrix[0].versions.tensorflow", "did you mean 'tensorflow-cpu'"],
        ),
        ({"jax": "0.8.0"}, "torch", ["matrix[0].versions.jax", "envs/torch.yaml"]),
    ],
)
def test_versions_that_cannot_be_are_refused(versions, backend, words):
    with refusing("experiments.one", *words):
        config_of_versions(versions, backend=backend)


def test_records_of_two_versions_are_never_pooled_and_other_versions_are_invalid():
    made = []
    for place, versions in enumerate((OLD, NEW)):
        record = make_record("torch", seed=place)
        record["spec"]["backend"] |= {
            "name": f"torch.torch-{versions['torch']}",
            "versions": versions,
        }
        record["processes"][0]["software"]["torch"] = "2.9.1+cpu"
        made.append(record)
    runs, _ = tidy.tables(typed(made), "one", {})
    labels = {"torch.torch-2.8.0": "PyTorch 2.8.0", "torch.torch-2.9.1": "PyTorch 2.9.1"}
    assert [series.label for series in series_of(runs, labels)] == [*labels.values()]
    breaches = [[*of_run(record)] for record in typed(made)]
    found = [[breach for breach in some if breach.rule == "requested"] for some in breaches]
    assert [[breach.where for breach in some] for some in found] == [
        ["processes[0].software.torch"],
        [],
    ]
    assert found[0][0].value == "2.9.1+cpu, 2.8.0 was asked for"


def test_requirements_leave_versions_open_beside_those_asked_for(tmp_path):
    config = config_of_versions({"jax": "0.8.0"}, backend="jax")
    lines = requirements(config.backends["jax.jax-0.8.0"])
    assert {"flax", "jax", "optax", "msgspec", "jax==0.8.0"} <= {*lines}
    assert not [line for line in lines if "==" in line and not line.startswith("jax")]
    (tmp_path / "wheels").mkdir()
    (tmp_path / "wheels/mine-1.0-py3-none-any.whl").write_bytes(b"one")
    listed = tmp_path / "mine.txt"
    listed.write_text("torch==2.9.1  # mine\nwheels/mine-1.0-py3-none-any.whl\n-r more.txt\n")
    (tmp_path / "more.txt").write_text("numpy==2.4.6 \\\n    --hash=sha256:00\n")
    config.backends["torch"].environment = str(listed)
    config.backends["torch"].versions = OLD
    lines = requirements(config.backends["torch"])
    assert lines[:3] == [
        "torch",
        str(tmp_path / "wheels/mine-1.0-py3-none-any.whl"),
        "numpy==2.4.6      --hash=sha256:00",
    ]
    assert lines[-1] == "torch==2.8.0"
    assert "psutil" in lines
    before = content_of(str(listed))
    (tmp_path / "wheels/mine-1.0-py3-none-any.whl").write_bytes(b"two")
    assert content_of(str(listed)) != before


def test_a_folder_is_used_as_it_is_and_another_content_is_another_run(tmp_path):
    packages = tmp_path / "venv/lib/python3.11/site-packages"
    packages.mkdir(parents=True)
    config = config_with({"backend": "torch", "replicas": 1}) | PRIMARY
    config["backends"]["torch"]["environment"] = str(tmp_path / "venv")
    with refusing("backends.torch.environment", "no bin/python"):
        validate(config)
    (tmp_path / "venv/bin").mkdir()
    (tmp_path / "venv/bin/python").symlink_to(sys.executable)
    before = named_backend(validate(config), "torch", "here")
    (packages / "torch-2.8.0.dist-info").mkdir()
    after = named_backend(validate(config), "torch", "here")
    assert before.environment != after.environment
    config["backends"]["torch"]["versions"] = OLD
    with refusing("backends.torch.versions", "used as it is"):
        validate(config)
    config["backends"]["torch"] |= {"environment": "./absent.txt"}
    with refusing("backends.torch.environment", "./absent.txt"):
        validate(config)


def test_jobs_know_the_pythons_that_are_not_their_own():
    row = {"backend": ["torch", "jax"], "replicas": 1}
    config = config_with(row | {"versions": [{}, {"numpy": "2.4.6"}]}, contests=3) | PRIMARY
    plan = Plan(config=config)
    files = [f"<results>/environments/{name}.numpy-2.4.6.json" for name in ("jax", "torch")]
    (question,) = plan.timed.values()
    assert plan.pythons(*(spec.backend for spec in question.variants)) == files
    by_backend = {spec.backend.name: spec.backend for spec in plan.runs.values()}
    assert plan.pythons(by_backend["torch"]) == []
    assert plan.pythons(by_backend["torch.numpy-2.4.6"]) == files[1:]
    reference = plan.probes["fashion-conv", "reference"].backend
    assert plan.pythons(reference) == []
    separate = Plan(config=config | {"environments": "separate"})
    assert separate.pythons(by_backend["torch"]) == ["<results>/environments/torch.json"]
    assert separate.pythons(reference) == ["<results>/environments/reference.json"]
    job = separate.environment_job("torch")
    assert "torch" in job["requirements"]
    assert any(pin.startswith("torch==") for pin in job["pins"])


def test_a_python_is_that_of_its_file_or_a_status_or_an_error(tmp_path):
    here, none, gone = (tmp_path / f"{name}.json" for name in ("torch", "torch.torch-9", "jax"))
    write(Interpreter(python=sys.executable), here)
    write(Interpreter(reason="there is no such version"), none)
    write(Interpreter(python=str(tmp_path / "python")), gone)
    files = (here, none, gone)
    assert python_of((), "torch") == sys.executable
    assert python_of((gone,), "torch") == sys.executable  # of another backend
    assert python_of(files, "torch") == python_of((here,)) == sys.executable
    with pytest.raises(Unavailable, match="no such version"):
        python_of(files, "torch.torch-9")
    with pytest.raises(UserError, match="delete the file"):
        python_of(files, "jax")


# What conda 26.7.1 said of a Python that its channel lacks, and of a package that pip did not find.
OF_CHANNEL = """Solving environment: ...working... failed

PackagesNotFoundInChannelsError: The following packages are not available from current channels:

  - python=3.11.8

Current channels:

  - https://channel.example/conda-forge

and use the search bar at the top of the page.
"""
OF_PIP = """Installing pip dependencies: ...working... failed
Pip subprocess error:
ERROR: Could not find a version that satisfies the requirement msgspec==99.0 (from versions: 0.23.0)
ERROR: No matching distribution found for msgspec==99.0


CondaEnvException: Pip failed
"""
OF_NETWORK = (
    "CondaHTTPError: HTTP 000 CONNECTION FAILED for url <https://channel.example/noarch>\n\n"
)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            OF_CHANNEL,
            "The following packages are not available from current channels: - python=3.11.8",
        ),
        (OF_PIP, "No matching distribution found for msgspec==99.0"),
        (OF_NETWORK, "HTTP 000 CONNECTION FAILED for url <the index>"),
        ("warning: old\nerror: no disk\n  cause: it is full\n", "no disk; it is full"),
        ("unknown\nended.\n", "ended"),
    ],
)
def test_a_fault_of_an_installer_is_its_own_sentence(text, said):
    assert make_environment.sentence(text) == said
