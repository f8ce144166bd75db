"""Every mistake in a config and its files is one message: it names the key and says what would be right."""

import copy
import json
from types import SimpleNamespace

import pytest
import yaml
from data_programs import DATASETS, NPZ
from snakemake.utils import update_config
from workspace import CONFIG, DEFAULTS, PAPERS, ROOT, make_spec, put, refusing

from paragone.base.errors import UserError
from paragone.config.decode import decoded, with_expanded_paths
from paragone.config.read import merged, read
from paragone.config.schema import WorkloadBlock
from paragone.config.validate import validate
from paragone.models import create_model
from paragone.plan.plan import Plan

CNN, CONV = "workloads.fashion-cnn", "experiments.tpu_fashion_conv"


def changed(path: str, value) -> dict:
    """The config with the value at a path of keys set, or removed if it is ..."""
    config = json.loads(json.dumps(CONFIG))  # a deep copy would keep what YAML's anchors share
    put(config, path, value)
    return config


def message(config: dict) -> str:
    with pytest.raises(UserError) as caught:
        validate(config)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("preset", sorted(ROOT.glob("presets/*.yaml")), ids=lambda path: path.stem)
def test_presets_are_valid_and_only_change_what_is_there(preset):
    config = merged(copy.deepcopy(DEFAULTS), read(preset))
    assert Plan(config, ROOT).experiments
    # Some have experiments of their own, with their own name, or those of papers that the default leaves out.
    added = set(config["experiments"]) - {*CONFIG["experiments"], *PAPERS}
    assert all(name.startswith(preset.stem) for name in added)
    assert config != CONFIG


