"""Mistakes of people: one line that says what is wrong, status 1, and no output file."""

import re
import shutil

import pytest
from workspace import CONFIG, call, command, make_spec, refused, train_command

SPEC = make_spec("fashion-conv", "torch", global_batch=200, epochs=1, steps_per_epoch=1)


def changed(line: list[str], option: str, value: object) -> list[str]:
    at = line.index(option) + 1
    return [*line[:at], str(value), *line[at + 1 :]]


def refuses(line: list[str], folder, *words: str) -> None:
    """The program fails with one message, and leaves nothing that looks like a result."""
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


def test_malformed_spec_of_a_probe(small, tmp_path):
    line = command(
        "probe",
        specs="{}",
        manifests=small.manifest,
        data_folder=small.folder,
        outputs=tmp_path / "probe.npz",
    )
    refuses(line, tmp_path, "--spec: not the specification of a run")


def test_more_steps_than_examples(small, tmp_path):
    line = train_command(SPEC, small, tmp_path / "run")
    text = SPEC.to_json().replace('"steps_per_epoch":1', '"steps_per_epoch":11')
    refuses(
        changed(line, "--spec", text),
        tmp_path,
        "workloads.fashion-conv: 11 step(s) of 200 examples do not fit into 2000",
        "lower batch or steps_per_epoch",
    )


def test_model_that_no_framework_has(small, tmp_path):
    line = train_command(SPEC, small, tmp_path / "run")
    text = SPEC.to_json().replace('"model":{"name":"fashion-conv"}', '"model":{"name":"vgg"}')
    refuses(
        changed(line, "--spec", text),
        tmp_path,
        "workloads.fashion-conv.model.name",
        "'vgg'",
        "fashion-cnn",
    )


def test_option_that_the_model_does_not_have(small, tmp_path):
    line = train_command(SPEC, small, tmp_path / "run")
    text = SPEC.to_json().replace(
        '"model":{"name":"fashion-conv"}', '"model":{"name":"fashion-conv","depth":3}'
    )
    refuses(changed(line, "--spec", text), tmp_path, "workloads.fashion-conv.model", "depth")


# Through the workflow
MANIFEST = "results/data/fashion_mnist/manifest.json"


def one_message(done, *words: str) -> None:
    assert done.returncode == 1, done.stdout
    assert "Traceback" not in done.stdout
    for word in words:
        assert word in done.stdout


def test_missing_mirror_folder(checkout, tmp_path):
    made = checkout()
    made.only("xla_fashion_cnn", ["torch"], steps_per_epoch=1)
    gone = tmp_path / "gone"
    done = made.snakemake(MANIFEST, "--cores", "1", PARAGONE_MIRRORS=str(gone))
    one_message(done, f"error: mirror folder {gone} does not exist", "PARAGONE_MIRRORS")
    assert not list((made / "results").rglob("source.json"))


def test_wrong_checksum(checkout, mirror, tmp_path):
    copy = tmp_path / "mirror/fashion_mnist"
    shutil.copytree(mirror / "fashion_mnist", copy, copy_function=shutil.copyfile)
    labels = copy / "t10k-labels-idx1-ubyte.gz"
    labels.write_bytes(labels.read_bytes()[:-1] + b"x")
    expected = CONFIG["datasets"]["fashion_mnist"]["editions"]["official"][labels.name]
    made = checkout()
    made.only("xla_fashion_cnn", ["torch"], steps_per_epoch=1)
    done = made.snakemake(MANIFEST, "--cores", "1", PARAGONE_MIRRORS=str(copy.parent))
    one_message(done, "error: ", labels.name, "wrong checksum", expected)
    assert not list((made / "results").rglob("source.json"))


def test_truncated_array_through_the_workflow(checkout, small, tmp_path):
    """The message reaches the terminal, not only the log, and its remedy is a folder to delete."""
    made = checkout()
    made.only("xla_fashion_cnn", ["torch"], {"steps_per_epoch": 1}, steps_per_epoch=1)
    shutil.copytree(small.folder, made / "data")
    target = made / "results/data/fashion_mnist"
    target.mkdir(parents=True)
    shutil.copyfile(small.manifest, target / "manifest.json")
    (array,) = (made / "data").glob("arrays/*/test_labels.npy")
    array.write_bytes(array.read_bytes()[:-1])
    done = made.snakemake(
        "results/parity/fashion-cnn/torch.npz",
        "--cores",
        "1",
        "--allowed-rules",
        "probe_torch",
    )
    one_message(done, "error: ", array.name, "delete the folder results/data/fashion_mnist")
    assert not (made / "results/parity/fashion-cnn/torch.npz").exists()
