"""Sentences of verdicts, each template once; the answers, pictures and published rows made of verdicts."""

import math
from dataclasses import replace

import pandas as pd
import pytest
from judge_rows import pairs
from make_records import LABELS, make_record, tabulated

from paragone.analysis.pairwise import BETTER, EQUAL, NOT_COMPARED, UNDECIDED
from paragone.analysis.prediction import Claim, Judgement
from paragone.analysis.verdicts import FINAL, Curve, Finding, Measured, PublishedRun
from paragone.reporting import answers as reported
from paragone.reporting import sentences
from paragone.reporting.answers import HOLD, OPEN, AnsweredQuestion, Tables

A_BEATS_B = ("A", "B", BETTER, 1.2, "A")
A_EQUALS_B, A_OR_B = ("A", "B", EQUAL, 1.001), ("A", "B", UNDECIDED, 1.1)
C_LOSES = [("A", "C", BETTER, 2, "A"), ("B", "C", BETTER, 2, "B")]


@pytest.mark.parametrize(
    ("table", "text"),
    [
        (pairs(A_BEATS_B, ("A", "C", BETTER, 2, "A")), "A is fastest, 1.20 times as fast as B."),
        (pairs(A_BEATS_B, metric="peak memory"), "A is smallest in memory, 17 % below B."),
        (pairs(A_BEATS_B, metric="test accuracy"), "A is most accurate, 1.200 above B."),
        (pairs(A_EQUALS_B), "A and B are equal within 5 %."),
        (pairs(A_EQUALS_B, *C_LOSES), "A and B are fastest, and equal within 5 %."),
        (pairs(A_OR_B, *C_LOSES), "A or B is fastest; which one is undecided."),
        (
            pairs(A_BEATS_B, ("C", "D", EQUAL, 1.0), tuning="both"),
            "A is 1.20 times as fast as B. C and D are equal within 5 %.",
        ),
        (pairs(("A", "B", NOT_COMPARED, math.nan)), "No two variants could be compared."),
    ],
)
def test_which_variant_is_best(table, text):
    assert sentences.which_is_best(table) == text


def test_the_length_of_runs_has_a_sentence_and_another_winner_of_long_runs_one_more():
    assert sentences.by_length([]) == []
    assert sentences.by_length([("A", 0.0)]) == ["A ends first at any length of a run."]
    turns = [("B", 0.0), ("C", 9000.0), ("A", 47_000.0)]
    assert sentences.by_length(turns) == [
        "B probably ends first below 9,000 examples, C below 47,000 examples, A in longer runs."
    ]
    assert sentences.contradiction(["A", "B"], turns) == sentences.contradiction([], turns) == []
    assert len(sentences.contradiction(["B"], turns)) == 1


@pytest.mark.parametrize(
    ("columns", "takes"),
    [
        ({"n": 1, "needed": 6.0}, "one pair of runs has no variance, and it takes at least 6"),
        ({"n": 2, "needed": 6.0}, "two pairs of runs are too few for a variance, and it takes at least 6"),
        ({"n": 9}, "it takes 1 more pair of runs"),
        ({"n": 6, "unit": "contest", "unit_seconds": 40.0}, "it takes 4 more contests, about 3 minutes"),
        ({"needed": math.nan}, "the pairs of runs vary so much that no affordable number decides"),
        ({"n": 10, "effect": 0.97},
         "the effect lies between none and the margin, and more pairs of runs may decide"),
        ({"n": 10, "effect": 0.90}, "more pairs of runs may decide"),
    ],
)  # fmt: skip
def test_what_an_undecided_pair_takes(columns, takes):
    table = pairs(A_OR_B).assign(**columns)
    both = pd.concat([table, table.assign(metric="end to end")])
    (text,) = sentences.undecided(both)
    assert text.startswith("Which of A and B is faster or quicker from start to end is undecided: ")
    assert text.endswith(f": {takes}.")
    assert sentences.with_verdicts(table)["why"].item() == takes


def test_rows_have_a_verdict_and_a_reason_as_text():
    table = pairs(
        A_BEATS_B,
        ("A", "B", EQUAL, 1.02, "A"),
        ("A", "B", NOT_COMPARED, math.nan),
        ("A", "B", NOT_COMPARED, math.nan),
        first_lacks=["", "", "crashed", ""],
        second_lacks=["", "", "diverged", ""],
    )
    texts = sentences.with_verdicts(table)
    assert texts["verdict"].tolist() == ["A is faster", "equal within 5 %", *["not compared"] * 2]
    reasons = ["A is faster, within the margin", "A: crashed, B: diverged", "no seed ran both"]
    assert texts["why"].tolist() == ["", *reasons]


