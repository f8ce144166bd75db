"""Figures and tables of compiled steps, from made records."""

import json
from itertools import pairwise

import matplotlib.pyplot as plt
import pandas as pd
import pytest
from draw_figures import Drawing, texts_of
from make_compilations import PROGRAM, TARGET, compilation, refused
from make_products import make_case, make_result, table_of

from paragone.analysis.ahead_of_time.scaling import STRONG, WEAK
from paragone.analysis.ahead_of_time.validation import validate
from paragone.base.errors import UserError
from paragone.records.compilations import check_largest_batch, check_measured_step
from paragone.reporting.drawing.marks import plain_logarithms
from paragone.reporting.modules import load

BESIDE = [
    {
        "published": "xla_fashion_cnn",
        "system": "8 TPU cores (Colab), PyTorch/XLA",
        "target": "made-8",
    }
]


def over(devices: int, batch: int) -> dict:
    """The record of so many devices: FLOP and traffic divide, the all-reduce does not."""
    return compilation(
        program={"devices": devices, "global_batch": batch, "name": f"n{devices}.b{batch}"},
        target={"devices": devices, "name": f"made-{devices}"},
        cost={"memory_traffic": 1e5 * batch / devices, "flop": 2.3e6 * batch / devices},
        collectives=[{"kind": "all-reduce", "bytes": 80_000, "group": devices, "count": 1}],
    )


def tried(name: str, *tries: tuple) -> dict:
    keys = ("per_device", "status", "total_bytes", "excess_bytes")
    rows = [dict(zip(keys, one, strict=True), reason=None) for one in tries]
    about = {key: PROGRAM[key] for key in ("workload", "model", "backend", "precision", "shape")}
    target = {**TARGET, "name": name, "label": name}
    return {
        "schema": 1,
        "name": name,
        **about,
        "target": target,
        "tries": rows,
        "software": {},
    }


LARGEST = [
    tried(
        "a",
        (64, "compiled", 10, None),
        (512, "compiled", 70, None),
        (9000, "too_large", 2000, 1000),
        (8000, "compiled", 990, None),
    ),
    tried("b", (64, "no_compiler", None, None), (512, "no_compiler", None, None)),
]


def measured(devices: int = 1) -> dict:
    """0.25 GFLOP, and 100 MB on each device, per step of 40 ms; memory of 10 GB/s.

    Several devices add 80 kB in each step, and 1 GB in a second.
    """
    made = make_result("jax", [make_case((256,) * 3, gflops=(100,))])
    return {
        "schema": 1,
        "program": {**PROGRAM, "devices": devices, "global_batch": 125},
        "process": made["process"],
        "cost": compilation()["cost"],
        "collectives": [
            {"kind": "all-reduce", "bytes": 80_000, "group": devices, "count": 1}
            for _ in range(devices > 1)
        ],
        "calls": 5,
        "runs": [0.2, 0.2, 0.2],
        "traffic": {"bytes": 10**9, "runs": [0.1, 0.1]},
        "all_reduce": {"bytes": 10**9, "runs": [1.0, 1.0]} if devices > 1 else None,
    }


@pytest.fixture
def drawing(tmp_path):
    def written(kind: str, records: list[dict]) -> list:
        paths = [tmp_path / f"{kind}.{number}.json" for number, _ in enumerate(records)]
        for path, record in zip(paths, records, strict=True):
            path.write_text(json.dumps(record))
        return paths

    strong = [over(devices, 1024) for devices in (1, 2, 8, 64)]
    weak = [over(devices, 128 * devices) for devices in (1, 2, 64)]
    records = [*strong, *weak, refused("refused", "INVALID_ARGUMENT: no such TPU")]
    return Drawing(
        tmp_path,
        {"beside": BESIDE},
        compilations=written("compiled", records),
        largest_batches=written("largest", LARGEST),
        measured_steps=written("measured", [measured()]),
        products=table_of([make_result("jax", [make_case((256,) * 3, gflops=(100,))])]),
    )


