"""Every mistake in the config is one message that names the key and says what would be right."""

import copy
import functools
import json
import operator

import pytest
import yaml
from snakemake.utils import update_config
from workspace import CONFIG, ROOT

from paragone.base import plugins
from paragone.base.errors import UserError
from paragone.base.source_files import names_of
from paragone.config.engines import ENGINES, LOADERS
from paragone.config.validate import validate

CNN, CONV = "workloads.fashion-cnn", "experiments.tpu_fashion_conv"


def changed(path: str, value) -> dict:
    """The config with the value at a path of keys set, or removed if it is ..."""
    config = json.loads(json.dumps(CONFIG))  # a deep copy would keep what YAML's anchors share
    *outer, last = (int(key) if key.isdigit() else key for key in path.split("."))
    at = functools.reduce(operator.getitem, outer, config)
    if value is ...:
        del at[last]
    else:
        at[last] = value
    return config


def message(config: dict) -> str:
    with pytest.raises(UserError) as caught:
        validate(config)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_the_config_is_valid():
    validate(CONFIG)


@pytest.mark.parametrize("preset", sorted(ROOT.glob("presets/*.yaml")), ids=lambda path: path.stem)
def test_presets_are_valid_and_only_change_what_is_there(preset):
    config = copy.deepcopy(CONFIG)
    update_config(config, yaml.safe_load(preset.read_text()))
    validate(config)
    # Some have experiments of their own, with their own name.
    added = set(config["experiments"]) - set(CONFIG["experiments"])
    assert all(name.startswith(preset.stem) for name in added)
    assert config != CONFIG


@pytest.mark.parametrize(
    ("path", "known"),
    [
        ("", "backends"),
        ("pathvars", "results"),
        ("data", "folder"),
        ("datasets.reuters", "length"),
        ("primary", "metric"),
        ("backends.torch", "engine"),
        (CNN, "initializer"),
        (f"{CNN}.input", "divide"),
        (f"{CNN}.optimizer", "momentum"),
        ("workloads.fashion-conv.optimizer", "epsilon"),
        ("workloads.reuters-cnn.optimizer", "beta_1"),
        (f"{CNN}.learning_rate", "per_batch"),
        ("workloads.wide-resnet.augmentation", "shift"),
        ("workloads.wide-resnet.learning_rate.decay.0", "factor"),
        ("experiments.batch_size_time_to_accuracy.target", "patience"),
        ("matmul", "squares"),
        ("accelerator_reference", "title"),
        (CONV, "repeats"),
        (f"{CONV}.matrix.0", "replicas"),
    ],
)
def test_unknown_key_at_each_level(path, known):
    words = message(changed(f"{path}.replica".lstrip("."), 1))
    assert words.startswith(path or "config")
    assert "'replica'" in words
    assert known in words.partition("known keys are")[2]


