"""A killed trainer resumes from its last checkpoint, and the run ends as if nothing had happened."""

from faults.killing import KILLED, random_spec, resumes_to_the_same_bits, stream_spec


@KILLED
def test_a_killed_run_with_dropout_and_augmentation_resumes_to_the_same_bits(small, tmp_path):
    resumes_to_the_same_bits(random_spec("torch"), small, tmp_path)


@KILLED
def test_a_killed_run_on_a_stream_resumes_to_the_same_bits(prose, tmp_path):
    resumes_to_the_same_bits(stream_spec("torch"), prose, tmp_path)
