"""Bundles drawn: experiments come from their configs, machines stay apart."""

import copy

import pandas as pd
import pytest
from make_page import EXPERIMENT
from make_records import BACKENDS, LABELS, make_record, typed
from make_results import valid_records, write_results
from workspace import CONFIG

import bundle
import unbundle
from paragone.analysis import tidy
from paragone.analysis.grouping import series_of
from paragone.analysis.pairwise import differences
from paragone.base.errors import UserError
from paragone.config.bundled import labels, take
from paragone.records.bundles import contents, unpack


def measured(label: str, speed: float, seeds: int = 7):
    """The runs of one bundle of the same machine: `speed` of PyTorch, another backend as fast as ever."""
    made = [
        make_record(name, seed=seed, speed=at * (1 + seed / 1000))
        for name, at in (("torch", speed), ("torch-xla", 4000.0))
        for seed in range(seeds)
    ]
    parity = {("fashion-conv", name): True for name in BACKENDS}
    runs, _ = tidy.tables(typed(made), EXPERIMENT, parity)
    return unbundle.apart(runs, label)


@pytest.fixture(scope="module")
def both():
    return tidy.merge([measured("old", 8000.0), measured("new", 9600.0)])


def test_runs_of_two_bundles_are_never_pooled(both):
    assert both["run"].is_unique
    assert {len(one.runs) for one in series_of(both, LABELS)} == {7}
    names = [one.label for one in series_of(both, LABELS)]
    assert names == ["PyTorch (on new)", "PyTorch (on old)"] + [
        f"PyTorch/XLA SPMD (on {label})" for label in ("new", "old")
    ]


def test_each_bundle_is_compared_by_itself(both):
    """Seven pairs decide one comparison, not the two of both bundles together at the level of Holm."""
    together = differences(both, LABELS)
    assert together.groupby("machine").size().tolist() == [len(together) // 2] * 2
    for label in ("new", "old"):
        alone = differences(both[both["machine"].str.startswith(label)], LABELS)
        same = together[together["machine"].str.startswith(label)].reset_index(drop=True)
        pd.testing.assert_frame_equal(same, alone)


def test_names_of_bundles_tell_them_apart():
    assert list(labels(["a/one.zip", "two.zip"])) == ["one", "two"]
    with pytest.raises(UserError, match="two are named one"):
        labels(["a/one.zip", "b/one.zip"])
    with pytest.raises(UserError, match="name the file with letters"):
        labels(["a b.zip"])


def test_what_is_drawn_is_what_the_bundles_asked_for():
    mine, theirs = copy.deepcopy(CONFIG), copy.deepcopy(CONFIG)
    theirs["experiments"] = {
        "one_device": theirs["experiments"]["one_device"] | {"title": "Theirs"}
    }
    theirs["experiments"]["another"] = theirs["experiments"]["one_device"]
    before = copy.deepcopy(CONFIG)
    take(mine, [copy.deepcopy(theirs), CONFIG])
    assert before == CONFIG
    assert mine["experiments"]["one_device"]["title"] == "Theirs"
    assert {"another", *CONFIG["experiments"]} == set(mine["experiments"])
    assert mine["experiments"]["another"]["tables"][-1] == "machines"
    assert mine["records_only"] is True
    assert next(iter(mine["experiments"])) == mine["primary"]["experiment"]


def test_the_experiment_of_the_primary_question_is_drawn_first():
    mine, theirs = copy.deepcopy(CONFIG), copy.deepcopy(CONFIG)
    *_, last = theirs["experiments"]
    theirs["primary"]["experiment"] = last
    theirs["baseline"] = "jax"
    take(mine, [theirs])
    assert mine["baseline"] == "jax"
    assert [*mine["experiments"]] == [last, *(one for one in CONFIG["experiments"] if one != last)]


def test_a_bundle_is_unpacked_and_tabulated(tmp_path):
    made = valid_records(range(2), ["torch"])
    results = write_results(tmp_path / "results", made)
    runs, _ = tidy.tables(typed(made), EXPERIMENT, {})
    tidy.write(runs, results / "tables/runs.parquet")
    manifest = results / "data/fashion_mnist/manifest.json"
    archive = tmp_path / "here.zip"
    options = ["write", "--results", results, "--runs", results / "tables/runs.parquet"]
    options += [
        "--files",
        manifest,
        results / "parity/fashion-conv.json",
        "--config",
        '{"seed": 0}',
        "--license",
        "free",
    ]
    bundle.main([str(one) for one in [*options, "--output", archive]])
    listing, found = unpack.read_config(archive)
    assert found == {"seed": 0}
    assert listing.experiments == {EXPERIMENT: sorted(runs["run"])}
    for _ in range(2):  # a second time over what is there
        output = tmp_path / "out"
        arguments = ["--bundle", archive, "--label", "here", "--output", output]
        unbundle.main([str(one) for one in arguments])
        again = tidy.read(output / f"tables/{EXPERIMENT}/runs.parquet")
        assert sorted(again["run"]) == sorted(runs["run"] + "@here")
        assert again["machine"].str.startswith("here = node-1").all()
        assert set(again["parity"]) == {"passed"}
        assert (output / f"runs/{again['run'].iloc[0]}/record.json").exists()
    assert contents.LISTING not in {path.name for path in output.iterdir()}