@pytest.mark.parametrize(
    "figure", ["step_bounds", "compiled_scaling", "largest_batch", "batch_size_bounds"]
)
@pytest.mark.filterwarnings("error")
def test_each_figure_is_the_same_bytes_again_and_says_that_nothing_ran(drawing, figure):
    paths, shown = drawing.draw(figure)
    first = [path.read_bytes() for path in paths]
    again, _ = drawing.draw(figure)
    assert first == [path.read_bytes() for path in again]
    assert len(shown)
    assert "NOT RUN" in texts_of(drawing.figure(figure))


def test_bounds_have_the_published_time_and_the_validation_beside_them(drawing):
    module, inputs = load("figures", "step_bounds"), drawing.inputs()
    rows = module.points(inputs)
    published = rows[rows["part"] == "published"]
    assert published["seconds"].tolist() == [pytest.approx(269 / 2900)]
    # 40 ms over the longer of 0.25 GFLOP at 100 GFLOP/s and 100 MB at 10 GB/s: 10 ms.
    assert "over bound 4 (fashion-cnn, jax" in texts_of(drawing.figure("step_bounds"))


def test_a_search_that_ended_with_a_gap_shows_both_ends(drawing):
    """The first fits at 8,000 and not at 9,000, an eighth more; within a tenth one number would do."""
    text = texts_of(drawing.figure("largest_batch"))
    assert "8,000 to 9,000" in text
    close = [
        (64, "compiled", 10, None),
        (8500, "too_large", 2000, 1),
        (8000, "compiled", 990, None),
    ]
    path = drawing.inputs().files["largest-batches"][0]
    path.write_text(json.dumps(tried("a", *close)))
    text = texts_of(drawing.figure("largest_batch"))
    assert "8,000" in text
    assert "8,500" not in text


def test_the_smallest_batch_that_does_not_fit_is_on_the_axis(drawing):
    far = [(64, "compiled", 10, None), (90_000, "too_large", 2000, 1), (512, "compiled", 90, None)]
    path = drawing.inputs().files["largest-batches"][0]
    path.write_text(json.dumps(tried("a", *far)))
    axes = drawing.figure("largest_batch").axes[0]
    assert 90_000 in [line.get_xdata()[0] for line in axes.lines]
    assert axes.get_xlim()[1] > 90_000


def test_programs_that_are_not_divided_are_named(drawing):
    assert "Not divided" not in texts_of(drawing.figure("step_bounds"))
    gather = {"kind": "all-gather", "bytes": 5_898_240, "group": 8, "count": 1}
    whole = compilation(program={"name": "whole"}, collectives=[gather])
    path = drawing.inputs().files["compilations"][0].with_name("whole.json")
    path.write_text(json.dumps(whole))
    drawing.files["compilations"] = [*drawing.files["compilations"], path]
    words = "gather whole activations: fashion-cnn of jax on 8 made devices."
    assert words in texts_of(drawing.figure("step_bounds"))
    remarks = load("tables", "compiled").table(drawing.inputs()).remarks
    assert any(one.endswith(words) for one in remarks)


def test_published_speeds_say_how_close_they_come_to_the_bound(drawing):
    """90 of 100 examples/s at batch 8, and one at a batch that was not compiled."""
    about = {"system": "1 made", "backend": "jax", "series": "JAX"}
    rows = [
        {**about, "global_batch": 8, "kind": "overlap", "value": 100.0},
        {**about, "global_batch": 8, "kind": "apart", "value": 80.0},
        {"system": "1 GPU", "global_batch": 8, "kind": "published", "value": 90.0},
        {"system": "1 GPU", "global_batch": 16, "kind": "published", "value": 99.0},
    ]
    columns = ["global_batch", "system", "backend", "series", "kind", "value"]
    points = pd.DataFrame(rows).reindex(columns=columns)
    figure = load("figures", "batch_size_bounds").draw(points, drawing.inputs())
    assert "Published: 1 GPU. They reach at most 90 % of what" in texts_of(figure)


def test_several_batches_of_a_target_have_a_row_each(drawing):
    """The fixture has one batch on eight devices; with one more, labels name both."""
    more = over(8, 2048)
    path = drawing.inputs().files["compilations"][0].with_name("more.json")
    path.write_text(json.dumps(more))
    inputs = drawing.inputs()
    inputs.files["compilations"] = [*inputs.files["compilations"], path]
    rows = load("figures", "step_bounds").points(inputs)
    of_eight = rows[rows["target"] == "made-8"]
    assert len(set(of_eight["place"])) > 1
    assert any(place.endswith(", batch 2,048") for place in of_eight["place"])
    published = of_eight.loc[of_eight["part"] == "published", "place"]
    assert [one.endswith(", batch 1,024") for one in published] == [True]


