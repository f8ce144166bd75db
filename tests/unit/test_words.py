"""Sentences made from rows of verdicts: the only place that asserts them."""

import math

import numpy as np
import pandas as pd
import pytest
from make_records import LABELS, make_record, typed

from paragone.analysis import tidy
from paragone.analysis.pairwise import BETTER, EQUAL, NOT_COMPARED, UNDECIDED, differences
from paragone.analysis.states import States
from paragone.analysis.verdicts import VERDICTS, Finding, Measured
from paragone.reporting import answers as reported
from paragone.reporting import words
from paragone.reporting.answers import ABSENT, ALSO, BEST, HOLD, OPEN, Tables


def pairs(*rows: tuple, metric: str = "speed", **columns: object) -> pd.DataFrame:
    """Rows of the table of differences: first, second, relation, effect, the winner if there is one."""
    return pd.DataFrame(
        {
            "metric": metric,
            "workload": "fashion-conv",
            "global_batch": 1000,
            "tuning": "as-installed",
            "machine": "here",
            "first": first,
            "second": second,
            "relation": relation,
            "winner": "".join(winner),
            "effect": effect,
            "low": effect - 0.01,
            "high": effect + 0.01,
            "p_adjusted": 0.01 if relation == BETTER else 1.0,
            "needed": 10.0,
            "ratio": metric != "test accuracy",
            "n": 7,
            "unit": "pair",
            "sessions": 1,
            "unit_seconds": math.nan,
            "first_lacks": "",
            "second_lacks": "",
            "runs": "",
            "family": "primary" if metric == "speed" else "exploratory",
        }
        for first, second, relation, effect, *winner in rows
    ).assign(**columns)


A_BEATS_B = ("A", "B", BETTER, 1.2, "A")
B_BEATS_A = ("A", "B", BETTER, 0.8, "B")
EQUALS = [("A", "B", EQUAL, 1.001), ("A", "C", EQUAL, 1.002), ("B", "C", EQUAL, 1.001)]
OF_7 = "(n = 7 pairs)."


@pytest.mark.parametrize(
    ("table", "text"),
    [
        (pairs(A_BEATS_B), "A is best: 1.20 x [1.19, 1.21] faster than B"),
        (pairs(B_BEATS_A), "B is best: 1.25 x [1.23, 1.27] faster than A"),
        (
            pairs(A_BEATS_B, metric="peak memory"),
            "A is best: 17 % [16, 17] less memory than B",
        ),
        (
            pairs(("A", "B", BETTER, 0.1, "A"), metric="test accuracy"),
            "A is best: 0.100 [0.090, 0.110] more accurate than B",
        ),
        (
            pairs(EQUALS[0], low=0.0, high=math.inf),  # five pairs may be equal without an interval
            "A and B are equal within 5 %: 1.00 x apart",
        ),
        (
            pairs(*EQUALS),
            "A, B and C are equal within 5 %: their means are at most 0.2 % apart",
        ),
        (
            pairs(("A", "B", EQUAL, 1.03), ("A", "C", EQUAL, 0.98), ("B", "C", BETTER, 0.94, "C")),
            "the best is A or C; A and C are equal within 5 %: 1.02 x [1.01, 1.03] apart; "
            "C is 1.06 x [1.05, 1.08] faster than B",
        ),
        (
            pairs(("A", "B", UNDECIDED, 1.1), ("A", "C", BETTER, 2, "A"), ("B", "C", BETTER, 2, "B")),
            "the best is A or B, undecided: 3 more pairs are needed; A is 2.00 x [1.99, 2.01] faster "
            "than C; B is 2.00 x [1.99, 2.01] faster than C",
        ),
        (
            pairs(("A", "B", BETTER, 2, "A"), tuning="both"),
            "A is 2.00 x [1.99, 2.01] faster than B",
        ),
        (
            pairs(A_BEATS_B, ("A", "C", NOT_COMPARED, math.nan), second_lacks=["", "crashed"]),
            "A is best: 1.20 x [1.19, 1.21] faster than B; not compared (C: crashed)",
        ),
    ],
)  # fmt: skip
def test_sentences_on_pairs(table, text):
    assert words.sentence(table) == f"{text} {OF_7}"


@pytest.mark.parametrize(
    ("unit", "sessions", "when"),
    [
        ("pair", 1, ""),
        ("contest", 1, ", in this hour"),
        ("contest", 2, ", in these two hours: it takes three to speak of the machine"),
        ("session", 3, ", over 3 hours"),
    ],
)
def test_an_answer_names_its_hours(unit, sessions, when):
    text = words.sentence(pairs(A_BEATS_B, unit=unit, sessions=sessions))
    assert text.endswith(f"(n = 7 {unit}s{when}).")


