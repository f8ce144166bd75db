"""Loaders yield the batches of the mapped arrays, bit by bit; what they cannot feed is refused."""

import dataclasses

import numpy as np
import pytest
import torch
from made_images import make_images, make_texts
from msgspec.structs import replace
from workspace import CONFIG, changed, make_spec

from paragone.base import plugins
from paragone.base.errors import Unavailable, UserError
from paragone.config.code_files import code_files, loaded_modules
from paragone.config.expand import expand, first_steps, probe
from paragone.config.run_spec import Spec
from paragone.config.validate import validate
from paragone.data import loaders
from paragone.data.batches import WHOLE, Shard, loader_of, train_batches
from paragone.engines.torch import Torch

IMAGES = make_images()
COLORS = np.random.default_rng(1).integers(0, 256, (64, 8, 6, 3), np.uint8)
NAMES = plugins.names_in("data/loaders")
SHIFTED = {"shift": 0.2, "flip": True}


def spec_of(loader: str | None, **workload) -> Spec:
    """Three steps of 16 examples of fashion-cnn on torch; `workload`: keys to set."""
    spec = make_spec("fashion-cnn", "torch", global_batch=16, steps_per_epoch=3)
    return changed(spec, workload, {"loader": loader})


@pytest.mark.parametrize(
    ("dataset", "shard", "workload"),
    [
        (IMAGES, WHOLE, {"augmentation": SHIFTED}),
        (IMAGES, Shard(1, 2, 2), {"augmentation": SHIFTED}),
        (dataclasses.replace(IMAGES, train_inputs=COLORS), WHOLE, {}),
        (dataclasses.replace(IMAGES, train_inputs=COLORS / np.float32(7)), WHOLE, {}),
        (make_texts(), WHOLE, {}),
    ],
    ids=["augmented", "second worker", "colors", "numbers", "texts"],
)
def test_batches_are_those_of_the_mapped_arrays(dataset, shard, workload):
    expected, loaded = (
        list(train_batches(dataset, spec_of(name, **workload), 2, shard))
        for name in (None, "data_loader")
    )
    assert len(loaded) == len(expected) == 3
    for batch, right in zip(loaded, expected, strict=True):
        for array, other in zip(batch, right, strict=True):
            assert (array.dtype, array.shape) == (other.dtype, other.shape)
            assert array.flags.c_contiguous
            assert np.array_equal(array, other)
    assert torch.multiprocessing.active_children() == []


def test_a_loader_trains_to_the_last_bit_as_the_arrays_do():
    """With dropout: a loader must not draw from the framework's generator. There is one per data set."""
    trained = []
    for loader in (None, "data_loader"):
        model = {"name": "wide-resnet", "width": 1, "dropout": 0.3}
        spec, engine = spec_of(loader, model=model, augmentation=SHIFTED), Torch()
        engine.build(spec, IMAGES, 1)
        torch.manual_seed(0)
        metrics = engine.train_epoch(0, [0.01] * 3, train_batches(IMAGES, spec, 1), 3)
        assert engine.input_seconds() > 0
        trained.append([metrics, *(values.tobytes() for values in engine.weights().values())])
    assert trained[0] == trained[1]
    assert loader_of(IMAGES, spec) is loader_of(IMAGES, replace(spec, seed=9))
    assert loader_of(IMAGES, spec) is not loader_of(make_images(), spec)
    assert loader_of(IMAGES, spec_of(None)) is None


def test_data_that_a_loader_cannot_read_make_the_run_unavailable():
    with pytest.raises(Unavailable, match="images"):
        train_batches(IMAGES, spec_of("tf_data"), 1)


def config_of(**block) -> dict:
    """The config with keys of the backend `torch` changed, without tuning, and an experiment of it."""
    torch_block = {**CONFIG["backends"]["torch"], **block}
    del torch_block["tuned"]
    backends = {**CONFIG["backends"], "torch": torch_block}
    cell = {"backend": "torch", "replicas": 1, "global_batch": 16}
    experiments = {"own": {"workload": "wide-resnet", "matrix": [cell]}}
    return {**CONFIG, "backends": backends, "experiments": experiments}


@pytest.mark.parametrize(
    ("block", "words"),
    [
        (
            {"loader": "no_such"},
            f"loader: there is no loader 'no_such'; there are {', '.join(NAMES)}",
        ),
        ({"loader": "tf_data"}, "loader: tf_data feeds tensorflow, keras_fit alone, not engine"),
        ({"loader": "data_loader", "feed": "resident"}, "loader: resident inputs"),
        ({"loader": "../x"}, "loader"),
        ({"feed": "resident"}, "feed: resident inputs are not augmented"),
        (
            {"engine": "jax", "strategy": "spmd", "feed": "pinned"},
            "feed: engine jax has batches alone",
        ),
        (
            {"engine": "tensorflow", "strategy": "mirrored", "loader": "tf_data"},
            "loader: tf_data does not augment",
        ),
    ],
    ids=str,
)
def test_what_cannot_feed_is_refused_by_the_key(block, words):
    config = config_of(**block)
    with pytest.raises(UserError) as caught:  # noqa: PT012 - by either of both
        validate({**CONFIG, "backends": config["backends"]})
        expand(config, "own")
    assert str(caught.value).startswith(f"backends.torch.{words}")


def test_a_run_depends_on_its_own_loader_alone():
    """The hash of a specification is the name of runs that were recorded before there were loaders."""
    assert "loader" not in spec_of(None).to_json()
    config = config_of(loader="data_loader")
    assert probe(config, "fashion-cnn", "torch") == probe(CONFIG, "fashion-cnn", "torch")
    assert first_steps(spec_of("data_loader")) == first_steps(spec_of(None))
    assert expand(config, "own")[0].backend.loader == "data_loader"
    for name in (None, *NAMES):
        files = code_files("train.py", *loaded_modules(spec_of(name)))
        of_loaders = {path.name for path in files if path.parent.name == "loaders"}
        assert of_loaders == {"__init__.py"} | ({f"{name}.py"} if name else set())


def test_a_loader_of_a_plugin(here, monkeypatch):
    """It has its name, and declares what it feeds; an error of it names file and line."""
    folder = here / "own/data/loaders"
    folder.mkdir(parents=True)
    (folder / "mine.py").write_text("def LOADER(dataset, examples):\n    return 1 / 0\n")
    plugins.use(["own"])
    monkeypatch.setattr(loaders, "__path__", [*loaders.__path__, str(folder)])
    try:
        with pytest.raises(UserError, match=r"mine\.py, line 2: ZeroDivisionError"):
            train_batches(IMAGES, spec_of("mine"), 1)
        with pytest.raises(UserError, match=r"mine\.py: add a table \[loaders\.mine\]"):
            validate({**CONFIG, "backends": config_of(loader="mine")["backends"]})
        declared = "[loaders.mine]\nengines = ['jax']\naugments = true\n"
        (here / "own/plugin.toml").write_text(declared)
        with pytest.raises(UserError, match="mine feeds jax alone, not engine torch"):
            validate({**CONFIG, "backends": config_of(loader="mine")["backends"]})
    finally:
        plugins.use([])
