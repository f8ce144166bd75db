"""Mistakes of users: one line that says what is wrong, status 1, and no output file."""

import pytest
from workspace import call, changed, make_spec, refused, train_command

SPEC = make_spec("fashion-conv", "torch", global_batch=200, epochs=1, steps_per_epoch=1)
DDP = make_spec("fashion-cnn", "torch-ddp", 2, global_batch=200, epochs=1, steps_per_epoch=1)


@pytest.mark.parametrize(
    ("spec", "options", "words"),
    [
        (SPEC, {"manifest": "data/gone.json"}, ["data/gone.json", "is missing", "run again"]),
        (changed(SPEC, {"dataset": "reuters"}), {}, ["is of fashion_mnist", "set is reuters"]),
        (changed(SPEC, steps_per_epoch=11), {}, ["fashion-conv: 11 step(s) of 200 examples"]),
        (changed(SPEC, {"model": {"name": "vgg"}}), {}, ["backend torch has no model 'vgg'"]),
        (changed(SPEC, backend={"strategy": "spmd"}), {}, ["backends.torch.strategy"]),
        (DDP, {}, ["2 workers", "scripts/launch.py"]),
        (DDP, {"nodes": 2}, ["no Slurm allocation", "profiles/slurm", "train:nodes=1"]),
        (DDP, {"nodes": 3}, ["nodes", "2 worker(s)", "3 hosts"]),
    ],
)
def test_a_mistake_is_one_message(small, tmp_path, spec, options, words):
    """Texts that are no specification: unit/test_spec.py."""
    program = "launch" if "nodes" in options else "train"
    refused(call(train_command(spec, small, tmp_path, program, **options)), *words)
    left = [path.name for path in tmp_path.rglob("*") if path.is_file()]
    assert set(left) <= {"lock"}
