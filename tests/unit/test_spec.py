"""The specification: its identity, its steps and its learning rates."""

import hashlib
import json
import math
from collections.abc import Callable

import msgspec
import pytest
import torch
from msgspec.structs import replace
from plan import Plan
from torch.optim.lr_scheduler import (
    CosineAnnealingLR,
    ExponentialLR,
    LinearLR,
    MultiStepLR,
    StepLR,
)
from workspace import changed, make_spec, refusing

from paragone.config.run_spec import Spec
from paragone.config.schedules import LearningRate

SPEC = make_spec("fashion-cnn", "torch-xla", replicas=8, global_batch=1024)
DATA = json.loads(SPEC.to_json())


def test_the_identity_is_of_all_values_and_of_no_order():
    plan = Plan()
    specs = [*plan.runs.values(), *plan.probes.values(), *plan.references.values()]
    texts = {spec.to_json(): spec for spec in specs}
    assert all(Spec.from_json(text) == spec for text, spec in texts.items())
    assert len({spec.name for spec in specs}) == len(texts)
    assert msgspec.convert(dict(reversed(DATA.items())), Spec).name == SPEC.name


def test_identity_is_the_hash_of_the_canonical_text():
    """A changed identity retrains everything: this fails when that happens by accident."""
    text = (
        '{"backend":{"device":"cpu","engine":"e","name":"b","strategy":"s"},'
        '"deterministic":true,"epochs":1,"global_batch":2,"per_replica_batch":2,'
        '"precision":"float32","replicas":1,"seed":0,"steps_per_epoch":null,"tuning":{},"workers":1,'
        '"workload":{"dataset":"x","initializer":"keras","input":{"divide":255,"mean":0.0,"std":1},'
        '"learning_rate":{"base":1},"model":{"name":"m"},"name":"w","optimizer":{"name":"o"}}}'
    )
    spec = Spec.from_json(text)
    assert spec.to_json() == text
    digest = hashlib.sha256(text.encode()).hexdigest()
    assert spec.name == f"w.b.r1.b2.s0.{digest[:8]}" == "w.b.r1.b2.s0.7f8bc567"


def test_a_default_that_is_written_out_is_the_same_run():
    workload = {
        "loss": "cross_entropy",
        "shuffle": "each_epoch",
        "task": {"name": "classification"},
    }
    written = changed(SPEC, workload, {"feed": "batches"})
    assert written.name == SPEC.name


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("{", "not the specification of a run: "),
        (SPEC.to_json()[:-1] + ',"colour":1}', "not the specification of a run: "),
        (
            json.dumps(DATA | {"workload": DATA["workload"] | {"model": {}}}),
            "has a model whose name is missing",
        ),
        (
            json.dumps(
                DATA | {"workload": DATA["workload"] | {"model": {"name": "a", "pairs": []}}}
            ),
            "has model.pairs which are no names by name; write {theirs: ours}",
        ),
    ],
)
def test_malformed_text_is_one_error(text, place):
    with refusing("--spec: ", place):
        Spec.from_json(text)


