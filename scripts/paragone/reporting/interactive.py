"""Interactive charts of the page: the points of a figure in one shape, drawn in the browser by Vega-Lite.

A specification is a plain dictionary, as Vega-Lite documents it: building it from objects would take most of
the time of a page.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

Specification = dict[str, Any]

MEDIAN, RUN, PUBLISHED = KINDS = "median", "run", "published"
COLUMNS = ["panel", "series", "backend", "kind", "x", "value", "low", "high", "n", "runs"]

_SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"  # names the format; nothing is fetched
_WIDTH, _HEIGHT = 300, 220  # pixels of a panel
_ROW = 9  # pixels of a series in a row of names
_GRAY, _BLACK = "#5F5F5F", "#000000"
_CONFIG = {
    "font": "system-ui, sans-serif",
    "background": "#ffffff",
    "axis": {"gridColor": "#E6E6E6", "labelFontSize": 11, "titleFontSize": 11},
    "legend": {
        "orient": "top",
        "columns": 2,
        "labelFontSize": 11,
        "labelLimit": 260,
        "symbolOpacity": 1,
    },
}
# Parameters that the page sets. As they are here, all series are shown with absolute values.
_PARAMETERS = [{"name": "baseline", "value": ""}, {"name": "hidden", "value": []}]
# The column of a point divided by the baseline's value at the same place, if the page has set a baseline.
_SHOWN = "datum.{0} == null ? null : baseline == '' ? datum.{0} : datum.{0} / datum.base"
_BOUNDS = {"shown": "value", "start": "low", "end": "high"}


@dataclass(frozen=True)
class Panel:
    """One pair of axes: their titles with units, and whether the x-axis is logarithmic (base 2)."""

    x_title: str
    y_title: str
    log_x: bool = False


@dataclass(frozen=True)
class Chart:
    """The points of an interactive chart, and its panels by name; a panel without points is left out.

    `points` has the columns `COLUMNS`: `kind` is one of `KINDS`; `backend` is missing for published points;
    `low` and `high` bound the interval if there is one; `runs` names the runs of a point. `x` is a number, or
    text on an axis of categories.
    """

    points: pd.DataFrame
    panels: dict[str, Panel]


def long(points: pd.DataFrame, **names: str) -> pd.DataFrame:
    """Return points with the columns of a chart; `names` has the column of `points` where it differs."""
    sources = {column: names.get(column, column) for column in COLUMNS}
    present = {column: points[name] for column, name in sources.items() if name in points}
    return pd.DataFrame(present).reindex(columns=COLUMNS).dropna(subset=["x", "value"])


def wide(points: pd.DataFrame, values: Sequence[str], **names: str) -> pd.DataFrame:
    """Return the same of points with one column per panel: <value>, <value>_low and <value>_high."""
    parts = [
        long(points.assign(panel=name), value=name, low=f"{name}_low", high=f"{name}_high", **names)
        for name in values
    ]
    return pd.concat(parts, ignore_index=True)


def series_colors(chart: Chart, palette: dict[str, str]) -> dict[str, str]:
    """Return the color of each series: of its backend in the palette, black if published, else gray."""
    first = chart.points.drop_duplicates("series")
    return {
        name: _BLACK if kind == PUBLISHED else palette.get(backend, _GRAY)
        for name, backend, kind in first[["series", "backend", "kind"]].itertuples(index=False)
    }


def specification(chart: Chart, palette: dict[str, str]) -> Specification:
    """Return the Vega-Lite specification of a chart.

    The page sets its parameters `baseline` and `hidden`, and the type of the scales of values.
    """
    colors = series_colors(chart, palette)
    by_panel = dict(list(chart.points.groupby("panel")))
    return {
        "$schema": _SCHEMA,
        "config": _CONFIG,
        "params": _PARAMETERS,
        "columns": 2,
        "concat": [
            _panel(name, by_panel[name], panel, colors)
            for name, panel in chart.panels.items()
            if name in by_panel
        ],
        "resolve": {"scale": {"color": "shared", "shape": "shared"}},
        "datasets": {
            name: json.loads(rows.drop(columns=["panel", "backend"]).to_json(orient="records"))
            for name, rows in by_panel.items()
        },
    }


def _panel(name: str, rows: pd.DataFrame, panel: Panel, colors: dict[str, str]) -> Specification:
    is_number = pd.api.types.is_numeric_dtype(rows["x"].infer_objects())
    across = "y" if is_number else "x"  # the axis of values; names are easier to read on the left
    # Where each name is a series of its own, the baseline is in another row.
    several = is_number or not (rows["x"] == rows["series"]).all()
    value = {"type": "quantitative", "format": ".5~g"}
    hover = [
        {"field": "series"},
        {"field": "kind"},
        {"field": "x", "title": panel.x_title, "type": "quantitative" if is_number else "nominal"},
        {"field": "shown", "title": panel.y_title, **value},
        {"field": "start", "title": "95 % from", **value},
        {"field": "end", "title": "95 % to", **value},
        {"field": "n", "type": "quantitative"},
        {"field": "runs"},
    ]
    shape = {"field": "series", "scale": {"domain": list(colors)}, "title": None}
    interval = {across: _values("start", panel), f"{across}2": {"field": "end"}}
    bounds = {"mark": {"type": "rule", "strokeWidth": 1.5}, "encoding": interval}
    point = {"type": "point", "size": 60, "filled": True, "opacity": 1}
    layers = [
        *([bounds] if rows["low"].notna().any() else []),
        _layer([RUN], {"type": "point", "size": 22, "opacity": 0.6}, tooltip=hover),
        _layer([MEDIAN, PUBLISHED], point, tooltip=hover, shape=shape),
    ]
    if is_number:
        layers.append(_layer([MEDIAN], {"type": "line", "strokeWidth": 1.5, "opacity": 0.8}))
    color = {"domain": list(colors), "range": list(colors.values())}
    step = {"step": _ROW, "for": "offset"} if several else {"step": 2 * _ROW}
    return {
        "data": {"name": name},
        "transform": _transform(several),
        "width": _WIDTH,
        "height": _HEIGHT if is_number else step,
        "encoding": {
            "color": {"field": "series", "scale": color, "title": None},
            across: _values("shown", panel),
            **(_numbers(rows["x"], panel) if is_number else _names(several)),
        },
        "layer": layers,
    }


def _layer(kinds: list[str], mark: Specification, **encoding: Any) -> Specification:
    only = [{"filter": {"field": "kind", "oneOf": kinds}}]
    return {"transform": only, "mark": mark, "encoding": encoding}


def _values(field: str, panel: Panel) -> Specification:
    about = {"title": panel.y_title, "scale": {"zero": False}, "axis": {"tickCount": 5}}
    return {"field": field, "type": "quantitative", **about}


def _numbers(places: pd.Series, panel: Panel) -> Specification:
    """Return the encoding of an axis of numbers, each of which has a tick if they are few."""
    known = pd.to_numeric(places)
    axis: Specification = {"format": "~s" if known.max() > 9999 else "~g", "labelOverlap": True}
    if known.nunique() <= 12:
        axis["values"] = sorted(set(known))
    scale = {"type": "log", "base": 2} if panel.log_x else {"zero": False}
    about = {"title": panel.x_title, "scale": scale, "axis": axis}
    return {"x": {"field": "x", "type": "quantitative", **about}}


def _names(several: bool) -> Specification:
    """Return the encoding of a row per name, in which `several` series are one below the other."""
    axis = {"labelLimit": 190, "grid": True}
    names = {"field": "x", "type": "nominal", "title": None, "sort": None, "axis": axis}
    return {"y": names, "yOffset": {"field": "series"}} if several else {"y": names}


def _transform(several: bool) -> list[Specification]:
    """Return the steps that drop hidden series and divide by the baseline, of the same place if `several`."""
    own = "datum.series == baseline && datum.kind != 'run' ? datum.value : null"
    base = {"op": "max", "field": "own", "as": "base"}
    return [
        {"calculate": own, "as": "own"},
        {"joinaggregate": [base], "groupby": ["x"] if several else []},
        {"filter": "indexof(hidden, datum.series) < 0 && (baseline == '' || datum.base != null)"},
        *({"calculate": _SHOWN.format(old), "as": new} for new, old in _BOUNDS.items()),
    ]
