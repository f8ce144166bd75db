"""The look at a model before anything trains: what it returns for two examples, and what that means."""

from typing import Any

import numpy as np

from paragone.base import plugins
from paragone.base.errors import UserError, first_sentence
from paragone.config.run_spec import MODEL, Spec
from paragone.data import Dataset

EXAMPLES = 2  # batch norm needs two
TWICE = 1e-3  # two passes on the same examples differ by less, relative to the outputs


def look(engine: Any, spec: Spec, dataset: Dataset) -> list[str]:
    """Return notices on what is legal and odd. Raises `UserError` for outputs that cannot be scored.

    `engine`: with its model, whose dropout is off.
    """
    inputs = np.array(dataset.train_inputs[:EXAMPLES])
    name = spec.workload.model_name
    file = plugins.origin(name)
    where = f"{file}: model {name}" if file else f"model {name}"
    try:
        with plugins.explaining():
            outputs, again = engine.outputs(inputs), engine.outputs(inputs)
            by_mode = {"training": outputs, "evaluation": engine.outputs(inputs, trains=False)}
    except Exception as error:
        if "Double" not in str(error):
            raise
        raise UserError(
            f"{where} makes numbers of single precision, and the parity gate calls it in double precision "
            f"({first_sentence(error)}); give them the type of the inputs, as `dtype=x.dtype`"
        ) from error
    if outputs is None:  # an engine that does not report them
        return []
    for mode, returned in by_mode.items():
        if not hasattr(returned, "shape"):
            raise UserError(
                f"{where} returns a {type(returned).__name__} in {mode}, and the loss takes one array; "
                "return the logits alone"
            )
    shape, labels = tuple(outputs.shape), dataset.train_labels.shape[1:]
    task, expected = spec.workload.task, (EXAMPLES, *labels)
    if not (task.numeric or task.multi_label):
        expected = (*expected, dataset.outputs)
    has_more = len(shape) == len(expected) and shape[-1] > expected[-1]
    if has_more and not (task.numeric or task.multi_label):
        expected = (*expected[:-1], shape[-1])
    for shape in (tuple(returned.shape) for returned in by_mode.values()):
        if shape != expected:
            raise UserError(
                f"{where} returns outputs of shape {shape} for {EXAMPLES} examples, and {task.name} on data "
                f"set {dataset.name} needs {expected}; its function is given `shape` and `classes`: use them"
            )
    values, repeated = (np.asarray(array, np.float64) for array in (outputs, again))
    if not np.isfinite(values).all():
        raise UserError(f"{where} returns outputs that are not finite on its initial weights")
    if np.linalg.norm(values - repeated) > TWICE * np.linalg.norm(values):
        raise UserError(
            f"{where} returns other outputs for the same examples in each pass: it draws random numbers that "
            "the parity gate cannot switch off, or counts its calls; use the framework's layers of dropout, "
            "and keep in buffers what a call changes"
        )
    notices = _notices(spec, dataset, by_mode, has_more)
    if spec.workload.initializer == MODEL and getattr(engine, "ignores_seed", False):
        notices.append(
            "has the same initial values for every seed; leave setting a seed to the run (of flax: give its "
            "function an argument `rngs`)"
        )
    return [f"{where} {notice}" for notice in notices]


def _notices(
    spec: Spec, dataset: Dataset, by_mode: dict[str, np.ndarray], has_more: bool
) -> list[str]:
    notices, task, several = [], spec.workload.task, by_mode["training"].shape[-1]
    if has_more and "outputs" not in spec.workload.model_options:
        notices.append(
            f"returns {several} outputs, and data set {dataset.name} has {dataset.outputs} "
            "classes: the rest is never right"
        )
    positive = {
        mode: outputs
        for mode, outputs in by_mode.items()
        if several > 1 and ((outputs >= 0) & (outputs <= 1)).all()
    }
    summing = [m for m, outputs in positive.items() if np.allclose(outputs.sum(-1), 1, atol=1e-4)]
    if summing and not task.numeric and spec.workload.loss != "double_softmax":
        notices.append(
            f"returns probabilities in {' and '.join(summing)}, positive and of sum 1, and the loss takes "
            "logits, so that softmax is applied twice; leave it out"
            + ", or write `loss: double_softmax` if the source has this flaw"
            * ("training" in summing)
        )
    if positive and task.multi_label:
        notices.append(
            f"returns numbers between 0 and 1 in {' and '.join(positive)}, where the loss takes logits; "
            "leave the last sigmoid out"
        )
    return notices