# A path of the config, what it cannot have, and words of the message, which also names the path or the block.
MOMENTS = {"beta_1": 0.9, "beta_2": 0.9, "epsilon": 1.0}
KERAS_2 = {"name": "nadam", **MOMENTS, "rule": "keras-2"}
MULTISTEPLR = {"name": "multisteplr", "milestones": [1, 3], "gamma": 0.1}
TORCH_STEPS = {"name": "torch.optim.lr_scheduler.StepLR", "step_size": 3}
KERAS_COSINE = {"name": "keras.optimizers.schedules.CosineDecay", "decay_steps": 9}
WARM = {"base": 0.1, "warmup": {"length": 2}}
RMSPROP = {"name": "rmsprop", "defaults": "keras-3"}
TABLE = {"form": "table", "path": "mine.csv", "held_out": 0.2}
MISTAKES = [
    ("replica", 1, "config: ", "'replica'", "known keys are", "backends"),
    ("backends.-/up", CONFIG["backends"]["torch"]),
    ("seed", -1, "seed: -1", "a whole number >= 0"),
    ("baseline", "torhc", "'torhc'; did you mean 'torch'?", "torch-ddp"),
    ("primary.experiment", "no_such", "no_such", "one_device"),
    ("datasets.reuters.form", "tape", "'tape'", "table"),
    ("backends.torch.strategy", "ddp", '"single"'),
    ("backends.torch.strategy", "spmd", "engine torch has"),
    ("backends.torch.color", "blue", "#[0-9A-Fa-f]{6}"),
    ("backends.torch.engine", "mxnet", "engines/mxnet.py"),
    ("backends.torch.environment", "my", "my.yaml"),
    ("backends.torch.tuned", {}, "is empty"),
    ("backends.torch.tuned.options.fuse", True, "fused_optimizer"),
    ("backends.torch.tuned.variables.MALOC", "1", "MALLOC_"),
    (f"{CNN}.dataset", "fashion_mnits", "did you mean 'fashion_mnist'?; known are"),
    (
        f"{CNN}.dataset",
        "Fashion-MNIST",
        "no data set 'Fashion-MNIST'; did you mean 'fashion_mnist'?",
    ),
    (f"{CNN}.dataset", "keras/mnist", "no data set 'keras/mnist'", "tfds/<builder>"),
    (f"{CNN}.dataset", "tfds/MNIST", f"{CNN}.dataset", '"MNIST" is no name'),
    (f"{CNN}.dataset", "tfds/../x", f"{CNN}.dataset", '"../x" is no name'),
    (f"{CNN}.optimizer", {"name": "sgd", "momentum": 0.0, "nesterov": True}, "no momentum"),
    (f"{CNN}.optimizer", {"name": "sgd", "momentum": 0.9, "decays": "matrices"}, "weight_decay"),
    (f"{CNN}.optimizer", {"name": "adamw", **MOMENTS}, "add it"),
    (f"{CNN}.optimizer", KERAS_2 | {"name": "adam"}, "of nadam alone"),
    (f"{CNN}.optimizer", KERAS_2 | {"accumulate": 2}, "accumulate"),
    (f"{CNN}.learning_rate.base", "1e-7", "1e-7", "write the number 1.0e-07"),
    (f"{CNN}.learning_rate.schedule", {"name": "exponential"}, "rate", "add it"),
    (f"{CNN}.learning_rate.schedule", {"name": "cosine", "rate": 0.9}, "rate", "leave it out"),
    (f"{CNN}.learning_rate.schedule", {"name": "steplr", "gamma": 0.7}, "no step_size", "add it"),
    (f"{CNN}.learning_rate.schedule", {**MULTISTEPLR, "over": 3}, "has over", "leave it out"),
    (f"{CNN}.learning_rate.schedule", {**MULTISTEPLR, "milestones": [3, 3]}, "do not rise"),
    (f"{CNN}.learning_rate", {"unit": "step"}, "no learning_rate.base", "add it"),
    (f"{CNN}.learning_rate.schedule", {"name": "cosin"}, '"cosin" is not one of "linear"'),
    (f"{CNN}.learning_rate.schedule", KERAS_COSINE, "has base, and keras.", "leave one of them"),
    (f"{CNN}.learning_rate", {"schedule": KERAS_COSINE}, "no unit: step, and keras.", "add it"),
    (f"{CNN}.learning_rate", {**WARM, "schedule": TORCH_STEPS}, "has warmup, and torch.optim."),
    (f"{CNN}.learning_rate.schedule", {**TORCH_STEPS, "gamma": "1e-1"}, "write the number"),
    (f"{CNN}.optimizer", {"name": "adagrad", "defaults": "pytorch"}, "adagrad", "keras-3 for sgd"),
    (f"{CNN}.optimizer", {"name": "adam", "defaults": "keras"}, "there are keras-2 for sgd"),
    (f"{CNN}.optimizer", {**RMSPROP, "momentum": 0.9}, "keras.optimizers.RMSprop"),
    (f"{CNN}.optimizer", {"name": "tf.optimizers.Adam"}, "sgd, adam", "torch.optim.*, keras"),
    (f"{CNN}.optimizer", {"name": "torch.optim.Adadelta", "eps": "1e-6"}, "write the number"),
    (f"{CNN}.learning_rate.decay", [{"after": n, "factor": 0.1} for n in (3, 1)], "order them"),
    (f"{CNN}.validation", {"last": 0.1, "first": 5}, "write one of them"),
    (f"{CNN}.validation", {}, "write one of them"),
    (f"{CNN}.validation", {"random": 1.0}, "random: 1.0: ", "< 1"),
    (f"{CNN}.validation", {"last": 0}, "last: 0: ", "> 0"),
    ("workloads.nanogpt-cpu.validation", {"last": 0.1}, "windows of one text, which overlap"),
    (f"{CNN}.global_batch", 8, "both global_batch and"),
    (f"{CNN}.input.mean", "0.5", "write it without quotes"),
    (f"{CNN}.task", {"name": "classification", "class_weights": [1.0, -1.0]}, ">= 0"),
    (f"{CNN}.task", {"name": "classification", "ignored": True}, "does not name an ignored label"),
    (f"{CNN}.task", {"name": "multi-label"}, "has no `indicators`"),
    ("experiments.batch_size_time_to_accuracy.target.accuracy", 90, "<= 1"),
    ("workloads.mobilenet-v2.model", {"name": "mobilenet-v2", "outputs": 2}, "1000"),
    ("matmul", ..., "'matmul'", "add it"),
    ("datasets.mine", {"path": "no form"}),
    ("datasets.mine", NPZ | {"size": 32}),
    ("datasets.mine", NPZ | {"path": {"train": "no test"}}),
    ("datasets.mine", NPZ | {"ignored": 255, "targets": "y"}),
    ("datasets.mine", TABLE | {"columns": ["c"], "indicators": ["a"]}),
    ("datasets.mine", TABLE | {"columns": ["c", "label"]}),
    ("datasets.mine", TABLE | {"columns": ["c"], "indicators": ["a", "b"], "targets": ["d"]}),
    ("datasets.reuters.editions.synthetic", {"reuters.npz": "0" * 64}),
]


