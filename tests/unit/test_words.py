"""Sentences made from rows of verdicts: the only place that asserts them, and what holds for all of them."""

import json
import math
import re
from collections.abc import Iterator

import msgspec
import pandas as pd
import pytest
from make_records import LABELS, make_record, tabulated
from make_tables import pairs

from paragone.analysis import tidy
from paragone.analysis.pairwise import BETTER, EQUAL, NOT_COMPARED, UNDECIDED, differences
from paragone.analysis.prediction import Claim, Judgement
from paragone.analysis.verdicts import FINAL, Finding, Measured, PublishedRun
from paragone.reporting import answers as reported
from paragone.reporting import words
from paragone.reporting.answers import BEST, HOLD, OPEN, Section, Tables

NOTHING = pd.DataFrame()
A_BEATS_B = ("A", "B", BETTER, 1.2, "A")
B_BEATS_A = ("A", "B", BETTER, 0.8, "B")
EQUALS = [("A", "B", EQUAL, 1.001), ("A", "C", EQUAL, 1.002), ("B", "C", EQUAL, 1.001)]
LONG_NAME = "TensorFlow MultiWorker (double softmax, {} replicas, tuned)"
LONG = [LONG_NAME.format(number) for number in (1, 2, 4)]


@pytest.mark.parametrize(
    ("metric", "better", "other"),
    [("speed", "faster", "slower"), ("peak memory", "smaller in memory", "worse")],
)
def test_a_variant_beside_the_baseline(metric, better, other):
    (row,) = pairs(A_BEATS_B, metric=metric).to_dict("records")
    assert [words.beside_baseline(row, label) for label in "AB"] == [better, other]


@pytest.mark.parametrize(
    ("table", "text"),
    [
        (pairs(A_BEATS_B), "A is fastest, 1.20 times as fast as B."),
        (pairs(B_BEATS_A), "B is fastest, 1.25 times as fast as A."),
        (
            pairs(("A", "B", BETTER, 2, "A"), ("A", "C", BETTER, 1.5, "A"), ("B", "C", BETTER, 0.7, "C")),
            "A is fastest, 1.50 times as fast as C.",
        ),
        (
            pairs(A_BEATS_B, metric="peak memory"),
            "A is smallest in memory, with 17 % less memory than B.",
        ),
        (
            pairs(("A", "B", BETTER, 0.1, "A"), metric="test accuracy"),
            "A is most accurate, by 0.100 over B.",
        ),
        (pairs(*EQUALS), "A, B and C are equal within 5 %."),
        (
            pairs(("A", "B", EQUAL, 1.0), ("A", "C", BETTER, 2, "A"), ("B", "C", BETTER, 2, "B")),
            "A and B are equal within 5 % and fastest.",
        ),
        (
            pairs(("A", "B", UNDECIDED, 1.1), ("A", "C", BETTER, 2, "A"), ("B", "C", BETTER, 2, "B")),
            "A or B is fastest; which of the 2 is undecided.",
        ),
        (pairs(("A", "B", BETTER, 2, "A"), tuning="both"), "A is 2.00 times as fast as B."),
        (pairs(("A", "B", NOT_COMPARED, math.nan)), "No two variants could be compared."),
        (pairs((*LONG[:2], BETTER, 2, LONG[0])), f"{LONG[0]} is fastest, 2.00 times as fast as {LONG[1]}."),
        (
            pairs(*((a, b, EQUAL, 1.0) for a, b in (LONG[:2], LONG[1:], LONG[::2]))),
            "All 3 variants are equal within 5 %.",
        ),
    ],
)  # fmt: skip
def test_sentences_on_pairs(table, text):
    assert words.which_is_best(table) == text


@pytest.mark.parametrize(
    ("by_length", "text"),
    [
        ([("A", 0.0)], "A is fastest, 1.20 times as fast as B, and ends first at any length."),
        (
            [("B", 0.0), ("A", 47_000.0)],
            "In long runs A is fastest, 1.20 times as fast as B; below 47,000 examples B probably ends "
            "first.",
        ),
        (
            [("B", 0.0), ("C", 9000.0), ("A", 47_000.0)],
            "In long runs A is fastest, 1.20 times as fast as B; below 9,000 examples B probably ends "
            "first, then C up to 47,000.",
        ),
    ],
)
def test_sentences_on_the_length_of_runs(by_length, text):
    assert words.which_is_best(pairs(A_BEATS_B), by_length) == text


