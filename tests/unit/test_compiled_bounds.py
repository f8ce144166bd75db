"""Compiled steps: the roofline by hand, records, published times beside."""

import json
from dataclasses import replace

import pandas as pd
import pytest
from make_compilations import compilation, refused

from paragone.analysis.ahead_of_time.published import VERDICT, beside, sentences, speed_ups
from paragone.analysis.ahead_of_time.roofline import (
    bound,
    flop_of,
    gathers_activations,
    sent,
)
from paragone.analysis.ahead_of_time.table import table
from paragone.analysis.published import Protocol, Ratio, Row
from paragone.base.errors import UserError
from paragone.records.compilations import check_compilation
from paragone.records.measurements import read


def test_a_roofline_by_hand():
    """1,024 examples of 2 MFLOP over 8 devices; 100 MB; a ring of 8 that reduces 80 kB."""
    found = bound(check_compilation(compilation()))
    assert found.compute == pytest.approx(0.256e-3)  # 1024 x 2e6 / 8 / 1e12
    assert found.memory == pytest.approx(1e-3)  # 1e8 / 1e11
    assert found.links == pytest.approx(14e-6)  # 2 x 7/8 x 80,000 / 1e10
    assert (found.binds, found.seconds) == ("memory", found.memory)
    assert found.apart == pytest.approx(1.27e-3)


def arithmetic_of(made: dict) -> float:
    record = check_compilation(made)
    return flop_of(record.program, record.cost)


def test_the_compiler_counts_an_evaluation_and_nobody_what_it_does_not_count():
    of = {"step": "evaluate"}
    assert arithmetic_of(compilation(program=of)) == 3e8
    unknown = check_compilation(compilation(program=of, cost={"flop": None}))
    assert bound(unknown).compute is None
    assert bound(unknown).apart == pytest.approx(1.014e-3)


def test_a_precision_without_a_documented_peak_has_no_arithmetic_bound():
    assert bound(check_compilation(compilation(program={"precision": "bfloat16"}))).compute is None


@pytest.mark.parametrize(
    ("kind", "group", "per_chip", "bytes_sent"),
    [
        ("all-reduce", 8, 1, 1400),
        ("all-gather", 8, 1, 700),
        ("reduce-scatter", 8, 1, 5600),
        ("all-to-all", 4, 1, 600),
        ("collective-permute", 8, 1, 800),
        ("all-reduce", 1, 1, 0),
        # Devices of one chip add first and share its links: a chip of four sends 2 x 3/4 of 800.
        ("all-reduce", 8, 2, 600),
        ("all-gather", 8, 2, 300),
        ("reduce-scatter", 8, 2, 2400),
        ("all-to-all", 8, 2, 600),
        ("all-reduce", 2, 2, 0),
        ("all-reduce", 3, 2, 400),  # on two chips at least
        ("collective-permute", 2, 2, 0),
    ],
)
def test_what_a_device_sends(kind, group, per_chip, bytes_sent):
    one = {"kind": kind, "bytes": 800, "group": group, "count": 3}
    record = check_compilation(compilation(collectives=[one], target={"per_chip": per_chip}))
    assert sent(record.collectives, per_chip) == pytest.approx(3 * bytes_sent)
    assert bound(record).links == pytest.approx(3 * bytes_sent / 1e10)


def test_arithmetic_is_the_less_of_both_counts():
    assert arithmetic_of(compilation()) == 2.56e8
    record = check_compilation(compilation(cost={"flop": 2e8}))
    assert flop_of(record.program, record.cost) == 2e8
    assert table([record])["flop_ratio"].tolist() == [pytest.approx(2e8 / 2.56e8)]


def test_devices_that_gather_whole_activations_do_not_divide_the_examples():
    """1,024 inputs of 784 are 3.2 MB in float32, the weights 88 kB; activations are larger."""

    def gathers(size: int) -> bool:
        one = {"kind": "all-gather", "bytes": size, "group": 8, "count": 1}
        return gathers_activations(check_compilation(compilation(collectives=[one])))

    assert [gathers(size) for size in (1024 * 784, 4 * 1024 * 784, 5_898_240)] == [
        False,
        False,
        True,
    ]
    assert not gathers_activations(check_compilation(compilation()))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"fits": False}, "fits: contradicts"),
        ({"surprise": 1}, "surprise"),
        ({"status": "refused"}, "expected to be empty"),
        ({"target": {"devices": 4}}, "program.devices"),
    ],
)
def test_a_record_that_contradicts_itself_is_one_message(changes, words, tmp_path):
    path = tmp_path / "record.json"
    path.write_text(json.dumps(compilation(**changes)))
    with pytest.raises(UserError, match=words) as raised:
        read(path, check_compilation)
    assert str(path) in str(raised.value)


def test_a_sum_that_is_wrong():
    memory = {**compilation()["memory"], "total": 5701}
    with pytest.raises(ValueError, match="5701 is not the sum"):
        check_compilation(compilation(memory=memory))


def test_a_refusal_is_a_row_that_says_why():
    records = [compilation(), refused("refused", "INVALID_ARGUMENT: no such TPU")]
    rows = table([check_compilation(one) for one in records])
    assert rows["status"].tolist() == ["compiled", "refused"]
    assert rows["reason"].iloc[1] == "INVALID_ARGUMENT: no such TPU"
    assert pd.isna(rows["bound_seconds"].iloc[1])
    assert rows["flop_ratio"].iloc[0] == pytest.approx(3e8 / 2.56e8)


