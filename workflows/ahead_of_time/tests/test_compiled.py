"""Compiled steps: traffic read by hand, bounds, figures and tables.

Records of compilations are made up: eight devices of a machine with round peaks.
"""

import json
from collections.abc import Callable
from pathlib import Path

import matplotlib.pyplot as plt
import msgspec
import pandas as pd
import pytest
from workspace import FOLDERS

import show
from ahead_of_time.bounds import (
    STRONG,
    WEAK,
    bound,
    flop_of,
    published_bounds,
    scaling,
    sent,
    table,
    validated,
)
from ahead_of_time.hlo import traffic
from ahead_of_time.records import Compilation, MeasuredStep
from paragone.base.typed_json import write
from paragone.config.numbers import Protocol, Row

DEVICE = {
    "name": "made",
    "flops": {"float32": 1e12},
    "memory": 1e9,
    "memory_bandwidth": 1e11,
    "link_bandwidth": 1e10,
    "sources": dict.fromkeys(("flops", "memory", "memory_bandwidth", "link_bandwidth"), "made up"),
}
STEP = {
    "name": "fashion-cnn.jax.r8.b1024.s0.00000000",
    "workload": "fashion-cnn",
    "model": {"name": "fashion-cnn"},
    "backend": "jax",
    "precision": "float32",
    "devices": 8,
    "global_batch": 1024,
    "exported": {
        "replicas": 1,
        "partitions": 8,
        "parameters": 21_900,
        "flop_per_example": 2_000_000,
    },
}
COST = {
    "flop": 3e8,
    "memory_traffic": 1e8,
    "memory": 5700,
    "collectives": [{"kind": "all-reduce", "bytes": 80_000, "group": 8, "count": 1}],
}


def compilation(
    step: dict | None = None,
    device: dict | None = None,
    cost: dict | None = None,
) -> Compilation:
    """A record of 256 MFLOP, 100 MB of traffic and an all-reduce of 80 kB, on each of 8 devices."""
    step = STEP | (step or {})
    target = {"label": f"{step['devices']} made devices", "compiler": "tpu", "topology": "made"}
    target |= {"devices": step["devices"], "device": DEVICE | (device or {})}
    record = {"step": step, "target": target, "software": {"libtpu": "0"}, "status": "compiled"}
    record |= {"seconds": 1.5, "cost": COST | (cost or {})}
    return msgspec.convert(record, Compilation)


def refused(status: str, reason: str) -> Compilation:
    """A record without numbers."""
    record = compilation()
    return msgspec.structs.replace(record, status=status, reason=reason, seconds=None, cost=None)


def over(devices: int, batch: int) -> Compilation:
    """The record of so many devices: FLOP and traffic divide, the all-reduce does not."""
    collectives = [{"kind": "all-reduce", "bytes": 80_000, "group": devices, "count": 1}]
    cost = {"memory_traffic": 1e5 * batch / devices, "collectives": collectives, "flop": None}
    return compilation(step={"devices": devices, "global_batch": batch}, cost=cost)


def measured() -> MeasuredStep:
    """0.25 GFLOP and 100 MB in each step of 40 ms; 100 GFLOP/s, memory of 10 GB/s."""
    step, cost = {**STEP, "devices": 1, "global_batch": 125}, {**COST, "collectives": []}
    speeds = {"product": {"amount": 1e10, "runs": [0.1, 0.2, 0.1]}}
    speeds |= {"triad": {"amount": 1e9, "runs": [0.1, 0.1, 0.1]}}
    record = {"step": step, "cost": cost, "calls": 5, "runs": [0.2, 0.2, 0.2], **speeds}
    return msgspec.convert(record, MeasuredStep)


TRAFFIC = """
%fused (p: f32[4]) -> f32[4] {
  ROOT %inside = f32[1024]{0} add(%p, %p)
}

ENTRY %main (a: f32[128,10]) -> f32[8] {
  %a = f32[128,10]{1,0:T(8,128)} parameter(0)
  %near = f32[128,10]{1,0:T(8,128)S(1)} fusion(%a), kind=kLoop, calls=%fused
  %pair = (f32[256]{0:T(128)}, f32[64]{0:T(64)S(1)}) fusion(%near, %a), kind=kLoop, calls=%fused
  %far = f32[256]{0:T(128)} get-tuple-element(%pair), index=0
  %copy-start = (f32[256]{0:T(128)S(1)}, f32[256]{0:T(128)}, u32[]{:S(2)}) copy-start(%far)
  %copy-done = f32[256]{0:T(128)S(1)} copy-done(%copy-start)
  ROOT %out = f32[8]{0:T(8)} fusion(%copy-done), kind=kLoop, calls=%fused
}
"""


