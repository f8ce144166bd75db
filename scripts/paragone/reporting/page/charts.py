"""The interactive twin of a figure as a Vega-Lite specification, and the one bundle that draws them all.

Specifications are written as they are documented, in plain dictionaries: a layer of builder objects copies
them so often that it takes most of the time of a page.
"""

import json
from functools import cache
from typing import Any

import pandas as pd
import vl_convert

from paragone.reporting.twin import MEDIAN, MODEL, PUBLISHED, RUN, Panel, Twin

Spec = dict[str, Any]

SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"  # names the format; nothing is fetched
WIDTH, HEIGHT = 300, 220  # pixels of a panel
ROW = 9  # pixels of a series in a row of names
GREY, INK = "#5F5F5F", "#000000"
CONFIG = {
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
# Parameters that the page sets: nothing is hidden, and nothing divided.
PARAMETERS = [{"name": "baseline", "value": ""}, {"name": "hidden", "value": []}]
# A point's values over that of the baseline at the same place, or as they are.
SHOWN = "datum.{0} == null ? null : baseline == '' ? datum.{0} : datum.{0} / datum.base"
BOUNDS = {"shown": "value", "start": "low", "end": "high"}


def chart(twin: Twin, colors: dict[str, str]) -> Spec:
    """A specification whose panels share `PARAMETERS`.

    `colors`: by label of a backend. The page sets the parameters, and the type of the scales of values.
    """
    looks = series_colors(twin, colors)
    by_panel = dict(list(twin.rows.groupby("panel")))
    return {
        "$schema": SCHEMA,
        "config": CONFIG,
        "params": PARAMETERS,
        "columns": 2,
        "concat": [
            _panel(name, by_panel[name], one, looks)
            for name, one in twin.panels.items()
            if name in by_panel
        ],
        "resolve": {"scale": {"color": "shared", "shape": "shared"}},
        "datasets": {
            name: json.loads(rows.drop(columns="panel").to_json(orient="records"))
            for name, rows in by_panel.items()
        },
    }


def series_colors(twin: Twin, colors: dict[str, str]) -> dict[str, str]:
    """The color of each series: of the backend whose label its name begins with, black if published."""
    published = set(twin.rows.loc[twin.rows["kind"] == PUBLISHED, "series"])
    found = {}
    for name in dict.fromkeys(twin.rows["series"]):
        labels = [label for label in colors if name.startswith(label)]
        found[name] = colors[max(labels, key=len)] if labels else GREY
        if name in published:
            found[name] = INK
    return found


@cache
def libraries() -> str:
    """Vega, Vega-Lite and Vega-Embed as one script that defines `vegaEmbed`: no network is needed."""
    script: str = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;")
    return script


def _panel(name: str, rows: pd.DataFrame, panel: Panel, looks: dict[str, str]) -> Spec:
    number = pd.api.types.is_numeric_dtype(rows["x"].infer_objects())
    across = "y" if number else "x"  # the axis of values; long names are read from the left
    hover = [
        {"field": "series"},
        {"field": "kind"},
        {"field": "x", "title": panel.x_title, "type": "quantitative" if number else "nominal"},
        {"field": "shown", "title": panel.y_title, "type": "quantitative", "format": ".5~g"},
        {"field": "start", "title": "95 % from", "type": "quantitative", "format": ".5~g"},
        {"field": "end", "title": "95 % to", "type": "quantitative", "format": ".5~g"},
        {"field": "n", "type": "quantitative"},
        {"field": "runs"},
    ]
    shape = {"field": "series", "scale": {"domain": list(looks)}, "title": None}
    interval = {across: _values("start", panel), f"{across}2": {"field": "end"}}
    bounds = {"mark": {"type": "rule", "strokeWidth": 1.5}, "encoding": interval}
    layers = [
        *([bounds] if rows["low"].notna().any() else []),
        _layer([RUN], {"type": "point", "size": 22, "opacity": 0.6}, tooltip=hover),
        _layer(
            [MEDIAN, PUBLISHED],
            {"type": "point", "size": 60, "filled": True, "opacity": 1},
            tooltip=hover,
            shape=shape,
        ),
    ]
    if number:
        dashed = {"type": "line", "strokeWidth": 1.2, "strokeDash": [5, 3], "point": True}
        layers += [
            _layer([MEDIAN], {"type": "line", "strokeWidth": 1.5, "opacity": 0.8}),
            _layer([MODEL], dashed, tooltip=hover),
        ]
    color = {"domain": list(looks), "range": list(looks.values())}
    # Where each name is a series, a series has its baseline in another row.
    apart = not (rows["x"] == rows["series"]).all()
    places = _numbers(rows["x"], panel) if number else _names(apart)
    step = {"step": ROW, "for": "offset"} if apart else {"step": 2 * ROW}
    return {
        "title": {"text": panel.heading, "fontSize": 11},
        "data": {"name": name},
        "transform": _transform(apart),
        "width": WIDTH,
        "height": HEIGHT if number else step,
        "encoding": {
            "color": {"field": "series", "scale": color, "title": None},
            across: _values("shown", panel),
            **places,
        },
        "layer": layers,
    }


def _layer(kinds: list[str], mark: Spec, **encoding: Any) -> Spec:
    only = [{"filter": {"field": "kind", "oneOf": kinds}}]
    return {"transform": only, "mark": mark, "encoding": encoding}


def _values(field: str, panel: Panel) -> Spec:
    return {
        "field": field,
        "type": "quantitative",
        "title": panel.y_title,
        "scale": {"zero": False},
        "axis": {"tickCount": 5},
    }


def _numbers(places: pd.Series, panel: Panel) -> Spec:
    """The axis of numbers, each marked where they are few."""
    known = pd.to_numeric(places)
    axis: Spec = {"format": "~s" if known.max() > 9999 else "~g", "labelOverlap": True}
    if known.nunique() <= 12:
        axis["values"] = sorted(set(known))
    scale = {"type": "log", "base": 2} if panel.log_x else {"zero": False}
    about = {"title": panel.x_title, "scale": scale, "axis": axis}
    return {"x": {"field": "x", "type": "quantitative", **about}}


def _names(apart: bool) -> Spec:
    """A row per name; series beside each other within it where the names are not the series."""
    axis = {"labelLimit": 190, "grid": True}
    names = {"field": "x", "type": "nominal", "title": None, "sort": None, "axis": axis}
    return {"y": names, "yOffset": {"field": "series"}} if apart else {"y": names}


def _transform(apart: bool) -> list[Spec]:
    """Drop what is hidden, and divide by the baseline; `apart`: that of the same place."""
    own = "datum.series == baseline && datum.kind != 'run' ? datum.value : null"
    base = {"op": "max", "field": "own", "as": "base"}
    return [
        {"calculate": own, "as": "own"},
        {"joinaggregate": [base], "groupby": ["x"] if apart else []},
        {"filter": "indexof(hidden, datum.series) < 0 && (baseline == '' || datum.base != null)"},
        *({"calculate": SHOWN.format(old), "as": new} for new, old in BOUNDS.items()),
    ]
