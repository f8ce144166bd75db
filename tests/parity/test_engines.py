"""Engines keep what the training loop relies on; other backends: test_full.py and test_nightly.py."""

import pytest
from parity.driving import observe_engine
from workspace import changed, make_spec

from paragone.config.engines import engine_named

ADAM = {"name": "adam", "beta_1": 0.9, "beta_2": 0.999, "epsilon": 1e-7}
ACCUMULATING = {"accumulate": 3}  # of 4 batches of an epoch: it keeps the gradients of some
RATE = {"base": 0.01, "unit": "step", "schedule": {"name": "cosine", "end": 0.1}}


def test_an_engine_keeps_its_contract(small, tmp_path, cell):
    """A model with batch norm, by Adam: all the state that a warm-up or a contest could change.

    By gradients of several batches, and at a learning rate that changes at each step, for which nothing may
    be compiled anew.
    """
    spec = make_spec("fashion-cnn", *cell, global_batch=60, steps_per_epoch=4)
    optimizer = ADAM | (ACCUMULATING if engine_named(spec.backend.engine).accumulates else {})
    spec = changed(spec, {"optimizer": optimizer, "learning_rate": RATE})
    ranks = observe_engine(spec, small, tmp_path)
    for facts in ranks:
        assert facts["repeated"], "an epoch after turns and warm-up repeats one after a checkpoint"
        assert facts["compiled"] == 0, "the warm-up has compiled all"
        # For the sums of the metrics, and to unite statistics of batch norm; not once a step.
        short, long = facts.get("waits", (1, 1))
        assert 1 <= short == long < 20
        # In batches of 768, whose last is padded. Of two equal logits either may be the larger.
        assert facts["evaluated"] == pytest.approx(facts["predicted"], rel=1e-5, abs=2e-3)
        assert min(facts.get("leak", [0])) < 0.03, "an epoch ends with its work"


CELLS = {test_an_engine_keeps_its_contract: [("torch", 1), ("torch-ddp", 2)]}  # backend, replicas
