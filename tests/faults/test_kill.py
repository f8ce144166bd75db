"""A killed trainer resumes from its last checkpoint, and the run ends as if nothing had happened."""

from data_programs import prepare
from faults.killing import KILLED, random_spec, resumes_to_the_same_bits, stream_spec
from workspace import Arrays


@KILLED
def test_a_killed_run_with_dropout_and_augmentation_resumes_to_the_same_bits(small, tmp_path):
    resumes_to_the_same_bits(random_spec("torch"), small, tmp_path)


@KILLED
def test_a_killed_run_on_a_stream_resumes_to_the_same_bits(tmp_path):
    results, data = tmp_path / "results", tmp_path / "data"
    stand_in = {"classes": 65, "vocabulary": 65, "examples": {"train": 2000, "test": 400}}
    block = {"length": 8, "stand_in": stand_in}
    prepare("tiny_shakespeare", results, data, block=block, source="synthetic")
    arrays = Arrays(results / "manifest.json", data)
    resumes_to_the_same_bits(stream_spec("torch"), arrays, tmp_path)