def tables(rows: pd.DataFrame, records: list[dict] | None = None, **more: object) -> Tables:
    """An experiment with such differences, and the runs of such records."""
    runs, _ = tabulated(records or [make_record("torch")], {})
    runs["machine_name"] = "here"
    return Tables("one", "Which?", runs, rows, labels=LABELS, **more)


FASTEST = "Which variant trains fastest here?"


def question(heading: str, given: Tables, **more: object) -> AnsweredQuestion:
    return next(part for part in reported.answers([given], **more) if part.heading == heading)


def best(rows: pd.DataFrame, **more: object) -> reported.Answer:
    """The only answer to the question which variant is best."""
    (answer,) = question(FASTEST, tables(rows, **more)).answers
    return answer


def test_releases_of_each_backend_are_compared_once():
    labels = {
        "torch.torch-1": "E 1",
        "torch.torch-2": "E 2",
        "jax.jax-1": "J 1",
        "jax.jax-2": "J 2",
    }
    loses = [
        (first, second, BETTER, 2, first) for first in ("J 1", "J 2") for second in ("E 1", "E 2")
    ]
    rows = pairs(("J 1", "J 2", EQUAL, 1.0), ("E 1", "E 2", BETTER, 1 / 1.3, "E 2"), *loses)
    answer = replace(tables(rows), labels=labels)
    (one,) = question(FASTEST, answer).answers
    assert one.text == (
        "J 1 and J 2 are fastest, and equal within 5 %. E 2 is 1.30 times as fast as E 1."
    )
    rows = pairs(A_BEATS_B, *C_LOSES)
    (one,) = question(
        FASTEST, replace(tables(rows), labels={"a.1": "A", "a.2": "B", "c": "C"})
    ).answers
    assert one.text == "A is fastest, 1.20 times as fast as B."


def test_the_first_question_is_answered_even_if_it_is_open_and_others_only_if_decided():
    table = pd.concat([pairs(A_OR_B), pairs(A_BEATS_B, metric="end to end")])
    assert best(table).outcome == UNDECIDED
    heading = "Which variant is quickest from start to end here?"
    (answer,) = question(heading, tables(table.assign(family="exploratory"))).answers
    assert answer.text == "A is quickest from start to end, 1.20 times as quick as B."
    undecided = pairs(A_OR_B, family="exploratory")
    assert best(undecided).text == sentences.NOTHING_COMPARED
    (hold, is_open) = reported.answers([tables(pd.DataFrame())])  # nobody asks
    assert [hold.heading, is_open.heading] == [HOLD, OPEN]


def test_an_experiment_is_answered_in_one_line():
    def line(rows: pd.DataFrame, **more: object) -> str:
        return reported.in_one_line("Which?", reported.answers([tables(rows, **more)]))

    holds = "1 published run can be compared: 1 holds."
    assert line(pairs(A_BEATS_B)) == "Which? A is fastest, 1.20 times as fast as B."
    assert line(pd.DataFrame(), published=[published("1 GPU", "holds")]) == f"Which? {holds}"
    both = line(pairs(A_BEATS_B), published=[published("1 GPU", "holds")])
    assert both == f"Which? A is fastest, 1.20 times as fast as B. {holds}"
    # What is open where nothing is decided.
    undecided = line(pairs(A_OR_B, family="exploratory"))
    assert undecided.startswith("Which? Which of A and B is faster is undecided: ")
    short = published("2 GPUs", lacks=(("epochs", 3, 14),))
    rows = rows_of("2 GPUs", "test_accuracy", "not comparable")
    assert "3 of the published 14" in line(pd.DataFrame(), published=[short], comparison=rows)
    assert line(pd.DataFrame()) == ""


def test_a_faster_variant_that_is_less_accurate_is_told():
    less_accurate = pairs(("A", "B", BETTER, -0.03, "B"), metric="test accuracy")
    answer = best(pd.concat([pairs(A_BEATS_B), less_accurate]))
    assert answer.cautions == ("B is more accurate than A, by 0.030.",)


