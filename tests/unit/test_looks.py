"""When an experiment is looked at, and that looking several times does not find more than there is."""

import json
import math

import numpy as np
import pytest
from make_records import LABELS, make_record, typed
from make_results import valid_records, write_results

import look
from paragone.analysis import tidy
from paragone.analysis.pairwise import differences
from paragone.analysis.statistics import Effects
from paragone.config.looks import LOOKS, fewest, looks


def test_the_least_number_of_pairs_by_hand():
    """2 / 2^n of each comparison is at most 5 % over their number."""
    for comparisons in (1, 2, 3, 6, 36):
        n = fewest(comparisons)
        assert comparisons * 2 / 2**n <= 0.05 < comparisons * 2 / 2 ** (n - 1)


@pytest.mark.parametrize(
    ("repeats", "comparisons", "expected"),
    [(14, 1, [7, 10, 14]), (20, 3, [9, 13, 20]), (7, 1, [7]), (3, 1, [3])],
)
def test_looks_begin_where_a_verdict_is_possible(repeats, comparisons, expected):
    found = looks(repeats, comparisons)
    assert found == expected
    assert len(found) <= LOOKS


def test_p_values_count_the_looks():
    made = [
        make_record(backend, seed=seed, speed=speed + seed)
        for backend, speed in (("torch", 1100.0), ("torch-xla", 1000.0))
        for seed in range(6)
    ]
    parity = {("fashion-conv", backend): True for backend in ("torch", "torch-xla")}
    runs, _ = tidy.tables(typed(made), "one", parity)
    once, thrice = (differences(runs, LABELS, count).iloc[0] for count in (1, LOOKS))
    assert (once["metric"], once["winner"]) == ("speed", "PyTorch")
    assert thrice["p_adjusted"] == pytest.approx(LOOKS * once["p_adjusted"])
    assert thrice["relation"] == "undecided"
    assert math.isfinite(once["low"])
    assert thrice["low"] == 0  # no interval: of six pairs, none at 5 % over three looks


def test_three_looks_at_nothing_find_something_in_at_most_5_percent():
    rng = np.random.default_rng(2)
    counts = looks(14, 1)
    false = sum(
        any(LOOKS * Effects(effects[:count]).p_differs() <= 0.05 for count in counts)
        for effects in rng.normal(0, 0.03, (2000, 14))
    )
    assert 0 < false / 2000 <= 0.05


NOISE = [1.02, 0.98, 1.01, 0.99, 1.015, 0.985, 1.005]


def look_at(folder, made: list[dict]) -> dict:
    """What the program writes about these runs."""
    write_results(folder, made)
    (parity,), (manifest,) = folder.glob("parity/*.json"), folder.glob("data/*/manifest.json")
    records = map(str, sorted(folder.glob("runs/*/record.json")))
    output = folder / "look.json"
    files = ["--records", *records, "--parity", str(parity), "--manifests", str(manifest)]
    look.main(["--experiment", "one", "--metric", "speed", *files, "--output", str(output)])
    return json.loads(output.read_text())


def planted(ratio: float) -> list[dict]:
    """Seven valid pairs, of which the first is so many times as fast, with noise."""
    speeds = {
        "torch": [1000 * ratio * noise**2 for noise in NOISE],
        "torch-xla": [1000.0] * len(NOISE),
    }
    return valid_records(range(len(NOISE)), tuple(speeds), speeds=speeds)


@pytest.mark.parametrize(("ratio", "decided"), [(1.3, True), (1.0, True), (1.04, False)])
def test_program_looks_at_the_repeats_so_far(tmp_path, capsys, ratio, decided):
    """A clear winner, equality, and an effect near the margin with as much noise."""
    assert look_at(tmp_path, planted(ratio)) == {"repeats": 7, "decided": decided}
    assert f"{int(not decided)} of 1 pairs undecided, 7 repeats" in capsys.readouterr().out


def test_a_run_that_breaks_a_rule_decides_nothing(tmp_path):
    """Of seven pairs, which decide, one is not valid: six are too few for three looks."""
    made = planted(1.3)
    made[0]["processes"][0]["manifest_sha256"] = "0" * 64
    assert look_at(tmp_path, made) == {"repeats": 7, "decided": False}
