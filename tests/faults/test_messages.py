"""Mistakes of users: one line that says what is wrong, status 1, and no output file."""

import re
import shutil

import pytest
from msgspec.structs import replace
from workspace import call, make_spec, refused, train_command

SPEC = make_spec("fashion-conv", "torch", global_batch=200, epochs=1, steps_per_epoch=1)


def changed(line: list[str], option: str, value: object) -> list[str]:
    at = line.index(option) + 1
    return [*line[:at], str(value), *line[at + 1 :]]


def refuses(line: list[str], folder, *words: str) -> None:
    """Assert that the program fails with one message and leaves no result."""
    refused(call(line), *words)
    left = [path.name for path in folder.rglob("*") if path.is_file()]
    assert set(left) <= {"lock"}


def test_missing_manifest(small, tmp_path):
    gone = tmp_path / "gone.json"
    line = changed(train_command(SPEC, small, tmp_path / "run"), "--manifest", gone)
    refuses(line, tmp_path, str(gone), "is missing", "serialize")


def test_missing_data_is_found_before_the_framework_is_imported(small, tmp_path):
    line = changed(train_command(SPEC, small, tmp_path), "--manifest", tmp_path / "gone.json")
    done = call([line[0], "-X", "importtime", *line[1:]])
    refused(done, "is missing")
    imported = set(re.findall(r"\| +(\w+)$", done.stderr, re.MULTILINE))
    assert "numpy" in imported
    assert "torch" not in imported


def test_missing_arrays(small, tmp_path):
    line = changed(train_command(SPEC, small, tmp_path / "run"), "--data-folder", tmp_path / "no")
    refuses(line, tmp_path, str(tmp_path / "no"), "is missing")


def test_truncated_array(small, tmp_path):
    copy = tmp_path / "data"
    shutil.copytree(small.folder, copy)
    (array,) = copy.glob("arrays/*/train_inputs.npy")
    with array.open("r+b") as file:
        file.truncate(array.stat().st_size - 1)
    line = changed(train_command(SPEC, small, tmp_path / "run"), "--data-folder", copy)
    refuses(line, tmp_path / "run", str(array), "bytes", "delete the folder")


@pytest.mark.parametrize("text", ["", "{", "[]", '{"seed": 0}', "null"])
def test_malformed_spec(small, tmp_path, text):
    line = changed(train_command(SPEC, small, tmp_path / "run"), "--spec", text)
    refuses(line, tmp_path, "--spec: not the specification of a run")


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (
            '"steps_per_epoch":1',
            '"steps_per_epoch":11',
            [": 11 step(s) of 200 examples do not fit into 2000", "lower the batch size"],
        ),
        ('"name":"fashion-conv"}', '"name":"vgg"}', [".model.name", "'vgg'", "fashion-cnn"]),
        ('"name":"fashion-conv"}', '"name":"fashion-conv","depth":3}', [".model", "depth"]),
    ],
    ids=["steps", "model", "option of the model"],
)
def test_impossible_spec(small, tmp_path, old, new, words):
    text = SPEC.to_json()
    assert old in text
    line = train_command(SPEC, small, tmp_path / "run")
    line = changed(line, "--spec", text.replace(old, new))
    refuses(line, tmp_path, "workloads.fashion-conv", *words)


@pytest.mark.parametrize("strategy", ["spmd", "mirrored"])
def test_strategy_of_another_engine(small, tmp_path, strategy):
    spec = replace(SPEC, backend={**SPEC.backend, "strategy": strategy})
    line = train_command(spec, small, tmp_path)
    refuses(line, tmp_path, "backends.torch.strategy", strategy)


def test_several_workers_need_the_launcher_and_several_hosts_slurm(small, tmp_path):
    spec = make_spec("fashion-cnn", "torch-ddp", 2, global_batch=200, epochs=1, steps_per_epoch=1)
    refuses(train_command(spec, small, tmp_path), tmp_path, "2 workers", "scripts/launch.py")
    for nodes, words in (
        ("2", ["no Slurm allocation", "profiles/slurm", "train:nodes=1"]),
        ("3", ["2 worker(s)", "3 hosts"]),
    ):
        line = [*train_command(spec, small, tmp_path, "launch"), "--nodes", nodes]
        refuses(line, tmp_path, "--nodes", *words)


def test_truncated_array_through_the_workflow(checkout, small):
    """The message reaches the terminal, not only the log, and its remedy is a folder to delete."""
    made = checkout()
    made.only("xla_fashion_cnn", ["torch"], {"steps_per_epoch": 1}, steps_per_epoch=1)
    shutil.copytree(small.folder, made / "data")
    target = made / "results/data/fashion_mnist"
    target.mkdir(parents=True)
    shutil.copyfile(small.manifest, target / "manifest.json")
    (array,) = (made / "data").glob("arrays/*/test_labels.npy")
    array.write_bytes(array.read_bytes()[:-1])
    probe = "results/parity/fashion-cnn/torch.npz"
    done = made.snakemake(probe, "--cores", "1", "--allowed-rules", "probe_torch")
    assert done.returncode == 1, done.stdout
    assert "Traceback" not in done.stdout
    for word in ("error: ", array.name, "delete the folder results/data/fashion_mnist"):
        assert word in done.stdout
    assert not (made / probe).exists()