# A path of the config, a value that it cannot have, and words of the message, which also names the path.
MISTAKES = [
    ("seed", -1, "seed: -1", "a whole number >= 0"),
    ("seed", "0", "whole number"),
    ("seed", 0.0, "seed: 0.0", "whole number"),
    ("deterministic", "yes", "true or false"),
    ("baseline", "torhc", '"torhc"', "torch-ddp"),
    ("primary.experiment", "no_such", "no_such", "one_device"),
    ("primary.metric", "beauty", "end to end"),
    ("data.source", "fake", '"auto", "real", "synthetic"'),
    ("data.mirrors", "here", "a list"),
    ("data", {}, "'folder'", "add it"),
    ("datasets.cats_vs_dogs.size", 0, ">= 8"),
    ("datasets.reuters.form", "tape", "'tape'", "table"),
    ("backends.torch.device", "cuda", '"gpu"'),
    ("backends.torch.strategy", "ddp", '"single"'),
    ("backends.torch.strategy", "spmd", "engine torch has"),
    ("backends.torch.color", "blue", "#[0-9A-Fa-f]{6}"),
    ("backends.torch.label", "", "length >= 1"),
    ("backends.torch", {}, "'engine'", "add it"),
    ("backends.torch.engine", "mxnet", "engines/mxnet.py"),
    ("backends.torch.environment", "my", "my.yaml"),
    ("backends.torch.tuned.options.fuse", True, "fused_optimizer"),
    ("backends.torch.tuned.variables.MALOC", "1", "MALLOC_"),
    ("backends.tensorflow-tpu.parity", "bfloat16", '"float32"'),
    (f"{CNN}.dataset", "mnist", "fashion_mnist"),
    (f"{CNN}.initializer", "he", "keras"),
    (f"{CNN}.input.std", 0, "> 0"),
    (f"{CNN}.optimizer.name", "lamb", "adam"),
    (f"{CNN}.optimizer.momentum", 1, "1"),
    (f"{CNN}.optimizer", {"name": "sgd"}, "'momentum'", "add it"),
    (f"{CNN}.learning_rate.base", -0.1, "-0.1"),
    (f"{CNN}.learning_rate.base", "1e-7", "1e-7", "write the number 1.0e-07"),
    ("workloads.wide-resnet.learning_rate.decay.0.after", 0, ">= 1"),
    (f"{CNN}.global_batch", 8, "both global_batch and"),
    (f"{CNN}.per_replica_batch", 0, ">= 1"),
    (f"{CNN}.epochs", 0, ">= 1"),
    (f"{CNN}.epochs", 1.5, "whole number"),
    (f"{CNN}.epochs", 5.0, "whole number"),
    (f"{CNN}.precision", "float16", '"float64"'),
    (f"{CNN}.target", {"accuracy": 0.9}, "'patience'", "add it"),
    ("workloads.fashion-conv.steps_per_epoch", 0, "0"),
    ("experiments.batch_size_time_to_accuracy.target.accuracy", 90, "<= 1"),
    ("workloads.wide-resnet.train_examples", 0, ">= 1"),
    ("workloads.wide-resnet.augmentation.shift", 1, "1"),
    ("workloads.wide-resnet.augmentation.flip", 1, "true or false"),
    ("workloads.wide-resnet.augmentation", {"shift": 0.1}, "'flip'", "add it"),
    ("workloads.wide-resnet.model", {}, "'name'", "add it"),
    ("workloads.mobilenet-v2.model.outputs", 2, "1000"),
    ("workloads.reuters-cnn.loss", "mse", '"cross_entropy", "double_softmax"'),
    ("matmul.squares", [], "matmul.squares"),
    ("matmul.squares.0", 0, ">= 1"),
    ("matmul.products.0", [1, 2], "matmul.products.0"),
    ("matmul.precisions.0", "int8", '"bfloat16"'),
    ("matmul", ..., "'matmul'", "add it"),
    ("accelerator_reference", ..., "'accelerator_reference'", "add it"),
    ("experiments", {}, "experiments"),
    (CONV, {}, "'title'", "add it"),
    (f"{CONV}.title", "", "title"),
    (f"{CONV}.repeats", 0, ">= 1"),
    (f"{CONV}.matrix", [], "matrix"),
    (f"{CONV}.matrix.0.replicas", 0, "0"),
    (f"{CONV}.matrix.0.backend", [], "backend"),
    (f"{CONV}.matrix.0.tuning", "best", '"best"'),
]


@pytest.mark.parametrize(("path", "value", "words"), [(a, b, c) for a, b, *c in MISTAKES])
def test_impossible_value(path, value, words):
    found = message(changed(path, value))
    where = path.removesuffix(".name").removesuffix(".global_batch")
    for word in [where, *words]:
        assert word in found


def test_names_that_cannot_be_file_names_are_refused():
    for block in ("backends", "workloads", "experiments"):
        config = json.loads(json.dumps(CONFIG))
        config[block]["../up"] = next(iter(config[block].values()))
        words = message(config)
        assert words.startswith(block)
        assert "../up" in words


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("backends: {2024: {}}", ["backends: ", "2024", "in quotes"]),
        ("experiments: {on: {}}", ["experiments: ", "true", "in quotes"]),
        ("null: 1", ["config: ", "null", "in quotes"]),
        ("workloads: {2024-01-01: {}}", ["workloads: ", "2024-01-01", "in quotes"]),
        ("speed_window: {seconds: .nan}", ["speed_window.seconds: nan", "finite"]),
        ("workloads: {wide-resnet: {model: {width: -.inf}}}", ["wide-resnet.model.width: -inf"]),
        ("speed_window: {seconds: 1e-2}", ["speed_window.seconds", "write the number 0.01"]),
        ("matmul: {title: 2024-01-01}", ["matmul.title", "2024-01-01", "in quotes"]),
        ("matmul: {titel: x}", ["matmul: 'titel'", "did you mean 'title'?"]),
    ],
)
def test_what_yaml_reads_as_something_else_is_one_sentence(text, words):
    config = copy.deepcopy(CONFIG)
    update_config(config, yaml.safe_load(text))
    found = message(config)
    for word in words:
        assert word in found


@pytest.mark.parametrize(
    ("rows", "package", "name"),
    [(ENGINES, "engines", "ENGINE"), (LOADERS, "data/loaders", "LOADER")],
)
def test_every_engine_and_loader_has_a_row(rows, package, name):
    files = (plugins.LIBRARY / package).glob("[!_]*.py")
    assert {*rows} == {file.stem for file in files if name in names_of(file)}