@pytest.mark.parametrize(
    ("examples", "limit", "steps", "trained"),
    [(60_000, None, 59, 60_000), (60_000, 58, 58, 59_392), (2048, None, 2, 2048)],
)
def test_a_partial_batch_that_is_kept_is_a_step_of_fewer_examples(examples, limit, steps, trained):
    spec = replace(SPEC, steps_per_epoch=limit)
    assert spec.steps(examples) == (limit or examples // 1024)
    spec = replace(spec, workload=replace(spec.workload, partial_batch="keep"))
    assert (spec.steps(examples), spec.epoch_examples(examples)) == (steps, trained)
    with refusing("partial_batch: ", "7 examples, does not divide"):
        replace(spec, steps_per_epoch=None).steps(1031)


@pytest.mark.parametrize(("asked", "left"), [(6000, 54_000), (0.1, 54_000), (58_976, 1024)])
def test_what_is_held_out_leaves_a_batch_or_is_refused(asked, left):
    spec = changed(SPEC, {"validation": {"last": asked}})
    assert spec.split(60_000) == (left, 60_000 - left)
    assert SPEC.split(60_000) == (60_000, 0)
    spec = changed(SPEC, {"validation": {"last": 58_977}})
    with refusing("fashion-cnn.validation: ", "58977 of 60000 ", "no batch of 1024"):
        spec.split(60_000)


def test_a_run_that_ends_before_its_first_update_is_refused():
    optimizer = {**SPEC.workload.optimizer, "accumulate": 8}
    spec = replace(SPEC, workload=replace(SPEC.workload, optimizer=optimizer), steps_per_epoch=4)
    assert replace(spec, epochs=2).steps(8192) == 4
    with refusing("accumulate: an update takes 8 batches, ", "have 4"):
        replace(spec, epochs=1).steps(8192)


def test_rate_grows_with_the_global_batch():
    spec = changed(SPEC, {"learning_rate": {"base": 0.01, "per_batch": 128}})
    assert spec.learning_rates(1, 1)[0] == pytest.approx(0.08)
    assert replace(spec, global_batch=128, per_replica_batch=16).learning_rates(1, 1) == [0.01]


def test_decay_of_the_batch_size_lab():
    """Published: 0.01, divided by 10 after 15 epochs, by 100 after 25, by 1,000 after 35."""
    spec = make_spec("wide-resnet", "torch", global_batch=32)
    rates = {1: 1e-2, 15: 1e-2, 16: 1e-3, 25: 1e-3, 26: 1e-4, 35: 1e-4, 36: 1e-5, 40: 1e-5}
    assert {epoch: spec.learning_rates(epoch, 1)[0] for epoch in rates} == pytest.approx(rates)


# Schedules, against PyTorch's and the formulas of programs and papers.
EPOCHS, STEPS = 5, 8
LENGTH = EPOCHS * STEPS


def of_run(epochs: int = EPOCHS, steps: int = STEPS, **block) -> list[float]:
    """The factors of all steps of a run."""
    schedule = msgspec.convert({"base": 1.0, **block}, LearningRate)
    return [
        factor for epoch in range(epochs) for factor in schedule.factors(epoch + 1, epochs, steps)
    ]


def of_pytorch(make: Callable) -> list[float]:
    """The rates of a scheduler that is stepped after each step of the optimizer."""
    optimizer = torch.optim.SGD([torch.zeros(1)], lr=1.0)
    scheduler, rates = make(optimizer), []
    for _ in range(LENGTH):
        rates.append(scheduler.get_last_lr()[0])
        optimizer.step()
        scheduler.step()
    return rates


@pytest.mark.parametrize(
    ("shape", "theirs"),
    [
        ({"name": "linear", "end": 0.2}, lambda of: LinearLR(of, 1.0, 0.2, LENGTH)),
        ({"name": "cosine", "end": 0.1}, lambda of: CosineAnnealingLR(of, LENGTH, 0.1)),
        ({"name": "exponential", "rate": 0.9}, lambda of: ExponentialLR(of, 0.9)),
        ({"name": "steplr", "step_size": 3, "gamma": 0.7}, lambda of: StepLR(of, 3, 0.7)),
        (
            {"name": "multisteplr", "milestones": [1, 7, 30], "gamma": 0.2},
            lambda of: MultiStepLR(of, [1, 7, 30], 0.2),
        ),
    ],
    ids=lambda value: value.get("name", "") if isinstance(value, dict) else "",
)
def test_the_shapes_are_those_of_pytorch(shape, theirs):
    own = of_run(unit="step", schedule=shape)
    assert own == pytest.approx(of_pytorch(theirs), rel=1e-9, abs=1e-12)
    # Counted in epochs, the rate is that of an epoch's first step, and constant within it.
    by_epoch = of_run(epochs=LENGTH, steps=2, schedule=shape)
    assert by_epoch == [factor for factor in own for _ in range(2)]


def test_warm_up_and_cosine_of_nanogpt():
    """Its function of the iteration: 100 of warm-up to 1e-3, half a cosine to 1e-4 at iteration 2,000."""

    def published(iteration: int) -> float:
        if iteration < 100:
            return 1e-3 * (iteration + 1) / 101
        share = (iteration - 100) / (2000 - 100)
        return 1e-4 + 0.5 * (1 + math.cos(math.pi * share)) * (1e-3 - 1e-4)

    schedule = {"name": "cosine", "end": 0.1, "over": 2000}
    own = of_run(1, 2300, unit="step", warmup={"length": 100}, schedule=schedule)
    assert [1e-3 * factor for factor in own[:2001]] == pytest.approx(
        [published(iteration) for iteration in range(2001)]
    )
    assert own[2001:] == pytest.approx([0.1] * 299)