def test_long_names_leave_less_to_say():
    table = pairs((*LONG[:2], BETTER, 2, LONG[0]))
    text = words.which_is_best(table, [(LONG[1], 0.0), (LONG[0], 47_000.0)])
    assert (
        text
        == f"In long runs {LONG[0]} is fastest; below 47,000 examples {LONG[1]} probably ends first."
    )


@pytest.mark.parametrize(
    ("columns", "why"),
    [
        ({"n": 1, "needed": 6.0}, "one pair of runs has no variance: at least 6 are needed"),
        ({"n": 2, "needed": 6.0}, "two pairs of runs hardly tell how they vary: at least 6 are needed"),
        ({"n": 9}, "1 more pair of runs is needed"),
        ({"n": 7}, "3 more pairs of runs are needed"),
        ({"needed": math.nan}, "the pairs of runs vary so much that no affordable number decides"),
        (
            {"n": 10, "effect": 0.97},
            "the effect lies between none and the margin: more pairs of runs may decide",
        ),
        ({"n": 10, "effect": 0.90}, "more pairs of runs may decide"),
        (
            {"n": 6, "unit": "contest", "unit_seconds": 40.0},
            "4 more contests are needed, about 3 minutes",
        ),
    ],
)  # fmt: skip
def test_what_an_undecided_pair_takes(columns, why):
    table = pairs(("A", "B", UNDECIDED, 1.1)).assign(**columns)
    assert words.undecided(table) == f"A or B: which is faster? {why[0].upper()}{why[1:]}."
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


def tables(given: pd.DataFrame, made: list[dict] | None = None, **more: object) -> Tables:
    """An experiment with such differences, and the runs of such records."""
    runs, _ = tabulated(made or [make_record("torch")], {})
    runs["machine_name"] = "here"
    return Tables("one", "Which?", runs, given, labels=LABELS, **more)


def section(heading: str, given: Tables, **more: object) -> Section:
    return next(one for one in reported.answers([given], **more) if one.heading == heading)


def best(given: pd.DataFrame, **more: object) -> reported.Answer:
    """The only answer to the question which variant is best."""
    (answer,) = section(BEST, tables(given, **more)).answers
    return answer


def on_published(*runs: PublishedRun, comparison: pd.DataFrame = NOTHING) -> Section:
    """What is said of published numbers."""
    return section(HOLD, tables(NOTHING, published=runs, comparison=comparison))


def test_the_first_question_is_answered_even_if_it_is_open_and_others_only_if_decided():
    table = pd.concat([pairs(("A", "B", UNDECIDED, 1.1)), pairs(A_BEATS_B, metric="end to end")])
    assert best(table).outcome == UNDECIDED
    answer = best(table.assign(family="exploratory"))
    assert answer.text == "A is quickest from start to end, 1.20 times as quick as B."
    undecided = pairs(("A", "B", UNDECIDED, 1.1), family="exploratory")
    assert best(undecided).text == "No two variants could be compared."


def test_a_faster_variant_that_is_less_accurate_is_told():
    less_accurate = pairs(("A", "B", BETTER, -0.03, "B"), metric="test accuracy")
    answer = best(pd.concat([pairs(A_BEATS_B), less_accurate]))
    assert answer.cautions == ("B is more accurate than A, by 0.030.",)


def test_what_experiments_share_is_said_once():
    twice = [tables(pairs(A_BEATS_B)), tables(pairs(A_BEATS_B, family="exploratory"))]
    assert [one.heading for one in reported.answers(twice)] == [BEST, HOLD, OPEN]


def test_tuning_works_and_machines_are_part_of_the_lead():
    parts = [
        pairs(A_BEATS_B, machine="new"),
        pairs(A_BEATS_B, machine="old", tuning="tuned"),
        pairs(B_BEATS_A, tuning="both", workload="fashion-cnn"),
    ]
    runs = [make_record("torch", host=host) for host in ("new", "old", "node-1")]
    given = tables(pd.concat(parts), runs)
    given.runs["machine_name"] = ["new", "old", "here"]
    leads = [one.lead for part in reported.answers([given]) for one in part.answers]
    assert [lead for lead in leads if lead] == [
        "Which? (fashion-conv, batch 1,000; new)",
        "Which? (fashion-conv, batch 1,000; tuned; old)",
        "Which? (fashion-cnn, batch 1,000; tuned and as installed; here)",
    ]


