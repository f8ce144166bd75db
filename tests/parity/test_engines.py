"""Engines keep their contract and take the reference's steps; the gate refuses wrong ones for their reason.

The gate is at what is timed, too: the first steps of real runs, in the precision and on the replicas of each.
In double precision what remains of a deviation is a difference of method: the sums over replicas, and whose
batch norm's statistics are kept. Other backends and workloads: test_full.py and test_nightly.py.
"""

import pytest
from parity.probing import judge, last_of, observe, observe_engine
from parity.protocols import CONFIGURED, TAKEN
from parity.tasks import TASKS
from workspace import changed, make_spec

ADAM = {"name": "adam", "beta_1": 0.9, "beta_2": 0.999, "epsilon": 1e-7}
ACCUMULATING = {"accumulate": 3}  # of 4 batches of an epoch: it keeps the gradients of some
# What a bug leaves as it is JAX then compiles once, into a folder: two fifths less time.
FOLDER = "JAX_COMPILATION_CACHE_DIR"
KEPT = {
    "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
    "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
}
RATE = {"base": 0.01, "unit": "step", "schedule": {"name": "cosine", "end": 0.1}}


def test_an_engine_keeps_its_contract(small, tmp_path, cell):
    """A model with batch norm, by Adam: all the state that a warm-up or a contest could change.

    By gradients of several batches, and at a learning rate that changes at each step, for which nothing may
    be compiled anew.
    """
    spec = make_spec("fashion-cnn", *cell, global_batch=60, steps_per_epoch=4)
    spec = changed(spec, {"optimizer": ADAM | ACCUMULATING, "learning_rate": RATE})
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


# Deviations of updates seen: single precision at most 0.007, mixed some 0.1, as bfloat16 has 8 bits.
BOUNDS = {"float64": (0, 1e-4), "float32": (0, 0.05), "bfloat16": (1e-3, 0.5)}


def test_a_run_takes_the_steps_of_the_reference(short_runs, cell):
    steps = short_runs.first_steps(*cell)
    assert steps.passed, steps.reason
    least, most = BOUNDS[cell[2]]
    assert least < steps.deviations["updates"] < most


def test_every_protocol_passes(in_one_folder, references, tmp_path, cell):
    backend, taken = cell
    observe(backend, TAKEN[taken], in_one_folder, tmp_path, CONFIGURED)
    for name in TAKEN[taken]:
        probes = [tmp_path / name / f"{backend}.npz"]
        verdict = judge(name, references(name), probes)[backend]
        assert verdict["passed"], (name, verdict)


def test_every_task_passes_and_wrong_ones_are_refused_for_their_reason(tmp_path, cell):
    last_of("judge_tasks.py", "reference", tmp_path)
    judged = last_of("judge_tasks.py", cell, tmp_path, **KEPT | {FOLDER: str(tmp_path)})
    assert judged == {"reasons": dict.fromkeys(TASKS), "unexpected": {}}


def test_every_wrong_engine_is_refused_for_its_reason(in_one_folder, references, tmp_path, cell):
    backend, workload, precision, bugs = cell
    manifests = (each.manifest for each in in_one_folder)
    places = in_one_folder[0].folder, references(workload).parents[1], *manifests
    kept = KEPT | {FOLDER: str(tmp_path)}
    judged = last_of("judge_wrong_engines.py", backend, precision, bugs, *places, **kept)
    assert judged["tried"] > 0
    assert judged["unexpected"] == {}


# By fault, the rules that refuse its record, or which of run and contests has no speed.
BROKEN = {
    "nothing": [],
    "at-most-half-of-the-test-set": ["weighed"],
    "half-of-the-test-batches": ["weighed"],
    "half-of-the-test-images": ["weighed"],
    "padding-is-evaluated": ["weighed"],
    "tested-on-training-images": ["weighed"],
    "an-epoch-ends-early": ["counted", "weighed"],
    "gradients-of-two-batches": ["counted"],
    "only-half-is-drawn": ["counted"],
    "one-order-for-all-epochs": ["counted"],
    "order-of-the-files": ["counted"],
    "labels-of-the-neighbors": ["counted"],
    "timed-in-epochs": ["run"],
    "timed-in-turns": ["contests"],
}


def test_a_record_shows_what_was_wrong(small, tmp_path, cell):
    places = tmp_path, small.manifest, small.folder
    assert last_of("judge_records.py", cell, *places) == BROKEN


CELLS = {
    test_a_record_shows_what_was_wrong: ["torch"],
    test_an_engine_keeps_its_contract: [("torch", 1)],  # backend, replicas
    # Backend, replicas, precision; more see `ShortRuns.first_steps`.
    test_a_run_takes_the_steps_of_the_reference: [
        ("torch", 1, "bfloat16", "fashion-cnn", 256),
    ],
    test_every_protocol_passes: [("torch", "all")],
    test_every_task_passes_and_wrong_ones_are_refused_for_their_reason: ["torch"],
    # Backend, a workload (with which others of its kind are tried), precision, bugs.
    test_every_wrong_engine_is_refused_for_its_reason: [("torch", "fashion-cnn", "float64", "all")],
}
