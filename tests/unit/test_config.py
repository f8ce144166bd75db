"""Every mistake in the config is one message that names the key and says what would be right."""

import copy
import json

import pytest
import yaml
from snakemake.utils import update_config
from workspace import CONFIG, ROOT

from paragone.base import plugins
from paragone.base.errors import UserError
from paragone.base.source_files import names_of
from paragone.config.engines import ENGINES, LOADERS
from paragone.config.validate import validate

ADAM = {"name": "adam", "beta_1": 0.9, "beta_2": 0.999, "epsilon": 1e-7}
CNN = "workloads.fashion-cnn"
CONV = "experiments.tpu_fashion_conv"


def changed(path: list, value) -> dict:
    """The config with one value set, or removed if it is ..., at a path."""
    config = json.loads(json.dumps(CONFIG))  # a deep copy would keep what YAML's anchors share
    at = config
    for key in path[:-1]:
        at = at[key]
    if value is ...:
        del at[path[-1]]
    else:
        at[path[-1]] = value
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
    overlay = yaml.safe_load(preset.read_text())
    update_config(config, overlay)
    validate(config)
    # Some have experiments of their own, with their own name.
    added = set(config["experiments"]) - set(CONFIG["experiments"])
    assert all(name.startswith(preset.stem) for name in added)
    assert config != CONFIG


@pytest.mark.parametrize(
    ("path", "known"),
    [
        ([], "backends"),
        (["pathvars"], "results"),
        (["data"], "folder"),
        (["datasets", "reuters"], "length"),
        (["primary"], "metric"),
        (["backends", "torch"], "engine"),
        (["workloads", "fashion-cnn"], "initializer"),
        (["workloads", "fashion-cnn", "input"], "divide"),
        (["workloads", "fashion-cnn", "optimizer"], "momentum"),
        (["workloads", "fashion-conv", "optimizer"], "epsilon"),
        (["workloads", "fashion-cnn", "learning_rate"], "per_batch"),
        (["workloads", "wide-resnet", "augmentation"], "shift"),
        (["workloads", "wide-resnet", "learning_rate", "decay", 0], "factor"),
        (["workloads", "reuters-cnn", "optimizer"], "beta_1"),
        (["experiments", "batch_size_time_to_accuracy", "target"], "patience"),
        (["matmul"], "squares"),
        (["accelerator_reference"], "title"),
        (["experiments", "tpu_fashion_conv"], "repeats"),
        (["experiments", "tpu_fashion_conv", "matrix", 0], "replicas"),
    ],
    ids=lambda value: ".".join(map(str, value)) if isinstance(value, list) else "",
)
def test_unknown_key_at_each_level(path, known):
    words = message(changed([*path, "replica"], 1))
    assert words.startswith(".".join(map(str, path)) or "config")
    assert "'replica'" in words
    assert known in words.partition("known keys are")[2]