def test_speeds_that_experiments_share_are_compared_once():
    twice = [tables(pairs(A_BEATS_B)), tables(pairs(A_BEATS_B, family="exploratory"))]
    assert [part.heading for part in reported.answers(twice)] == [FASTEST, HOLD, OPEN]


def test_tuning_works_and_machines_are_part_of_the_lead():
    parts = [
        pairs(A_BEATS_B, machine="new"),
        pairs(A_BEATS_B, machine="old", tuning="tuned"),
        pairs(A_BEATS_B, tuning="both", workload="fashion-cnn"),
    ]
    runs = [make_record("torch", host=host) for host in ("new", "old", "node-1")]
    given = tables(pd.concat(parts), runs)
    given.runs["machine_name"] = ["new", "old", "here"]
    leads = [answer.lead for part in reported.answers([given]) for answer in part.answers]
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
        return [(row.label, row.verdict, row.effect, row.low) for row in variants]

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


def test_what_was_not_run_and_what_has_no_speed_is_open():
    def opened(*records: dict, rows: pd.DataFrame | None = None, **more: object) -> list[str]:
        given = tables(pd.DataFrame() if rows is None else rows, [*records])
        part = question(OPEN, given, **more)
        return [answer.text for answer in part.answers]

    assert opened() == ["Nothing is open."]
    assert opened(left_out=["no."]) == ["no."]
    absent = [make_record(name, status="unavailable") for name in ("tensorflow-tpu", "torch-xla")]
    assert opened(make_record("torch"), *absent) == [
        "TensorFlow TPU and PyTorch/XLA SPMD were not run: not available here."
    ]
    lacks = pairs(("A", "B", NOT_COMPARED, math.nan), first_lacks="failed parity")
    assert opened(rows=lacks) == ["A has no speed: failed parity."]


def test_published_runs_that_were_not_compared_are_open_with_what_would_compare_them():
    made = [make_record("torch", seed=seed, epochs=3) for seed in range(2)]
    others = [make_record("torch-xla", epochs=14), make_record("torch", workload="fashion-cnn")]
    short = [published(f"{n} GPUs", lacks=(("epochs", 3, 14),)) for n in range(2, 7)]
    other = published("a TPU", lacks=(("no_batch", 128, [64, 256]),))
    given = tables(pd.DataFrame(), published=[*short, other, published("1 GPU", "holds")])
    given = replace(given, runs=tabulated([*made, *others])[0])
    epochs = [epoch for record in made for epoch in record["epochs"]]
    seconds = sum(epoch["train_seconds"] + epoch["evaluate_seconds"] for epoch in epochs) / 3
    assert [answer.text for answer in question(OPEN, given).answers] == [
        "5 published runs were not compared: only 3 of the published 14 epochs were run; all 14 take about "
        f"{14 * seconds / 60:.0f} minutes more.",
        "1 published run was not compared: no run with global batch 128, but with 64, 256.",
    ]


@pytest.mark.parametrize(("count", "listed"), [(8, 9), (9, 1)])
def test_fewer_than_ten_published_runs_are_all_listed(count, listed):
    rows = pd.concat(rows_of(f"{n} TPUs", "test_loss", "not comparable") for n in range(count))
    part = on_published(published("1 GPU", "holds"), rows=rows)
    assert len(reported.table(part)) == listed
    assert reported.to_text([part], "a machine").count("(Which?)") == listed


# A judgement of each verdict: 0.8848 by 21 runs around 0.81, h = 0.02.
LIMITS = {
    "holds": {"margin": 0.2},
    "consistent": {"margin": 0.05},
    "at chance": {"at_chance": True},
}


def number(metric: str, verdict: str, **places: object) -> Judgement:
    """A final number of a published run."""
    claim = Claim(0.8848, metric=metric, **LIMITS.get(verdict, {}))
    places = {"center": 0.81, "scale": 0.02 / 2.085963, "freedom": 20} | places  # t(20)
    places = {"outcomes": (0.81,) * 21} | places
    return Judgement(claim, alone=0.001 if verdict == "differs" else 0.5, **places)


def published(system: str, *verdicts: str, **places: object) -> PublishedRun:
    """A published run with a verdict on test accuracy, test loss, and so on."""
    numbers = (number(*pair) for pair in zip(FINAL, verdicts, strict=False))
    return PublishedRun(system, "fashion-conv", "PyTorch", tuple(numbers), **places)