def test_a_picture_is_relative_to_the_baseline():
    table = pairs(
        ("A", "B", BETTER, 2.0, "A"),
        ("A", "C (tuned)", EQUAL, 1.01),
        ("B", "C (tuned)", NOT_COMPARED, math.nan),
        low=[1.6, 1.0, 0],
        high=[2.5, 1.02, math.inf],
        second_lacks=["", "", "crashed"],
    )

    def shown(baseline: str) -> list[tuple]:
        variants = best(table, baseline=baseline).picture.variants
        return [(one.label, one.verdict, one.effect, one.low) for one in variants]

    assert shown("B") == [
        ("A", "faster", 2.0, 1.6),
        ("B", "baseline", 1.0, None),
        ("C (tuned)", "crashed", None, None),
    ]
    assert shown("A") == [
        ("A", "baseline", 1.0, None),
        ("C (tuned)", EQUAL, pytest.approx(1 / 1.01), pytest.approx(1 / 1.02)),
        ("B", "slower", 0.5, pytest.approx(1 / 2.5)),
    ]


def test_what_was_not_run_is_named():
    def opened(*made: dict, **more: object) -> list[str]:
        return [one.text for one in section(OPEN, tables(pd.DataFrame(), made), **more).answers]

    assert opened() == ["Nothing is open."]
    assert opened(left_out=["no."]) == ["no."]
    absent = [make_record(name, status="unavailable") for name in ("tensorflow-tpu", "torch-xla")]
    assert opened(make_record("torch"), *absent) == [
        "TensorFlow TPU and PyTorch/XLA SPMD were not run: device not available."
    ]


@pytest.mark.parametrize(("repeats", "relation"), [(7, BETTER), (1, UNDECIDED)])
def test_answers_of_records(tmp_path, repeats, relation):
    """From records to a file of answers and back."""
    made = [
        make_record(backend, seed=seed, speed=speed + seed)
        for backend, speed in (("torch", 2000.0), ("torch-xla", 1000.0))
        for seed in range(repeats)
    ]
    runs, _ = tabulated(made)
    table = words.with_words(differences(runs, LABELS)).assign(family="primary")
    files = tmp_path / "one/runs.parquet", tmp_path / "one/differences.csv"
    tidy.write(runs, files[0])
    tidy.write(table, files[1])
    sections = reported.from_tables(["Which?"], files[:1], files[1:], [], labels=LABELS)
    answer = sections[0].answers[0]
    assert answer.outcome == relation
    assert all(one.speed and one.step for one in answer.picture.variants)
    written = json.dumps(msgspec.to_builtins(sections, enc_hook=float))
    (tmp_path / "answers.json").write_text(written)
    assert reported.read(tmp_path / "answers.json") == sections


# A judgement of each verdict: 0.8848 by 21 runs around 0.81, h = 0.02.
LIMITS = {"holds": {"margin": 0.2}, "at chance": {"at_chance": True}}


def number(metric: str, verdict: str, **about: object) -> Judgement:
    """A final number of a published run."""
    claim = Claim(0.8848, metric=metric, **LIMITS.get(verdict, {}))
    about = {"center": 0.81, "scale": 0.02 / 2.085963, "freedom": 20} | about  # t(20)
    return Judgement(claim, (0.81,) * 21, alone=0.001 if verdict == "differs" else 0.5, **about)


def published(system: str, *verdicts: str, **about: object) -> PublishedRun:
    """A published run with a verdict on test accuracy, test loss, and so on."""
    numbers = (number(*each) for each in zip(FINAL, verdicts, strict=False))
    return PublishedRun(system, "fashion-conv", "PyTorch", tuple(numbers), **about)


def rows_of(system: str, metric: str, *verdicts: str, family: str = "final") -> pd.DataFrame:
    """Rows of a comparison."""
    rows = pd.DataFrame({"system": system, "metric": metric, "verdict": verdicts})
    about = {"family": family, "why": "no run with global batch 128", "has_runs": True}
    return rows.assign(**about)


