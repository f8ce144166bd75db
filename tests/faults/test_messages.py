"""Mistakes of users: one line that says what is wrong, status 1, and no output file."""

import re

import pytest
from parity.probing import probe_command
from workspace import Arrays, call, changed, make_spec, refused, train_command

SPEC = make_spec("fashion-conv", "torch", global_batch=200, epochs=1, steps_per_epoch=1)
DDP = make_spec("fashion-cnn", "torch-ddp", 2, global_batch=200, epochs=1, steps_per_epoch=1)


def refuses(line: list[str], folder, *words: str) -> None:
    """Assert that the program fails with one message and leaves no result."""
    refused(call(line), *words)
    left = [path.name for path in folder.rglob("*") if path.is_file()]
    assert set(left) <= {"lock"}


def test_missing_data_are_found_before_the_framework_is_imported(small, tmp_path):
    gone = Arrays(tmp_path / "gone.json", small.folder)
    probe = probe_command([SPEC], [gone], [tmp_path / "probe.npz"])
    for line in (train_command(SPEC, gone, tmp_path / "run"), probe):
        done = call(line, PYTHONPROFILEIMPORTTIME="1")
        refused(done, str(gone.manifest), "is missing", "serialize")
        imported = set(re.findall(r"\| +(\w+)$", done.stderr, re.MULTILINE))
        assert "numpy" in imported
        assert "torch" not in imported


def test_the_manifest_of_another_data_set(small, tmp_path):
    other = changed(SPEC, {"dataset": "reuters"})
    words = "is of fashion_mnist, and the workload's data set is reuters"
    refuses(train_command(other, small, tmp_path), tmp_path, words)


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        (changed(SPEC, steps_per_epoch=11), "fashion-conv: 11 step(s) of 200 examples do not fit"),
        (changed(SPEC, {"model": {"name": "vgg"}}), "model.name: backend torch has no model 'vgg'"),
        (changed(SPEC, backend={"strategy": "spmd"}), "backends.torch.strategy"),
    ],
    ids=["steps", "model", "strategy"],
)
def test_a_wrong_specification(small, tmp_path, spec, words):
    """Texts that are no specification: unit/test_spec.py."""
    refuses(train_command(spec, small, tmp_path / "run"), tmp_path, words)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, ["2 workers", "scripts/launch.py"]),
        ({"nodes": 2}, ["nodes", "no Slurm allocation", "profiles/slurm", "train:nodes=1"]),
        ({"nodes": 3}, ["nodes", "2 worker(s)", "3 hosts"]),
    ],
)
def test_several_workers_need_the_launcher_and_several_hosts_slurm(small, tmp_path, options, words):
    program = "launch" if options else "train"
    refuses(train_command(DDP, small, tmp_path, program, **options), tmp_path, *words)