PROTOCOL = Protocol("fashion-cnn", {}, replicas=8, global_batch=1024, epoch_examples=60_000)


def published(metric: str, value: str, unit: str, **more: object) -> Row:
    about = {"epoch": None, "final": False, **more}
    return Row(metric, "a condition", "8 cores", value, unit, "", **about)


@pytest.mark.parametrize(
    ("row", "seconds"),
    [
        (published("training_time", "269", "s", epoch=50, final=True), 269 / 2900),
        (published("epoch_time", "29", "s", epoch=3), 0.5),
        (published("step_time", "23", "ms", epoch=3), 0.023),
        (published("throughput", "2048", "images/s"), 0.5),
    ],
)
def test_a_published_time_has_its_bound_beside_it(row, seconds):
    records = [check_compilation(compilation())]
    (found,) = beside("x", "8 cores", "made-8", [row], {"8 cores": PROTOCOL}, records)
    assert found.verdict == VERDICT == "lower bound, compiled, not run"
    assert found.seconds == pytest.approx(seconds)
    assert found.lower == pytest.approx(1e-3)
    assert found.explained == pytest.approx(1.27e-3 / seconds)


@pytest.mark.parametrize(
    ("record", "why"),
    [
        (compilation(program={"global_batch": 512}), "no such program was compiled"),
        (compilation(program={"step": "evaluate"}), "no such program was compiled"),
        (refused("no_compiler", "libtpu is not installed"), "jax: libtpu is not installed"),
    ],
)
def test_without_the_same_program_there_is_no_bound(record, why):
    row, protocols = published("step_time", "23", "ms"), {"8 cores": PROTOCOL}
    records = [check_compilation(record)]
    (found,) = beside("x", "8 cores", "made-8", [row], protocols, records)
    assert (found.verdict, found.why, found.explained) == ("no bound", why, None)


def test_a_published_speed_up_beside_what_the_programs_allow():
    """One device: 1 ms of memory or 1.256 with arithmetic; eight: 0.5 ms of memory, 0.77 with links."""
    alone = compilation(
        program={"devices": 1, "flop_per_example": 250_000},
        target={"name": "made-1", "devices": 1},
        collectives=[],
    )
    together = compilation(cost={"memory_traffic": 5e7})
    protocols = {
        "1 core": Protocol("fashion-cnn", {}, 1, 1024, epoch_examples=60_000),
        "8 cores": PROTOCOL,
    }
    rows = [published("epoch_time", "58", "s"), published("epoch_time", "20", "s")]
    rows[0] = replace(rows[0], system="1 core", condition="alone")
    records = [check_compilation(one) for one in (alone, together)]
    found = [
        *beside("x", "1 core", "made-1", rows, protocols, records),
        *beside("x", "8 cores", "made-8", rows, protocols, records),
    ]
    ratio = Ratio("speed_up", row=rows[1], reference=rows[0], inverse=True)
    ((row, speed_up),) = speed_ups(found, [ratio]).items()
    assert row is rows[1]
    assert speed_up.most == pytest.approx(1e-3 / 0.5e-3)
    assert speed_up.least == pytest.approx(1.256e-3 / 0.77e-3)
    assert speed_ups(found[1:], [ratio]) == {}
    speeds = [replace(one, row=replace(one.row, metric="throughput")) for one in found]
    pair = Ratio("speed_up", row=speeds[1].row, reference=speeds[0].row, inverse=True)
    assert speed_ups(speeds, [pair]) == {}  # of times alone


def test_the_answer_says_which_part_of_a_speed_up_is_not_of_the_devices():
    row = {
        "system": "2 GPUs",
        "workload": "mobilenet-v2",
        "condition": "batch 64",
        "target_label": "2 made",
        "metric": "epoch_time",
        "published": "36 s",
        "step_seconds": 0.1,
        "bound_seconds": 0.01,
        "explained": 0.2,
        "why": "",
        "against": "1 GPU (batch 64)",
        "speed_up": 4.2,
        "allowed_least": 1.8,
        "allowed_most": 2.0,
    }
    _, text = sentences(pd.DataFrame([row]))
    assert text.startswith("2 GPUs (batch 64) against 1 GPU (batch 64): published 4.2 x as fast; ")
    assert "allow 1.8 to 2 x" in text
    assert "If they are, the rest, 2.1 x at least, is not of" in text


def test_the_answer_names_the_share_that_the_device_explains_at_most():
    rows = {
        "system": "8 cores",
        "workload": "fashion-cnn",
        "target_label": "8 made devices",
        "metric": "step_time",
        "published": "23 ms",
        "condition": "epoch 2",
        "step_seconds": 0.023,
        "bound_seconds": 1e-3,
        "explained": 1.27 / 23,
        "why": "",
        "speed_up": None,
    }
    (text,) = sentences(pd.DataFrame([rows, {**rows, "explained": 0.01}]))
    assert "at most 5.5 % of a published step (23 ms" in text
    assert VERDICT in text
    (nothing,) = sentences(pd.DataFrame([{**rows, "explained": None, "why": "refused"}]))
    assert nothing == "8 cores, fashion-cnn: no bound (refused)."
    (whole,) = sentences(pd.DataFrame([{**rows, "explained": 1.05}]))
    assert "one after the other, explain all of a published step" in whole
    assert whole.endswith("they overlapped, or the machine was another one.")
    other = {**rows, "workload": "reuters-cnn"}
    assert [text.split(":")[0] for text in sentences(pd.DataFrame([rows, other]))] == [
        "8 cores, fashion-cnn",
        "8 cores, reuters-cnn",
    ]