def on_published(*runs: PublishedRun, rows: pd.DataFrame | None = None) -> AnsweredQuestion:
    """The answer on published numbers."""
    comparison = pd.DataFrame() if rows is None else rows
    return question(HOLD, tables(pd.DataFrame(), published=runs, comparison=comparison))


def rows_of(system: str, metric: str, *verdicts: str, family: str = "final") -> pd.DataFrame:
    """Rows of a comparison."""
    rows = pd.DataFrame({"system": system, "metric": metric, "verdict": verdicts})
    return rows.assign(family=family, why="no run with global batch 128", has_runs=True)


def test_published_runs_are_counted_once_and_those_that_differ_say_where():
    runs = [published("1 GPU", "holds"), published("8 TPU cores", "differs", "differs", "holds")]
    part = on_published(*runs, rows=rows_of("2 GPUs", "test_accuracy", "not comparable"))
    assert part.answers[0].text == (
        "2 published runs can be compared: 1 holds and 1 differs. Adjusted for the number of runs, 1 still "
        "differs."
    )
    assert [(run.system, run.verdict) for run in part.published] == [
        ("8 TPU cores", "differs"),
        ("1 GPU", "holds"),
        ("2 GPUs", "not comparable"),
    ]
    assert part.judged == part.published[:2]
    assert part.published[0].differing == (
        "Published test accuracy and test loss are above what another run of this program gives."
    )
    assert part.published[2].why == "no run with global batch 128"
    row = part.published[0].numbers[1]
    assert (row.value, row.ranges) == (0.8848, [pytest.approx((0.79, 0.83))])
    assert "| 8 TPU cores (Which?) " in reported.to_text([part], "a machine")


def test_runs_that_no_number_could_decide_and_runs_that_differ_by_chance_are_said_to_be_such():
    runs = [published(f"{place} GPU", "inconclusive") for place in range(59)]
    part = on_published(*runs, published("8 TPU cores", "differs"))  # p = 0.001
    assert part.answers[0].text == (
        "60 published runs can be compared: none holds, 59 are inconclusive and 1 differs. Adjusted for the "
        "number of runs, none still differs. Inconclusive: our runs leave more open than the margin, so that "
        "no number could hold."
    )
    assert part.published[0].judged == "differs; not if all runs are adjusted for each other"


def test_how_many_more_seeds_would_decide_is_told():
    few = number("test_loss", "inconclusive", freedom=2, outcomes=(0.80, 0.81, 0.82))
    few = [replace(few, claim=replace(few.claim, margin=margin)) for margin in (0.02, 0.018, 0.0)]
    assert few[2].lacking == math.inf
    more = [int(one.lacking) for one in few[:2]]
    assert 0 < more[0] < more[1]
    assert sentences.distance(few[0]).endswith(
        f"the margin of 0.02; {more[0]} more seeds could decide"
    )
    assert sentences.distance(few[2]).endswith("the margin of 0; 60 seeds could not decide")
    runs = [PublishedRun(f"{place}", "a", "PyTorch", (one,)) for place, one in enumerate(few)]
    runs.append(PublishedRun("all", "a", "PyTorch", tuple(few)))
    (opened,) = question(OPEN, tables(pd.DataFrame(), published=runs)).answers
    assert opened.text == (
        f"4 published runs are inconclusive. {more[1]} more seeds could decide 2 of them. 2 of them would "
        "stay open even with 60 seeds."
    )


def test_what_varies_more_than_ours_stands_beside_what_differs():
    varied = ("8 published runs", "test_loss", 2.04)
    (row,) = on_published(published("1 GPU", "differs", varied=varied)).published
    assert row.differing == (
        "Published test accuracy is above what another run of this program gives. The 8 published runs vary "
        "2.0 times as much as ours in test loss, so that a replicate may differ."
    )


def test_epochs_that_lie_elsewhere_and_a_log_that_breaks_off_are_told():
    odd = [number("train_loss", "differs") for _ in range(5)]
    odd = [
        replace(one, alone=p, claim=replace(one.claim, epoch=epoch, printed="0.784"))
        for one, epoch, p in zip(odd, (1, 2, 3, 7, 9), (1e-9, *[0.001] * 4), strict=True)
    ]
    (row,) = on_published(
        published("1 GPU", "consistent", astray=tuple(odd), ends=(11, 15))
    ).published
    assert row.sentence == (
        "1 GPU, after 11 of 15 epochs, where the log ends (Which?) is consistent. Other published numbers "
        "lie outside of what our runs give: training loss of epochs 1 to 3, 7 and 9. The farthest is 0.784, "
        "training loss of epoch 1, where ours is 0.81."
    )