def test_a_reason_is_said_once_for_all_that_lack_a_value():
    three = [(*names, NOT_COMPARED, math.nan) for names in ("AB", "AC", "BC")]
    table = pairs(*three, first_lacks=["crashed", "crashed", ""])
    assert words.sentence(table) == "not compared (A: crashed; no seed ran both in the same hours)."


@pytest.mark.parametrize(
    ("columns", "why"),
    [
        ({"n": 1, "needed": 6.0}, "one pair has no variance: at least 6 are needed"),
        ({"n": 2, "needed": 6.0}, "two pairs hardly tell how they vary: at least 6 are needed"),
        ({"n": 9}, "1 more pair is needed"),
        ({"n": 7}, "3 more pairs are needed"),
        ({"needed": math.nan}, "the runs vary so much that no affordable number decides"),
        ({"n": 10, "effect": 0.97}, "the effect lies between none and the margin: more pairs may decide"),
        ({"n": 10, "effect": 0.90}, "more pairs may decide"),
        (
            {"n": 6, "unit": "contest", "unit_seconds": 40.0},
            "4 more contests are needed, about 3 minutes",
        ),
    ],
)  # fmt: skip
def test_what_an_undecided_pair_takes(columns, why):
    table = pairs(("A", "B", UNDECIDED, 1.1)).assign(**columns)
    assert words.sentence(table).startswith(f"undecided between A and B: {why} (n = ")
    assert words.with_words(table)["why"].item() == why


def test_rows_have_a_verdict_and_a_reason_for_readers():
    table = pairs(
        A_BEATS_B,
        ("A", "B", EQUAL, 1.02, "A"),
        ("A", "B", NOT_COMPARED, math.nan),
        ("A", "B", NOT_COMPARED, math.nan),
        first_lacks=["", "", "crashed", ""],
        second_lacks=["", "", "diverged", ""],
    )
    found = words.with_words(table)
    assert found["verdict"].tolist() == ["A is faster", "equal within 5 %", *["not compared"] * 2]
    reasons = ["A is faster, within the margin", "A: crashed, B: diverged", words.NOT_BOTH["pair"]]
    assert found["why"].tolist() == ["", *reasons]


def test_who_is_quickest():
    assert words.quickest([]) == ""
    assert words.quickest([("A", 0.0)]) == " By medians A is quickest at any length."
    assert words.quickest([("A", 0.0), ("B", 9000.0), ("C", 1e6)]) == (
        " By medians, evaluation aside, A is quickest up to about 9,000 examples, from 9,000 on B then from "
        "1,000,000 on C."
    )


def of(table: pd.DataFrame, heading: str, **more: object) -> list[reported.Answer]:
    """The answers below a heading that the table of differences of one experiment gives."""
    runs, _ = tidy.tables(typed([make_record("torch")]), "one", {})
    sections = reported.answers([Tables("one", "Which?", runs, table)], **more)
    return next(section.answers for section in sections if section.heading == heading)


def test_answers_have_a_subject_and_a_heading():
    memory = pairs(("A", "B", UNDECIDED, 1.1), metric="peak memory")
    accuracy = pairs(A_BEATS_B, metric="test accuracy")
    table = pd.concat([pairs(A_BEATS_B), pairs(B_BEATS_A, metric="end to end"), memory, accuracy])
    speed, whole = of(table, BEST)
    assert speed.text.startswith("speed, once training is steady, without compilation: A is best")
    assert (speed.outcome, speed.verdict) == (BETTER, "faster")
    assert "(exploratory): B is best" in whole.text
    assert [answer.verdict for answer in of(table, ALSO)] == ["more accurate"]
    assert [answer.text for answer in of(table, OPEN)] == ["Nothing."]


def test_tuning_works_and_machines_are_part_of_the_subject():
    parts = [
        pairs(A_BEATS_B, machine="new"),
        pairs(A_BEATS_B, machine="old", tuning="tuned"),
        pairs(A_BEATS_B, tuning="both", workload="fashion-cnn"),
    ]
    subjects = [answer.text.partition(", once")[0] for answer in of(pd.concat(parts), BEST)]
    assert subjects == [
        "speed (fashion-conv, batch 1,000) on new",
        "speed when tuned (fashion-conv, batch 1,000) on old",
        "what tuning is worth in speed (fashion-cnn, batch 1,000) on here",
    ]