def test_traffic_is_that_of_main_memory_in_whole_tiles():
    whole = 4 * 128 * 128  # f32[128,10] in tiles of 8 x 128
    expected = whole + (whole + 4 * 256) + 4 * 256 + 4 * 8
    assert traffic(TRAFFIC) == expected


LIBRARY = """
ENTRY %main (a: f32[100], w: f32[10]) -> f32[100] {
  %a = f32[100]{0} parameter(0)
  %w = f32[10]{0} parameter(1)
  %conv = (f32[50]{0}, u8[9000]{0}) custom-call(%a, %w), custom_call_target="__cudnn$convForward"
  %out = f32[50]{0} get-tuple-element(%conv), index=0
  ROOT %all = f32[100]{0} fusion(%out), kind=kLoop, calls=%fused
}
"""


def test_traffic_of_a_gpu_has_the_calls_of_libraries():
    """Without the bytes that the library works with; 100 + 10 + 50, and 50 + 100 floats.

    A cache of 100 bytes leaves 300, 0 and 100 of 400, 40 and 200 bytes.
    """
    assert traffic(LIBRARY) == 4 * (160 + 150)
    assert traffic(LIBRARY, cache=100) == 300 + 0 + 100 + (100 + 300)


def test_a_bound_by_hand():
    """1,024 examples of 2 MFLOP over 8 devices; 100 MB; a ring of 8 that reduces 80 kB."""
    least = bound(compilation())
    assert least.arithmetic == pytest.approx(0.256e-3)  # 1024 x 2e6 / 8 / 1e12
    assert least.memory == pytest.approx(1e-3)  # 1e8 / 1e11
    assert least.links == pytest.approx(14e-6)  # 2 x 7/8 x 80,000 / 1e10
    assert (least.binds, least.seconds) == ("memory", least.memory)
    assert least.apart == pytest.approx(1.27e-3)
    fewer = compilation(cost={"flop": 2e8})  # as the compiler counts
    assert flop_of(fewer.step, fewer.cost) == 2e8
    ratio = validated(measured())  # 40 ms over the longer of 2.5 ms and 10 ms
    assert (ratio.median, ratio.n) == (pytest.approx(4), 3)


@pytest.mark.parametrize(
    ("kind", "group", "per_chip", "bytes_sent"),
    [
        ("all-reduce", 8, 1, 1400),
        ("all-gather", 8, 1, 700),
        ("reduce-scatter", 8, 1, 5600),
        # Devices of one chip add first and share its links: a chip of four sends 2 x 3/4 of 800.
        ("all-reduce", 8, 2, 600),
        ("collective-permute", 2, 2, 0),
    ],
)
def test_what_a_device_sends(kind, group, per_chip, bytes_sent):
    collectives = [{"kind": kind, "bytes": 800, "group": group, "count": 3}]
    record = compilation(cost={"collectives": collectives}, device={"per_chip": per_chip})
    assert sent(record.cost.collectives, per_chip) == pytest.approx(3 * bytes_sent)
    assert bound(record).links == pytest.approx(3 * bytes_sent / 1e10)


@pytest.mark.parametrize(
    ("metric", "value", "unit", "epoch", "seconds"),
    [
        ("training_time", "269", "s", 50, 269 / 2900),
        ("epoch_time", "29", "s", None, 0.5),
        ("throughput", "2048", "images/s", None, 0.5),
    ],
)
def test_a_published_time_has_the_bound_of_its_step(metric, value, unit, epoch, seconds):
    """Without the same step nothing is explained."""
    about = {"quantity": metric, "system": "8 cores", "value": value, "decimals": 0, "unit": unit}
    row = Row(**about, epoch=epoch, final="yes" if epoch else "")
    protocol = {"workload": "fashion-cnn", "replicas": 8, "global_batch": 1024}
    protocol = Protocol(**protocol, epoch_examples=60_000)
    numbers = ("x", "8 cores", "8 made devices", [row], protocol)
    (bounded,) = published_bounds(*numbers, [compilation()]).to_dict("records")
    assert bounded["step_seconds"] == pytest.approx(seconds)
    assert bounded["bound_seconds"] == bounded["bound_seconds_jax"] == pytest.approx(1e-3)
    assert bounded["explained"] == pytest.approx(1.27e-3 / seconds)
    assert bounded["why"] == "memory binds"
    (none,) = published_bounds(*numbers, [refused("no_compiler", "no libtpu")]).to_dict("records")
    assert none["why"].startswith("jax: no libtpu")