def test_a_step_over_virtual_devices_is_held_against_all_of_the_machine():
    """4 devices: together they read 400 MB at 10 GB/s; each sends 120 kB (2 x 3/4 x 80,000) at 1.5 GB/s."""
    products = table_of([make_result("jax", [make_case((256,) * 3, gflops=(100,))])])
    found = validate(check_measured_step(measured(devices=4)), products)
    assert found.bound.compute == pytest.approx(2.5e-3)
    assert found.bound.memory == pytest.approx(40e-3)
    assert found.bound.links == pytest.approx(80e-6)
    assert (found.devices, found.link) == (4, pytest.approx(1.5e9))
    assert found.ratio.median == pytest.approx(1)


@pytest.mark.parametrize("devices", [1, 2])
def test_one_device_has_no_all_reduce_and_several_have_one(devices):
    wrong = {**measured(devices), "all_reduce": measured(3 - devices)["all_reduce"]}
    with pytest.raises(ValueError, match="all_reduce: contradicts"):
        check_measured_step(wrong)


def test_efficiency_by_hand(drawing):
    rows = load("figures", "compiled_scaling").points(drawing.inputs())
    assert set(rows["scaling"]) == {STRONG, WEAK}
    strong = rows[rows["scaling"] == STRONG].set_index("devices")
    # One device: 2.048 ms arithmetic, 1.024 ms memory. Eight: an eighth of each, and 14 us of links.
    assert strong.loc[8, "bound_efficiency"] == pytest.approx(1)
    assert strong.loc[8, "apart_efficiency"] == pytest.approx(3.072 / 8 / (3.072 / 8 + 0.014))
    weak = rows[rows["scaling"] == WEAK].set_index("devices")
    sent = 2 * 63 / 64 * 80_000 / 1e10
    each = 128 * 2e6 / 1e12 + 128 * 1e5 / 1e11
    assert weak.loc[64, "apart_efficiency"] == pytest.approx(each / (each + sent))


def test_the_largest_batch_is_one_that_was_compiled():
    first, second = map(check_largest_batch, LARGEST)
    assert (first.fits, first.exceeds) == (8000, 9000)
    assert (second.fits, second.exceeds) == (None, None)
    wrong = tried("c", (64, "too_large", 1, 1), (512, "compiled", 1, None))
    with pytest.raises(ValueError, match="512 fits and 64 does not"):
        check_largest_batch(wrong)


def test_tables_say_what_was_refused_and_by_how_much_a_step_exceeds_its_bound(drawing):
    inputs = drawing.inputs()
    cells = load("tables", "compiled").table(inputs).blocks[0].cells
    assert cells["status"].iloc[-1] == "refused by the compiler: INVALID_ARGUMENT: no such TPU"
    validated = load("tables", "bounds_validated").table(inputs)
    assert validated.rows["ratio"].tolist() == [pytest.approx(4)]
    bounds = load("tables", "published_bounds").table(inputs)
    assert bounds.rows["verdict"].tolist() == ["lower bound, compiled, not run"]


def test_without_records_there_is_one_message(tmp_path):
    for name in ("step_bounds", "compiled_scaling", "batch_size_bounds"):
        with pytest.raises(UserError, match="--compilations"):
            load("figures", name).points(Drawing(tmp_path).inputs())


def test_labels_of_many_decades_stand_apart():
    """As in a panel of three step bounds: 1.9 inches for six decades, at the figures' size of letters."""
    with plt.rc_context({"font.size": 7, "xtick.labelsize": 7}):
        figure = plt.figure(figsize=(1.9, 1))
        axes = figure.add_axes((0, 0.5, 1, 0.5))
        axes.set_xscale("log")
        axes.set_xlim(3e-5, 40)
        plain_logarithms(axes.xaxis, (1,), most=5)
        figure.canvas.draw()
        boxes = [label.get_window_extent() for label in axes.get_xticklabels() if label.get_text()]
        plt.close(figure)
    assert len(boxes) >= 3
    assert all(left.x1 < right.x0 for left, right in pairwise(boxes))
