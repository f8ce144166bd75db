"""The gate at what is timed: the first steps of real runs, in the precision and on the replicas of each.

In double precision what remains of a deviation is a difference of method: the sums over replicas, and whose
batch norm's statistics are kept. Other backends and workloads: test_full.py and test_nightly.py.
"""

from paragone.tasks import Task

TASK = Task(name="classification", class_weights=(9.0, *[0.5] * 9), rule="pytorch")
# Deviations of updates seen: single precision at most 0.007, mixed some 0.1, as bfloat16 has 8 bits.
BOUNDS = {"float64": (0, 1e-4), "float32": (0, 0.05), "bfloat16": (1e-3, 0.5)}


def test_a_run_takes_the_steps_of_the_reference(short_runs, cell):
    steps = short_runs.first_steps(*cell)
    assert steps.passed, steps.reason
    least, most = BOUNDS[cell[2]]
    assert least < steps.deviations["updates"] < most


def test_a_wrong_engine_of_several_replicas_is_refused(short_runs, cell):
    backend, bug, group = cell
    steps = short_runs.first_steps(backend, 2, "float32", bug=bug)
    assert steps.passed is False
    assert f"{group} deviate by" in steps.reason


def test_class_weights_are_averaged_over_the_global_batch(short_runs, cell):
    """Two replicas have labels of different weights, so that a mean per replica would be wrong."""
    steps = short_runs.first_steps(cell, 2, "float64", task=TASK)
    assert steps.passed, steps.reason
    bug = "weights-of-each-replica"
    steps = short_runs.first_steps(cell, 2, "float64", task=TASK, bug=bug)
    assert steps.passed is False
    assert "updates deviate by" in steps.reason


CELLS = {
    # Backend, replicas, precision; more see `ShortRuns.first_steps`.
    test_a_run_takes_the_steps_of_the_reference: [
        ("torch-ddp", 2, "float64"),
        ("torch", 1, "bfloat16", "fashion-cnn", 256),
    ],
    # Backend, the bug that only several replicas show, and the group that deviates.
    test_a_wrong_engine_of_several_replicas_is_refused: [
        ("torch-ddp", "replicas-on-their-own", "updates"),
        ("torch-ddp", "statistics-of-the-second-replica", "means"),
    ],
    test_class_weights_are_averaged_over_the_global_batch: ["torch-ddp"],
}
