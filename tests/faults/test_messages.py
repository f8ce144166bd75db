"""Mistakes of users: one line that says what is wrong, status 1, and no output file."""

import pytest
from workspace import call, changed, make_spec, refused, train_command

SPEC = make_spec("fashion-conv", "torch", global_batch=200, epochs=1, steps_per_epoch=1)
DDP = make_spec("fashion-cnn", "torch-ddp", 2, global_batch=200, epochs=1, steps_per_epoch=1)
SLURM = ["nodes", "no Slurm allocation", "profiles/slurm", "train:nodes=1"]


@pytest.mark.parametrize(
    ("spec", "program", "options", "words"),
    [
        (
            SPEC,
            "train",
            {"manifest": "data/gone.json"},
            ["data/gone.json", "is missing", "run again"],
        ),
        (
            changed(SPEC, {"dataset": "reuters"}),
            "train",
            {},
            ["is of fashion_mnist, and the workload's data set is reuters"],
        ),
        (
            changed(SPEC, steps_per_epoch=11),
            "train",
            {},
            ["fashion-conv: 11 step(s) of 200 examples do not fit"],
        ),
        (
            changed(SPEC, {"model": {"name": "vgg"}}),
            "train",
            {},
            ["model.name: backend torch has no model 'vgg'"],
        ),
        (changed(SPEC, backend={"strategy": "spmd"}), "train", {}, ["backends.torch.strategy"]),
        (DDP, "train", {}, ["2 workers", "scripts/launch.py"]),
        (DDP, "launch", {"nodes": 2}, SLURM),
        (DDP, "launch", {"nodes": 3}, ["nodes", "2 worker(s)", "3 hosts"]),
    ],
)
def test_a_mistake_is_one_message(small, tmp_path, spec, program, options, words):
    """Texts that are no specification: unit/test_spec.py."""
    refused(call(train_command(spec, small, tmp_path, program, **options)), *words)
    left = [path.name for path in tmp_path.rglob("*") if path.is_file()]
    assert set(left) <= {"lock"}