def test_where_a_curve_lies_elsewhere_is_named():
    curve = Curve((("train_loss", 1), ("test_loss", 2)), 20, 3, 21)
    assert sentences.of_curve(published("1 GPU", "holds", curve=curve)) == (
        "1 GPU: 18 of 20 published outcomes are where one more of the 20 committed runs would be: "
        "consistent. So few or fewer are there for 3 of 21 runs, the published one included. Not there: "
        "training loss of epoch 1; test loss of epoch 2."
    )


def test_a_published_mean_is_compared_with_a_mean():
    run = published("1 GPU", "differs")
    (one,) = run.numbers
    run = replace(run, numbers=(replace(one, claim=replace(one.claim, runs=5)),))
    assert sentences.differing(run) == (
        "Published test accuracy is above what the mean of 5 more runs of this program gives."
    )


def test_an_explained_run_a_sample_and_a_count_have_their_sentences():
    counts = [("parameters", "differs"), ("target_accuracy", "holds")]
    part = on_published(
        published("1 GPU", "differs", explanation=("other-cnn", "holds")),
        published("1 GPU", "holds", count=8),
        rows=pd.concat([rows_of("model", *row, family="") for row in counts]),
    )
    assert [answer.text for answer in part.answers] == [
        "1 published run can be compared: none holds and 1 differs. 1 of them would not differ under "
        "another protocol. The mean of 8 of them holds.",
        "The published number of parameters of model differs: no run with global batch 128.",
    ]
    assert [(run.system, run.judged) for run in part.published] == [
        ("1 GPU", "differs; holds as other-cnn"),
        ("The mean of 8 published runs", "holds"),
    ]


@pytest.mark.parametrize(
    ("judgement", "text"),
    [
        (number("test_loss", "holds"), "0.075 above, within the margin of 0.2"),
        (
            number("test_loss", "consistent"),
            "0.075 above, not shown to be within the margin of 0.05; 0.028 would have been noticed",
        ),
        (
            number("test_loss", "inconclusive", near=(0.89, 0.9)),
            "0.075 above, as 2 of our 21 runs; runs and printed digits leave 0.017 open, more than the "
            "margin of 0; 60 seeds could not decide",
        ),
        (number("test_loss", "differs"), "0.075 above, p = 0.001; 0.028 would have been noticed"),
        (number("test_loss", "at chance"), "not above always guessing the most frequent class"),
    ],
)  # fmt: skip
def test_how_far_a_published_number_is(judgement, text):
    assert sentences.distance(judgement) == text


def test_why_a_system_cannot_be_compared_is_the_reason_of_what_was_run():
    table = rows_of("1 GPU", "test_loss", *["not comparable"] * 3)
    table["why"] = ["no run with global batch 128"] * 2 + ["other hardware"]
    assert sentences.commonest(table) == "no run with global batch 128"
    table["has_runs"] = [False, False, True]
    assert sentences.commonest(table) == "other hardware"


@pytest.mark.parametrize(
    ("reason", "text"),
    [
        (("epoch_examples", 12_288, 60_000), "12,288 examples per epoch, published 60,000"),
        (("no_batch", 128, [8, 64]), "no run with global batch 128, but with 8, 64"),
        (("outliers", (5, 9)), "interval without the outliers, seed 5, 9"),
        (("count", 1003, "above"), "1,003 above"),
    ],
)
def test_a_reason_is_its_template_with_values(reason, text):
    assert sentences.reason(reason) == text


@pytest.mark.parametrize(
    ("measured", "text"),
    [
        (None, "-"),
        (Measured(2326.21, 1, 1, remark=("extrapolated",)), "2,326.2 (n = 1), extrapolated"),
        (Measured(0.5, 3, 3, 0.4, 0.6, unit="s"), "0.500 [0.400, 0.600] s (n = 3)"),
    ],
)
def test_texts_of_measured_values(measured, text):
    assert sentences.measured(Finding("differs", measured=measured)) == text
