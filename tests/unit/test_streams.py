"""Streams: a text or tokens of which windows are examples."""

from pathlib import Path

import numpy as np
import pytest
from data_programs import made, wrong
from workspace import refusing

TEXT = "To be, or not to be: that\nis the question.\n" * 5
BLOCK = {"form": "stream", "path": "play.txt", "held_out": 0.1, "length": 8}


@pytest.fixture
def play(here) -> None:
    """The text in the working directory."""
    Path("play.txt").write_text(TEXT)


def test_windows_of_characters_and_what_follows_them(play):
    dataset, manifest = made(BLOCK)
    characters = sorted({*TEXT})
    tokens = np.array([characters.index(each) for each in TEXT])
    cut = int(len(TEXT) * 0.9)
    assert dataset.vocabulary == len(dataset.class_names) == len(characters)
    assert dataset.class_names[:3] == ("'\\n'", "' '", ",")
    for inputs, labels, part in (
        (dataset.train_inputs, dataset.train_labels, tokens[:cut]),
        (dataset.test_inputs, dataset.test_labels, tokens[cut:]),
    ):
        assert inputs.shape == labels.shape == (len(part) - 8, 8)
        assert inputs.dtype == labels.dtype == np.int32
        assert np.array_equal(inputs[[0, -1]], [part[:8], part[-9:-1]])
        assert np.array_equal(labels[[0, -1]], [part[1:9], part[-8:]])
    assert manifest["split"] == "10% held out for testing, the end of the stream"
    assert manifest["summary"]["examples"]["train"] == np.bincount(tokens[:cut]).tolist()
    assert manifest["summary"]["shape"] == [8]


def test_other_tokens(play):
    words, _ = made(BLOCK | {"unit": "words", "length": 4}, name="words")
    assert words.class_names == ("be", "is", "not", "or", "question", "that", "the", "to")
    first = [words.class_names[token] for token in words.train_inputs[0, :4]]
    assert first == ["to", "be", "or", "not"]
    as_bytes, _ = made(BLOCK | {"unit": "bytes"}, name="as_bytes")
    assert as_bytes.class_names[as_bytes.train_inputs[0, 0]] == f"{ord('T'):#04x}"
    numbers = np.random.default_rng(0).integers(0, 300, 200)
    np.save("own.npy", numbers)
    numbers.astype(np.uint16).tofile("own.bin")
    for number, file in enumerate(("own.npy", "own.bin")):
        own, _ = made(BLOCK | {"unit": "tokens", "path": file}, name=f"own{number}")
        assert own.vocabulary == numbers.max() + 1
        assert np.array_equal(own.train_inputs[0], numbers[:8])


def test_streams_that_cannot_be_read(here):
    text = "Ist es auch Wahnsinn, so hat es doch Methode: schön"
    Path("play.txt").write_bytes(text.encode("cp1252"))
    wrong(BLOCK, "byte 49 is not UTF-8", "unit: bytes")
    Path("page.txt").write_text("<!DOCTYPE html>")
    wrong(BLOCK | {"path": "page.txt"}, "a web page", name="page")
    np.save("own.npy", np.zeros((2, 3), int))
    block = BLOCK | {"path": "own.npy", "unit": "tokens"}
    wrong(block, "integers from 0 on along one axis", name="own")
    np.save("own.npy", np.array([1, 2**40]))
    wrong(block, "the token 1099511627776", name="large")
    np.arange(99, dtype=np.uint32).tofile("own.bin")
    wrong(block | {"path": "own.bin"}, "as if tokens had 32 bits", name="wide")
    np.savez("own.npz", np.zeros(99, int))
    wrong(block | {"path": "own.npz"}, "tokens are a .npy file", name="npz")
    Path("one.txt").write_text("aaaa")
    wrong(BLOCK | {"path": "one.txt"}, "4 tokens of 1", name="one")


def test_a_stream_shorter_than_a_window_is_refused(play):
    with refusing("datasets.mine.length: the test split has 22 tokens"):
        made(BLOCK | {"length": 22})
