"""The colors of backends and clock parts, as color-blind readers and a gray print see them.

Distances are those of CAM02-UCS, in which 1 is about a just noticeable difference of large areas.
"""

import itertools

import numpy as np
import pytest
from colorspacious import cspace_convert, deltaE
from matplotlib.colors import to_rgb
from workspace import CONFIG

from paragone.config.expand import expand
from paragone.reporting import style
from paragone.reporting.figures.clocks import PART_STYLES

PALETTE = {name: block["color"] for name, block in CONFIG["backends"].items()}
BLIND = ("deuteranomaly", "protanomaly", "tritanomaly")
READERS = ("normal", *BLIND, "gray")
TOLD = 8  # least distance of two colors that a reader tells apart


def seen(color: str, reader: str) -> np.ndarray:
    """The sRGB color that a reader sees, 0 to 1."""
    rgb = np.array(to_rgb(color))
    if reader == "normal":
        return rgb
    if reader == "gray":
        lightness = cspace_convert(rgb, "sRGB1", "CAM02-UCS") * [1, 0, 0]
        return np.clip(cspace_convert(lightness, "CAM02-UCS", "sRGB1"), 0, 1)
    space = {"name": "sRGB1+CVD", "cvd_type": reader, "severity": 100}
    return np.clip(cspace_convert(rgb, space, "sRGB1"), 0, 1)


def distance(first: str, second: str, reader: str) -> float:
    return float(deltaE(seen(first, reader), seen(second, reader), input_space="sRGB1"))


def too_close(palette: dict[str, str]) -> list[tuple[str, str, str]]:
    """Pairs of backends that some reader cannot tell apart by color, and by marker neither."""
    styles = {name: style.series_style(palette, name) for name in palette}
    return [
        (first, second, reader)
        for first, second in itertools.combinations(palette, 2)
        for reader in READERS
        if distance(palette[first], palette[second], reader) < TOLD
        and styles[first]["marker"] == styles[second]["marker"]
    ]


def test_every_reader_tells_backends_apart_by_color_or_marker():
    assert too_close(PALETTE) == []


def test_the_check_finds_a_palette_that_is_too_close():
    names = list(PALETTE)
    same_marker = {**PALETTE, names[6]: PALETTE[names[0]]}
    assert (names[0], names[6], "gray") in too_close(same_marker)


@pytest.mark.parametrize("reader", BLIND)
def test_bars_of_one_experiment_differ_for_color_blind_readers(reader):
    """Bars have no markers; rows and panels name them as well."""
    for name, block in CONFIG["experiments"].items():
        if set(block["figures"]) & {"epoch_time", "batch_size_throughput"}:
            drawn = {spec.backend.name for spec in expand(CONFIG, name)}
            for first, second in itertools.combinations(sorted(drawn), 2):
                assert distance(PALETTE[first], PALETTE[second], reader) > TOLD


@pytest.mark.parametrize("reader", READERS)
def test_neighboring_parts_of_the_clocks_differ(reader):
    """Edges and hatches separate them as well; gray is told apart by lightness or hatch."""
    for (_, first), (_, second) in itertools.pairwise(PART_STYLES.items()):
        by_hatch = first[1] != second[1]
        assert by_hatch or distance(first[0], second[0], reader) > 6