def test_efficiency_by_hand():
    strong = [over(devices, 1024) for devices in (1, 8, 64)]
    weak = [over(devices, 128 * devices) for devices in (1, 2, 64)]
    rows = scaling(table([*strong, *weak, refused("refused", "no such TPU")]))
    assert set(rows["scaling"]) == {STRONG, WEAK}
    of_strong = rows[rows["scaling"] == STRONG].set_index("devices")
    # One device: 2.048 ms arithmetic, 1.024 ms memory. Eight: an eighth of each, and 14 us of links.
    assert of_strong.loc[8, "bound_efficiency"] == pytest.approx(1)
    assert of_strong.loc[8, "apart_efficiency"] == pytest.approx(3.072 / 8 / (3.072 / 8 + 0.014))
    of_weak = rows[rows["scaling"] == WEAK].set_index("devices")
    sends = 2 * 63 / 64 * 80_000 / 1e10
    each = 128 * 2e6 / 1e12 + 128 * 1e5 / 1e11
    assert of_weak.loc[64, "apart_efficiency"] == pytest.approx(each / (each + sends))


SYSTEM = ["xla_fashion_cnn", "8 TPU cores (Colab), PyTorch/XLA", "8 made devices"]
SUFFIXES = {"figures": ("svg", "pdf", "png", "csv"), "tables": ("csv", "md", "json")}
EXHIBITS = [(kind, name) for kind in SUFFIXES for name in getattr(show, kind.upper())]


@pytest.fixture
def shown(tmp_path) -> Callable[[str, str], list[Path]]:
    """The files of a figure or table of series of devices, and of a step that was refused."""
    made = [over(devices, 1024) for devices in (1, 2, 8, 64)]
    made += [over(devices, 128 * devices) for devices in (1, 2, 64)]
    made += [msgspec.structs.replace(refused("refused", "no such TPU"), step=over(1, 7).step)]
    paths = [tmp_path / f"{number}.json" for number, _ in enumerate(made)]
    for path, record in zip(paths, made, strict=True):
        write(record, path)
    write(measured(), tmp_path / "measured.json")
    about = {"title": "A title", "systems": [SYSTEM], "labels": {"jax": "JAX"}, "palette": {}}
    options = ["--about", json.dumps(about), "--papers", str(FOLDERS[SYSTEM[0]])]
    options += ["--records", *map(str, paths), "--measured", str(tmp_path / "measured.json")]

    def show_it(kind: str, name: str) -> list[Path]:
        files = [tmp_path / f"{name}.{suffix}" for suffix in SUFFIXES[kind]]
        show.main([kind, name, *options, "--files", *map(str, files)])
        plt.close("all")
        return files

    return show_it


@pytest.mark.parametrize(("kind", "name"), EXHIBITS)
@pytest.mark.filterwarnings("error")
def test_each_says_that_nothing_ran(shown, kind, name):
    files = shown(kind, name)
    # Each text of an SVG file is a comment in it.
    assert "NOT RUN" in files[kind == "tables"].read_text()


def test_published_times_are_beside_bounds_and_refusals_are_told(shown):
    *_, csv = shown("figures", "published_bounds")
    rows = pd.read_csv(csv)
    published = rows[rows["part"] == "published"]
    assert published["seconds"].tolist() == [pytest.approx(269 / 2900)]
    assert published["place"].tolist() == ["fashion-cnn, batch 1,024: 8 made devices"]
    assert rows.loc[rows["status"] == "refused", "seconds"].isna().all()
    _, markdown, *_ = shown("tables", "compiled")
    assert "refused by the compiler: no such TPU" in markdown.read_text()
    csv, *_ = shown("tables", "published_bounds")
    assert pd.read_csv(csv)["verdict"].tolist() == ["lower bound, compiled, not run"]
