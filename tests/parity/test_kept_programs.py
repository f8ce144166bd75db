"""What probes and contests keep of compiled programs changes nothing but their start."""

import numpy as np
import pytest
from parity.probing import probe_command
from workspace import call, config_of

from paragone.config.expand import probe

pytestmark = pytest.mark.nightly


def test_jax_takes_kept_programs_and_computes_the_same(small, tmp_path_factory):
    """One that is damaged is compiled again."""
    spec, folder = probe(config_of(), "fashion-conv", "jax"), tmp_path_factory.mktemp("t")

    def computed(name: str) -> dict[str, bytes]:
        output = folder / f"{name}.npz"
        done = call(probe_command([spec], [small], [output]), TMPDIR=str(folder))
        assert done.returncode == 0, done.stderr
        with np.load(output) as arrays:
            return {name: arrays[name].tobytes() for name in arrays.files}

    first = computed("first")
    kept = {*folder.glob("paragone-*/programs/*/*-cache")}
    (step,) = (path for path in kept if path.name.startswith("jit__train-"))
    step.write_bytes(step.read_bytes()[:100])
    assert computed("second") == first
    assert {*folder.glob("paragone-*/programs/*/*-cache")} == kept