@pytest.mark.parametrize(("path", "value", "words"), [(a, b, c) for a, b, *c in MISTAKES])
def test_impossible_value(path, value, words):
    found = message(changed(path, value))
    block, _, key = path.removesuffix(".name").rpartition(".")
    places = (f"{block}.{key}", f"{block}: ", f"{block}, the name {key!r}: ")
    assert any(place in found for place in places), found
    assert [word for word in words if word not in found] == [], found


def test_defaults_are_written_out_where_no_key_says_otherwise():
    block = CONFIG["workloads"]["fashion-cnn"] | {"learning_rate": {"unit": "step"}}
    block |= {"optimizer": {"name": "rmsprop", "defaults": "keras-2", "rho": 0.8}}
    workload = decoded(block, WorkloadBlock)
    keys = {"name": "rmsprop", "rho": 0.8, "momentum": 0.0, "epsilon": 1e-7, "rule": "pytorch"}
    assert workload.optimizer == keys
    assert (workload.learning_rate.base, workload.learning_rate.unit) == (0.001, "step")
    block["learning_rate"] = {"base": 2}
    assert decoded(block, WorkloadBlock).learning_rate.base == 2
    block["learning_rate"] = {"unit": "step", "schedule": KERAS_COSINE}  # which has its own
    assert decoded(block, WorkloadBlock).learning_rate.base is None
    del block["learning_rate"]
    block["optimizer"] = {"name": "nadam", "defaults": "keras-2"}  # whose releases differ
    with refusing("learning_rate.base"):
        decoded(block, WorkloadBlock)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("backends: {2024: {}}", ["backends: ", "2024", "in quotes"]),
        ("experiments: {on: {}}", ["experiments: ", "true", "in quotes"]),
        ("contest: {minutes: .nan}", ["contest.minutes: nan", "finite"]),
        ('only: ["\\ud800"]', ["only.0", "half of a character"]),
        ("contest: {minutes: 1e-2}", ["contest.minutes", "write the number 0.01"]),
        ("matmul: {title: 2024-01-01}", ["matmul.title", "2024-01-01", "in quotes"]),
        ("matmul: {titel: x}", ["matmul: 'titel'", "did you mean 'title'?"]),
    ],
)
def test_what_yaml_reads_as_something_else_is_one_sentence(text, words):
    config = copy.deepcopy(CONFIG)
    update_config(config, yaml.safe_load(text))
    with refusing(*words):
        validate(config)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("title: caf\u00e9".encode("latin-1"), ["not UTF-8", "byte 10"]),
        (b"a: &x\n  b: *x\n", ["contains it"]),
        (b"a: [1, 2\nb: 3\n", ["line 2"]),
        (b"- a\n- b\n", ["not a mapping"]),
        (b"a: 1\nb:\n  off: 2\n", ["(line 3): the key off is read as no text; write it in quotes"]),
        (b"a: 1\nb: 2\na: 3\n", ["(line 3): the key a is there twice"]),
        (b"a:\n\tb: 1\n", ["(line 2)", "tab in the place of spaces"]),
        (b"a: 017\n", ["017 is read as 15; write that, or the text in quotes"]),
        (b"a: 2:30.5\n", ["2:30.5 is read as 150.5;"]),
        (b"a: !!python/name:os.system x\n", ["line 1"]),
    ],
)
def test_unreadable_yaml_is_one_message(tmp_path, content, words):
    path = tmp_path / "mine.yaml"
    path.write_bytes(content)
    with refusing(str(path), *words):
        read(path)


