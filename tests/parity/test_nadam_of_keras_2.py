"""The reference's NAdam of Keras 2 is what Keras 2's own class computes."""

import sys
from pathlib import Path

from parity.driving import PATHS
from workspace import call


def test_the_class_of_keras_2_passes(in_one_folder, references):
    program = Path(__file__).with_name("observe_keras_2.py")
    (words,) = (each for each in in_one_folder if "reuters" in each.manifest.parts)
    line = [sys.executable, program, words.folder, words.manifest, references("nadam-keras-2")]
    done = call([*map(str, line)], PYTHONPATH=PATHS)
    assert done.returncode == 0, done.stderr[-3000:]
    # Other constants than Keras', which it rounds to single precision, the protocol does not have.
    assert 0 < float(done.stdout.splitlines()[-1]) < 1e-8