@pytest.mark.parametrize(
    ("path", "value", "words"),
    [
        (["seed"], -1, ["seed: -1", "a whole number >= 0"]),
        (["seed"], "0", ["seed", "whole number"]),
        (["deterministic"], "yes", ["deterministic", "true or false"]),
        (["primary", "experiment"], "no_such", ["primary.experiment", "no_such", "one_device"]),
        (["primary", "metric"], "beauty", ["primary.metric", "end to end"]),
        (["data", "source"], "fake", ["data.source", '"auto", "real", "synthetic"']),
        (["data", "mirrors"], "here", ["data.mirrors", "a list"]),
        (["datasets", "cats_vs_dogs", "size"], 0, ["datasets.cats_vs_dogs.size", ">= 8"]),
        (["datasets", "reuters", "form"], "tape", ["datasets.reuters.form", "'tape'", "table"]),
        (["data", "folder"], ..., ["data", "'folder'", "add it"]),
        (["backends", "torch", "device"], "cuda", ["backends.torch.device", '"gpu"']),
        (["backends", "torch", "strategy"], "ddp", ["backends.torch.strategy", '"single"']),
        (
            ["backends", "torch", "strategy"],
            "spmd",
            ["backends.torch.strategy", "engine torch has"],
        ),
        (["backends", "torch", "color"], "blue", ["backends.torch.color", "#[0-9A-Fa-f]{6}"]),
        (["backends", "torch", "label"], "", ["backends.torch.label", "length >= 1"]),
        (["backends", "torch", "engine"], ..., ["backends.torch", "'engine'", "add it"]),
        (["backends", "torch", "engine"], "mxnet", ["backends.torch.engine", "engines/mxnet.py"]),
        (["backends", "torch", "environment"], "my", ["backends.torch.environment", "my.yaml"]),
        (["workloads", "fashion-cnn", "dataset"], "mnist", [f"{CNN}.dataset", "fashion_mnist"]),
        (["workloads", "fashion-cnn", "initializer"], "he", [f"{CNN}.initializer", "keras"]),
        (["workloads", "fashion-cnn", "input", "std"], 0, [f"{CNN}.input.std", "> 0"]),
        (["workloads", "fashion-cnn", "optimizer", "name"], "lamb", [f"{CNN}.optimizer", "adam"]),
        (["workloads", "fashion-cnn", "optimizer", "momentum"], 1, [f"{CNN}.optimizer.momentum"]),
        (["workloads", "fashion-cnn", "optimizer"], {"name": "sgd"}, ["'momentum'", "add it"]),
        (
            ["workloads", "fashion-cnn", "optimizer"],
            ADAM | {"epsilon": "1e-7"},
            [f"{CNN}.optimizer.epsilon", "1e-7", "write the number 1.0e-07"],
        ),
        (
            ["workloads", "fashion-cnn", "learning_rate", "base"],
            -0.1,
            [f"{CNN}.learning_rate.base", "-0.1"],
        ),
        (
            ["workloads", "fashion-cnn", "learning_rate", "decay"],
            [{"after": 0, "factor": 0.1}],
            [f"{CNN}.learning_rate.decay.0.after", ">= 1"],
        ),
        (["workloads", "fashion-cnn", "global_batch"], 8, [CNN, "both global_batch and"]),
        (
            ["workloads", "fashion-cnn", "per_replica_batch"],
            0,
            [f"{CNN}.per_replica_batch", ">= 1"],
        ),
        (["workloads", "fashion-cnn", "epochs"], 0, [f"{CNN}.epochs", ">= 1"]),
        (["workloads", "fashion-cnn", "epochs"], 1.5, [f"{CNN}.epochs", "whole number"]),
        (["workloads", "fashion-cnn", "epochs"], 5.0, [f"{CNN}.epochs", "whole number"]),
        (["seed"], 0.0, ["seed: 0.0", "whole number"]),
        (["workloads", "fashion-conv", "steps_per_epoch"], 0, ["fashion-conv.steps_per_epoch"]),
        (
            ["workloads", "fashion-cnn", "target"],
            {"accuracy": 90, "patience": 1, "stop": True},
            [f"{CNN}.target.accuracy", "<= 1"],
        ),
        (
            ["workloads", "fashion-cnn", "target"],
            {"accuracy": 0.9},
            [f"{CNN}.target", "'patience'", "add it"],
        ),
        (["workloads", "wide-resnet", "train_examples"], 0, ["wide-resnet.train_examples", ">= 1"]),
        (["workloads", "wide-resnet", "augmentation", "shift"], 1, ["augmentation.shift", "1"]),
        (
            ["workloads", "wide-resnet", "augmentation", "flip"],
            1,
            ["augmentation.flip", "true or false"],
        ),
        (["workloads", "wide-resnet", "augmentation", "flip"], ..., ["'flip'", "add it"]),
        (
            ["workloads", "reuters-cnn-double-softmax", "loss"],
            "mse",
            ["double-softmax.loss", '"cross_entropy", "double_softmax"'],
        ),
        (["workloads", "fashion-cnn", "precision"], "float16", ["precision", '"float64"']),
        (["workloads", "wide-resnet", "model"], {}, ["wide-resnet.model", "'name'", "add it"]),
        (["workloads", "mobilenet-v2", "model", "outputs"], 2, ["model.outputs", "1000"]),
        (["backends", "tensorflow-tpu", "parity"], "bfloat16", ["parity", '"float32"']),
        (["baseline"], "torhc", ["baseline", '"torhc"', "torch-ddp"]),
        (
            ["backends", "torch", "tuned", "options", "fuse"],
            True,
            ["backends.torch.tuned.options.fuse", "fused_optimizer"],
        ),
        (
            ["backends", "torch", "tuned", "variables", "MALOC"],
            "1",
            ["tuned.variables.MALOC", "MALLOC_"],
        ),
        (
            ["experiments", "tpu_fashion_conv", "matrix", 0, "tuning"],
            "best",
            [f"{CONV}.matrix.0.tuning", '"best"'],
        ),
        (["matmul", "squares"], [], ["matmul.squares"]),
        (["matmul", "squares", 0], 0, ["matmul.squares.0", ">= 1"]),
        (["matmul", "products", 0], [1, 2], ["matmul.products.0"]),
        (["matmul", "precisions", 0], "int8", ["matmul.precisions.0", '"bfloat16"']),
        (["matmul"], ..., ["'matmul'", "add it"]),
        (["accelerator_reference"], ..., ["'accelerator_reference'", "add it"]),
        (["experiments"], {}, ["experiments"]),
        (["experiments", "tpu_fashion_conv", "workload"], ..., [CONV, "'workload'", "add it"]),
        (["experiments", "tpu_fashion_conv", "repeats"], 0, [f"{CONV}.repeats", ">= 1"]),
        (["experiments", "tpu_fashion_conv", "matrix"], [], [f"{CONV}.matrix"]),
        (
            ["experiments", "tpu_fashion_conv", "matrix", 0, "replicas"],
            0,
            [f"{CONV}.matrix.0.replicas", "0"],
        ),
        (
            ["experiments", "tpu_fashion_conv", "matrix", 0, "backend"],
            [],
            [f"{CONV}.matrix.0.backend"],
        ),
        (["experiments", "tpu_fashion_conv", "title"], "", [f"{CONV}.title"]),
    ],
    ids=lambda value: ".".join(map(str, value)) if isinstance(value, list) else "",
)
def test_impossible_value(path, value, words):
    found = message(changed(path, value))
    for word in words:
        assert word in found


def test_names_that_cannot_be_file_names_are_refused():
    for block in ("backends", "workloads", "experiments"):
        (name, *_) = CONFIG[block]
        words = message(changed([block, "../up"], CONFIG[block][name]))
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