def test_published_runs_are_counted_once_and_those_that_differ_say_where():
    runs = [published("1 GPU", "holds"), published("8 TPU cores", "differs", "differs", "holds")]
    found = on_published(*runs, comparison=rows_of("2 GPUs", "test_accuracy", "not comparable"))
    text = "Of 2 comparable published runs, 1 holds and 1 differs."
    assert found.answers[0].text == text
    assert [(one.system, one.verdict) for one in found.published] == [
        ("8 TPU cores", "differs"),
        ("1 GPU", "holds"),
        ("2 GPUs", "not comparable"),
    ]
    assert found.judged == found.published[:2]
    assert found.published[0].said == (
        "Published test accuracy and test loss are above what another run of this program gives."
    )
    assert found.published[2].why == "no run with global batch 128"
    one = found.published[0].numbers[1]
    assert (one.value, one.ranges) == (0.8848, [pytest.approx((0.79, 0.83))])


def test_a_number_beside_the_interval_and_near_an_outlier_of_ours_says_so():
    one = number("test_accuracy", "consistent", near=(0.89, 0.9))
    assert words.distance(one) == "0.075 above, near 2 outliers among our runs"
    alone = number("test_accuracy", "consistent")
    assert words.distance(alone).startswith("0.075 above, a weak test")


def test_an_explained_run_and_a_sample_of_runs_have_their_words():
    found = on_published(
        published("1 GPU", "differs", explanation=("other-cnn", "holds")),
        published("1 GPU", "holds", count=8),
    )
    assert found.answers[0].text == (
        "The only comparable published run differs; 1 would agree under another protocol; "
        "the mean of 8 holds."
    )
    assert [(one.system, one.words) for one in found.published] == [
        ("1 GPU", "differs; holds as other-cnn"),
        ("8 published runs as a sample", "holds"),
    ]


def test_counts_that_differ_are_told():
    rows = [("parameters", "differs"), ("target_accuracy", "holds")]
    table = pd.concat([rows_of("model", *row, family="") for row in rows])
    assert [one.text for one in on_published(comparison=table).answers] == [
        "No published run can be compared with these runs.",
        "The published number of parameters of model differs: no run with global batch 128.",
    ]


def test_why_a_system_cannot_be_compared_is_the_reason_of_what_was_run():
    table = rows_of("1 GPU", "test_loss", *["not comparable"] * 3)
    table["why"] = ["no run with global batch 128"] * 2 + ["other hardware"]
    assert words.commonest(table) == "no run with global batch 128"
    table["has_runs"] = [False, False, True]
    assert words.commonest(table) == "other hardware"


def test_the_terminal_has_room_for_all():
    """Many variants, questions, published runs and open pairs: counted where there is no room."""
    names = [LONG_NAME.format(number) for number in range(12)]
    many = pairs(*((names[0], name, BETTER, 2.0, names[0]) for name in names[1:]))
    title = "Does a question whose title has many words leave room for anything on this terminal?"
    runs = [published(f"{number} GPUs", "holds") for number in range(12)]
    asked = []
    for number in range(9):
        family = "exploratory" if number else "primary"
        table = many.assign(family=family, effect=2.0 + number)
        about = {"published": runs, "labels": LABELS}
        asked.append(Tables(f"{number}", title, tables(many).runs, table, **about))
    open_ones = [f"Nothing was asked of {number}." for number in range(30)]
    text = reported.to_text(reported.answers(asked, open_ones), "a machine")
    lines = text.splitlines()
    assert len(lines) <= reported.LINES
    assert max(map(len, lines)) <= reported.WIDTH
    assert "more: index.html" in lines[-1]


