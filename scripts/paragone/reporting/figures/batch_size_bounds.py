"""Throughput by batch size: what bounds of compiled steps allow, and published values beside."""

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator, StrMethodFormatter

from paragone.analysis.ahead_of_time import table as compiled
from paragone.base.errors import UserError
from paragone.reporting.compilations import BOUND, COMPILED, validated
from paragone.reporting.drawing import legend, style
from paragone.reporting.drawing.frame import Frame
from paragone.reporting.drawing.marks import plain_logarithms, write
from paragone.reporting.inputs import Inputs

PUBLISHED = {"color": style.PUBLISHED, "marker": "D", "linestyle": "none"}
# What peaks allow where the parts of a step overlap whole, and what they give one after the other.
ALLOWED = {"overlap": ("-", "at most"), "apart": ("--", "peaks one after the other")}


def points(inputs: Inputs) -> pd.DataFrame:
    """One row per batch: published examples/s, or those that a bound allows (kind overlap or apart).

    A batch that does not fit is a row of kind `too_large` without a value. Raises `UserError` if nothing
    was compiled.
    """
    if not inputs.compilations:
        raise UserError("--compilations: missing; run `snakemake ahead_of_time` first")
    found = []
    for one in compiled.table(inputs.compilations).to_dict("records"):
        about = {
            "global_batch": one["global_batch"],
            "system": one["target_label"],
            "backend": one["backend"],
        }
        about["series"] = inputs.labels.get(one["backend"], one["backend"])
        if one["status"] != "compiled" or not one["fits"]:
            kind = "too_large" if one["fits"] is False else one["status"]
            found.append({**about, "kind": kind, "value": None})
            continue
        for kind, seconds in (("overlap", one["bound_seconds"]), ("apart", one["apart_seconds"])):
            found.append({**about, "kind": kind, "value": one["global_batch"] / seconds})
    for entry in inputs.settings.get("beside", []):
        for row in inputs.published_beside(entry["published"]).published:
            if row.metric == "throughput" and row.system == entry["system"] and row.global_batch:
                value = float(row.value)
                about = {
                    "global_batch": row.global_batch,
                    "system": row.system,
                    "kind": "published",
                }
                found.append({**about, "value": value})
    columns = ["global_batch", "system", "backend", "series", "kind", "value"]
    return pd.DataFrame(found).reindex(columns=columns)


def draw(points: pd.DataFrame, inputs: Inputs) -> Figure:
    """The figure: one panel, logarithmic both ways."""
    backends = points[["backend", "series", "system"]].dropna().drop_duplicates()
    published = points[points["kind"] == "published"]
    handles = [legend.mark("published", color=style.PUBLISHED, marker="D", markersize=3)]
    for name, label, system in backends.itertuples(index=False):
        for line, words in ALLOWED.values():
            look = {"color": style.color(inputs.palette, name), "linestyle": line}
            handles.append(legend.line(f"{label}, {system}, {words}", **look))
    others = sorted(set(published["system"]))
    remarks = [COMPILED, BOUND, validated(inputs)]
    remarks += [f"Published: {name}.{_share(points)}" for name in others]
    frame = Frame(style.SINGLE, 2.2, inputs.title, None, remarks, handles)
    axes = frame.figure.subplots()
    axes.set(xscale="log", yscale="log")
    axes.plot(published["global_batch"], published["value"], markersize=3, **PUBLISHED)
    for name, _, _ in backends.itertuples(index=False):
        for kind, (line, _) in ALLOWED.items():
            chosen = (points["backend"] == name) & (points["kind"] == kind)
            here = points[chosen].sort_values("global_batch")
            color = style.color(inputs.palette, name)
            axes.plot(here["global_batch"], here["value"], line, color=color, marker=".")
    low = points["value"].min()
    for batch in sorted(set(points.loc[points["kind"] == "too_large", "global_batch"])):
        axes.axvline(batch, color=style.ALARM, linestyle=":")
        write(axes, "does not fit", (batch, low), (-3, 0), ha="right", size=6, color=style.ALARM)
    axes.set_xscale("log", base=2)
    axes.xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    axes.xaxis.set_minor_locator(NullLocator())
    plain_logarithms(axes.yaxis)
    axes.grid(axis="both")
    axes.set_xlabel("batch size (examples)")
    axes.set_ylabel("examples/s")
    return frame.figure


def _share(points: pd.DataFrame) -> str:
    """How close published values come to what the bound allows, in words; empty where none has both."""
    wide = points.pivot_table(index="global_batch", columns="kind", values="value", aggfunc="max")
    if not {"published", "overlap"} <= set(wide.columns):
        return ""
    share = (wide["published"] / wide["overlap"]).max()
    return (
        ""
        if pd.isna(share)
        else f" They reach at most {100 * share:.0f} % of what the bound allows."
    )
