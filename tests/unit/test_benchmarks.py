"""The table of `make bench`: its words, and rows of a real measurement."""

import sys

import bench
import pytest
import training
import workflow
from product import Data
from rows import NO, UNDECIDED, YES, at_least, at_most
from workspace import ROOT, small_copy, succeed

pytestmark = pytest.mark.nightly


@pytest.mark.parametrize(
    ("values", "within", "reached"),
    [
        ([1.0, 1.9], YES, NO),
        ([1.0, 3.0], UNDECIDED, UNDECIDED),
        ([3.0, 4.0], NO, YES),
        ([1.0] * 14 + [3.0], YES, NO),  # of fifteen they need not
    ],
    ids=str,
)
def test_measurements_on_both_sides_of_a_limit_may_decide_nothing(values, within, reached):
    assert (at_most(2, values), at_least(2, values)) == (within, reached)


def test_a_row_is_picked_by_its_name_and_measured(fashion, tmp_path):
    """The comparison that is quickest, on a small copy of the data: all but the time is real."""
    data = Data(tmp_path, tmp_path)
    names = [*map(bench.name_of, [*training.rows(data, 1), *workflow.rows(data)])]
    assert len({*names}) == len(names)
    small_copy(fashion, tmp_path, train=60_000, test=1000)
    (tmp_path / "data/fashion_mnist").mkdir()
    (tmp_path / "manifest.json").rename(tmp_path / "data/fashion_mnist/manifest.json")
    line = [sys.executable, str(ROOT / "benchmarks/bench.py"), "--only", "fashion_conv"]
    line += [f"--results={tmp_path}", f"--data-folder={tmp_path / 'data'}", "--rounds=1"]
    printed = succeed(line, timeout=600, PYTHONPATH=str(ROOT / "scripts"))
    _, _, best, same, _, _, read = printed.splitlines()
    assert best.startswith(f"| fashion-conv, `tensorflow-mirrored`, {training.PRECISION}, tuned")
    assert " examples/s | 1.5 x | " in best
    assert same.startswith("| fashion-conv, `tensorflow-mirrored`, float32, as-installed")
    assert read.startswith(f"Data: fashion_mnist {fashion.source} (")