def corpus() -> Iterator[tuple[str, Section]]:
    """What is said of planted results, by what was planted."""
    a, b = "TensorFlow Mirrored", "PyTorch compiled"
    ends = pairs((a, b, BETTER, 0.5, b), metric="end to end", n=1, runs="x y")
    failed, absent = "failed parity: no speed compared", "device not available (both runs)"
    lost = {"relation": NOT_COMPARED, "effect": math.nan}
    cases = {
        "winner": pd.concat([pairs((a, b, BETTER, 1.13, a)), ends]),
        "tie": pairs((a, b, EQUAL, 1.01)),
        "partly": pairs(
            (a, b, UNDECIDED, 1.1), *((one, LONG[0], BETTER, 2, one) for one in (a, b))
        ),
        "too few": pairs((a, b, UNDECIDED, 1.1), n=1, needed=6.0),
        "noise": pairs((LONG[0], LONG[1], UNDECIDED, 1.1), needed=math.nan),
        "long names": pairs((LONG[0], LONG[1], BETTER, 1.1, LONG[0])),
        "contradiction": pd.concat(
            [pairs((a, b, BETTER, 1.1, a)), pairs((a, b, BETTER, -0.03, b), metric="test accuracy")]
        ),
        "failed gate": pairs((a, b, EQUAL, 1.0)).assign(**lost, first_lacks=failed),
        "no device": pairs((*LONG[:2], EQUAL, 1.0)).assign(**lost, second_lacks=absent),
        "memory": pairs((a, b, BETTER, 1.5, a), metric="peak memory", family="primary"),
        "tuning": pairs((a, b, BETTER, 1.5, a), tuning="both"),
    }
    for name, table in cases.items():
        for found in reported.answers([tables(table)]):
            yield name, found
    for verdict in ("holds", "consistent", "differs", "at chance"):
        yield verdict, on_published(published("8 TPU cores", *[verdict] * 3))
    absent = rows_of("8 TPU cores", "test_accuracy", "not comparable")
    yield "not comparable", on_published(comparison=absent)
    crashed = [make_record(name, status="crashed") for name in ("torch-xla", "torch-ddp")]
    yield "crashed", section(OPEN, tables(pd.DataFrame(), [make_record("torch"), *crashed]))


CORPUS = [*corpus()]
SAID = [
    (name, text)
    for name, found in CORPUS
    for texts in (
        *((one.text, *one.cautions) for one in found.answers),
        *((one.said,) for one in found.published if one.said),
    )
    for text in texts
]
# What no sentence has: words that the vocabulary rules out, remains of numbers and tables, bad spacing.
BAD = re.compile(
    r"\b(ways?|twins?|looks?|beside|of which|those that)\b"
    r"|\b(nan|inf|None|n =|\d+ x)\b|±|\s[,.;:]|\s\s|[;:,]\.|\.\."
)


def test_a_corpus_of_planted_results_gives_many_sentences():
    assert {name for name, _ in SAID} == {name for name, _ in CORPUS}
    for words_of_one in ("failed parity",):
        assert any(words_of_one in text for _, text in SAID)


@pytest.mark.parametrize(("planted", "text"), SAID)
def test_each_sentence_is_short_and_whole(planted, text):
    for sentence in re.split(r"(?<=[.?]) (?=[A-Z0-9])", text):
        assert len(sentence.split()) <= words.MOST_WORDS, sentence
        assert sentence[0].isupper() or sentence[0].isdigit(), sentence
    assert text.endswith("."), text
    assert not BAD.search(text), text


def test_no_number_is_said_twice():
    for name, found in CORPUS:
        for one in found.answers:
            numbers = re.findall(r"\d[\d,.]*\d", " ".join([one.text, *one.cautions]))
            assert len(numbers) == len(set(numbers)), (name, one)


@pytest.mark.parametrize(
    ("reason", "text"),
    [
        (("global_batch", 500, 1000), "global batch 500, published 1000"),
        (("no_batch", 128, [8, 64]), "no run with global batch 128 (8, 64 are there)"),
        (("no_replicas", 1), "no run with 1 replica"),
        (("none_completed", ["crashed", "diverged"]), "no run was completed: crashed; diverged"),
        (("stuck", (5, 9)), "left out as stuck: seeds 5 and 9"),
        (("few_runs", 3), "no committed spread of this protocol: an interval takes 3 runs"),
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
    assert words.measured(Finding("differs", measured=measured)) == text


def test_where_no_speed_was_compared_no_winner_is_contradicted():
    assert words.contradiction([], [("JAX", 100.0)]) == []
    assert len(words.contradiction(["PyTorch eager"], [("JAX", 100.0)])) == 1