def test_what_was_run_once_is_one_answer():
    rows = [
        pairs(("A", "B", UNDECIDED, 1.1), metric=metric, n=1, needed=6.0, family="exploratory")
        for metric in ("speed", "end to end")
    ]
    (answer,) = of(pd.concat(rows), OPEN)
    assert answer.text == (
        "speed and end to end: one pair each of A and B, and one has no variance: "
        "at least 6 are needed."
    )


def test_what_was_not_compared_or_not_run_is_named():
    (answer,) = of(pd.DataFrame(), OPEN)
    assert answer.text.startswith("no two backends did the same work")
    assert [answer.text for answer in of(pd.DataFrame(), ABSENT)] == ["All ran."]
    assert [answer.text for answer in of(pd.DataFrame(), ABSENT, left_out=["no."])] == ["no."]
    made = [make_record("torch"), make_record("tensorflow-tpu", status="unavailable")]
    runs, _ = tidy.tables(typed(made), "one", {})
    section = reported.answers([Tables("one", "Which?", runs)])[-1]
    assert section.sentences == ["Which? fashion-conv on tensorflow-tpu: device not available."]


def test_a_disturbed_machine_is_told_by_those_that_lost_most():
    lost = {"JAX": 0.08, "eager PyTorch": 0.43, "TensorFlow": 0.27}
    places = tuple((1, number) for number in range(7))
    found = States("question", "fashion-conv", 1000, "here", 20, places, lost)
    assert words.of_states(found) == (
        "In 7 of 20 rounds the machine was slower: eager PyTorch lost 43 %, TensorFlow 27 %, JAX 8 %."
    )
    many = {f"a backend {number} tuned": 0.5 - number / 100 for number in range(9)}
    text = words.of_states(States("question", "fashion-conv", 1000, "here", 20, places, many))
    assert len(text.split()) <= 25
    assert "backend 0" in text


def test_calm_rounds_are_told_where_their_verdict_differs():
    rows = pairs(A_BEATS_B, ("A", "C", EQUAL, 1.001), ("B", "C", UNDECIDED, 1.1))
    assert words.in_calm_rounds(rows, rows.assign(effect=1.3)) == [
        "In calm rounds alone the verdict is the same."
    ]
    calm = pairs(("A", "B", UNDECIDED, 1.1), ("A", "C", BETTER, 1.2, "A"), ("B", "C", EQUAL, 1.001))
    assert words.in_calm_rounds(rows, calm) == [
        "In calm rounds alone A and B are undecided.",
        "In calm rounds alone A is 1.20 x [1.19, 1.21] faster than C.",
        "In calm rounds alone B and C are equal within 5 %: 1.00 x [0.99, 1.01] apart.",
    ]


@pytest.mark.parametrize(("repeats", "relation"), [(7, BETTER), (1, UNDECIDED)])
def test_answers_of_records(tmp_path, repeats, relation):
    """From records to a file of answers and back."""
    made = [
        make_record(backend, seed=seed, speed=speed + seed)
        for backend, speed in (("torch", 2000.0), ("torch-xla", 1000.0))
        for seed in range(repeats)
    ]
    parity = {("fashion-conv", backend): True for backend in ("torch", "torch-xla")}
    runs, _ = tidy.tables(typed(made), "one", parity)
    table = words.with_words(differences(runs, LABELS)).assign(family="primary")
    folder = tmp_path / "one"
    folder.mkdir()
    tidy.write(runs, folder / "runs.parquet")
    tidy.write(table, folder / "differences.csv")
    sections = reported.from_tables(
        ["Which?"], [folder / "runs.parquet"], [folder / "differences.csv"], []
    )
    best = sections[0].answers[0]
    assert (best.outcome, len(best.runs)) == (relation, 2 * repeats)
    tidy.write(reported.to_frame(sections), tmp_path / "answers.csv")
    assert reported.read(tmp_path / "answers.csv") == sections


def published(verdicts: dict[str, str], **columns: object) -> pd.DataFrame:
    """A comparison: the final numbers of a run, with their verdicts."""
    about = {
        "system": "8 TPU cores",
        "workload": "fashion-conv",
        "judge": "PyTorch",
        "family": "final",
        "value": 0.8123,
        "rounding": 5e-5,
        "center": 0.81,
        "low": 0.8,
        "high": 0.82,
        "margin": 0.02,
        "n": 21,
        "own": "0.81 0.8",
        "p": 0.0123,
        "noticed": 0.0116,
        "is_equal": False,
        "published_runs": 1,
        "curve": "",
        "inside": np.nan,
        "explanation": "",
        "explained": "",
        "bound": "",
        "why": "PyTorch: why",
        "has_runs": True,
        "runs": "",
        "run_verdict": min(verdicts.values(), key=VERDICTS.index),
        **columns,
    }
    return pd.DataFrame(verdicts.items(), columns=["metric", "verdict"]).assign(**about)