def test_what_is_usual_in_yaml_is_read(tmp_path):
    path = tmp_path / "mine.yaml"
    text = "a: &x {b: 0, c: 0x1F}\nd: {<<: *x, b: -1_000}\ne: '017'\n\"on\": 1.5e+3\n"
    path.write_text(text, encoding="utf-8-sig")
    a = {"b": 0, "c": 31}
    assert read(path) == {"a": a, "d": {"b": -1000, "c": 31}, "e": "017", "on": 1500.0}
    path.with_suffix(".json").write_text('{\n\t"a": {"b": 1}\n}')
    assert read(path.with_suffix(".json")) == {"a": {"b": 1}}


def test_an_overlay_wins_at_any_depth():
    block = {"seed": 0, "data": {"source": "auto", "folder": "data"}, "one": {"matrix": [2]}}
    over = {"seed": 5, "data": {"source": "real"}, "one": {"matrix": [1]}, "title": None}
    data, one = {"source": "real", "folder": "data"}, {"matrix": [1]}
    assert merged(block, over) == {"seed": 5, "data": data, "one": one, "title": None}


WEIGHTS = {"class_weights": [1.0, 2.0, 3.0], "rule": "keras"}


@pytest.mark.parametrize(
    ("block", "task", "words"),
    [
        (NPZ | {"classes": ["no", "yes"]}, WEIGHTS, "there are 3, and data set mine has 2"),
        (NPZ | {"ignored": 255}, {}, "data set mine names an ignored label"),
        (NPZ | {"indicators": "y"}, {}, "mine has `indicators`, and the task is classification"),
    ],
)
def test_a_task_fits_its_data(block, task, words):
    config = changed(f"{CNN}.task", {"name": "classification", **task})
    config["workloads"]["fashion-cnn"]["dataset"] = "mine"
    assert words in message({**config, "datasets": DATASETS | {"mine": block}})


def test_numbers_are_scaled_and_words_are_not():
    for workload, vocabulary, reason in (
        ("reuters-cnn", None, "input: is missing, and data set mine holds numbers"),
        ("fashion-cnn", 100, "input: data set mine holds indices of words"),
    ):
        mine = SimpleNamespace(name="mine", vocabulary=vocabulary)
        with pytest.raises(UserError, match=f"workloads.{workload}.{reason}"):
            create_model({}, make_spec(workload, "torch"), mine)


def test_paths_are_read_as_a_shell_reads_them(monkeypatch):
    monkeypatch.setenv("HOME", "/home/me")
    monkeypatch.setenv("SCRATCH", "/scratch/a b#'")
    monkeypatch.delenv("NOWHERE", raising=False)
    config = {
        "pathvars": {"results": "~/r"},
        "data": {"folder": "$SCRATCH/d", "mirrors": ["${SCRATCH}", "https://host/$NOWHERE"]},
        "datasets": {"a": {"path": {"train": "~/t.npz", "test": "t$"}, "label": "~"}},
    }
    assert with_expanded_paths(config) == {
        "pathvars": {"results": "/home/me/r"},
        "data": {
            "folder": "/scratch/a b#'/d",
            "mirrors": ["/scratch/a b#'", "https://host/$NOWHERE"],
        },
        "datasets": {"a": {"path": {"train": "/home/me/t.npz", "test": "t$"}, "label": "~"}},
    }
    for key, path, *words in (
        ("plugins", "$NOWHERE/mine", "NOWHERE is not set"),
        ("papers", "~nobody_of_this_name/a", "no such home"),
        ("plugins", "mine{1}", "braces", "rename"),
    ):
        with refusing(f"{key}.0", path, *words):
            with_expanded_paths({key: [path]})


@pytest.mark.parametrize("kind", ["experiments", "workloads", "datasets", "backends"])
@pytest.mark.parametrize("name", ["x" * 65, "a/b", "Ü", "a\n"])
def test_a_name_becomes_that_of_files(kind, name):
    block = next(iter(CONFIG[kind].values()))
    with refusing(kind, "at most 64 small letters"):
        validate(CONFIG | {kind: CONFIG[kind] | {name: block}})


def test_no_backend_takes_the_place_of_the_reference():
    with refusing("backends.reference", "rename"):
        backends = CONFIG["backends"]
        validate(CONFIG | {"backends": backends | {"reference": backends["torch"]}})