def holds(table: pd.DataFrame) -> list[reported.Answer]:
    runs, _ = tidy.tables(typed([make_record("torch")]), "one", {})
    sections = reported.answers([Tables("one", "Holds?", runs, comparison=table)])
    return next(section.answers for section in sections if section.heading == HOLD)


def test_published_runs_are_counted_and_their_numbers_given():
    verdicts = {"test_accuracy": "holds", "test_loss": "consistent", "train_loss": "differs"}
    others = published({"parameters": "holds"}, family="", run_verdict="", why="equal")
    table = pd.concat([published(verdicts), others], ignore_index=True)
    overview, parameters, answer = (found.text for found in holds(table))
    assert overview == "Of 1 published run 1 differs. Of 1 other numbers and ratios 1 holds."
    assert parameters == "8 TPU cores, parameters: holds (equal)."
    assert answer == (
        "8 TPU cores, judged by PyTorch: "
        "test accuracy 0.8123: holds (0.0023 above, within the margin of 0.02); "
        "test loss 0.8123: consistent (0.0023 above, a weak test: only 0.012 would have been noticed); "
        "training loss 0.8123: differs (0.0023 above, p = 0.012; 0.012 would have been noticed)."
    )


def test_an_explanation_is_said():
    about = {"explanation": "wider", "explained": "holds", "is_equal": True, "p": 0.0}
    _, answer = holds(published({"test_accuracy": "differs"}, **about))
    assert answer.outcome == "differs"
    assert answer.text.endswith(
        "(0.0023 above, equal within the margin, p < 0.001; 0.012 would have been noticed). "
        "As a run of wider, its second protocol, it holds."
    )


@pytest.mark.parametrize(
    ("verdict", "text"),
    [
        ("holds", "one more run is beyond the bound"),
        ("differs", "one more run falls short of the bound"),
        ("consistent", "one more run may be on either side of the bound"),
        ("at chance", "not above always guessing the most frequent class"),
    ],
)
def test_words_of_bounds_and_of_chance(verdict, text):
    _, answer = holds(published({"test_accuracy": verdict}, bound="lower"))
    assert f"{verdict} ({text})" in answer.text


def test_why_a_system_cannot_be_compared_is_the_reason_of_what_was_run():
    names = ("test_accuracy", "test_loss", "train_loss")
    table = published(dict.fromkeys(names, "not comparable"), n=np.nan)
    table["why"] = ["no run with global batch 128"] * 2 + ["other hardware"]
    (answer,) = holds(table)
    assert answer.text == "8 TPU cores: not comparable (no run with global batch 128)."
    table["has_runs"] = [False, False, True]
    (answer,) = holds(table)
    assert answer.text == "8 TPU cores: not comparable (other hardware)."


@pytest.mark.parametrize(
    ("reason", "text"),
    [
        (("global_batch", 500, 1000), "global batch 500, published 1000"),
        (("no_batch", 128, [8, 64]), "no run with global batch 128 (8, 64 are there)"),
        (("no_replicas", 1), "no run with 1 replica"),
        (("none_completed", ["crashed", "diverged"]), "no run was completed: crashed; diverged"),
        (("stuck", (5, 9)), "left out as stuck: seeds 5 and 9"),
        (("times", 4.9, True), "published is 4.90 times the measured ratio, in the opposite direction"),
        (("few_runs", 3), "no committed spread of this protocol: an interval takes 3 runs"),
        (
            ("vocabulary", -14, 30_980, 30_982, 7),
            "14 fewer: the vocabulary has 30,980 words, published 30,982, and each word has 7 parameters; "
            "all others are equal",
        ),
        (("count", 3), "differs by +3"),
    ],
)  # fmt: skip
def test_sentences_on_reasons(reason, text):
    assert words.reason(reason) == text


@pytest.mark.parametrize(
    ("measured", "text"),
    [
        (None, "-"),
        (Measured(0.885, 4, 1), "0.8850 (n = 1)"),
        (Measured(2326.21, 1, 1, remark=("extrapolated",)), "2,326.2 (n = 1), extrapolated"),
        (Measured(0.5, 3, 3, 0.4, 0.6, unit="s"), "0.500 [0.400, 0.600] s (n = 3)"),
    ],
)
def test_texts_of_measured_values(measured, text):
    assert words.measured(Finding("consistent", measured=measured)) == text
