"""What is true of all runs together: where, on what data, with which software, how long, how many."""

from collections import Counter

import pandas as pd

from paragone.analysis import run_states
from paragone.reporting import footnotes


def facts(runs: pd.DataFrame, preset: str) -> dict[str, str]:
    """Rows of name and text. `preset`: what the config was overlaid with."""
    states = Counter(runs["status"].map(run_states.words_of))
    found = {
        "Machine": "; ".join(dict.fromkeys(runs["machine"].dropna())) or "none",
        "Data": footnotes.data(runs),
        "Config": f"default and {preset}" if preset else "default",
        "Runs": ", ".join(f"{count} {state}" for state, count in states.items()),
    }
    if period := _period(runs):
        found["Measured"] = period
    software = runs["software"].dropna().str.split("; ").explode()
    found["Software"] = ", ".join(sorted(set(software)))
    commits = runs["commit"].dropna().unique()
    found["Commit"] = ", ".join(commit[:12] for commit in commits) or "not known"
    return found


def synthetic(runs: pd.DataFrame) -> str:
    """The warning where some data were synthetic, else nothing."""
    return footnotes.SYNTHETIC if run_states.holds_synthetic(runs) else ""


def _period(runs: pd.DataFrame) -> str:
    """When the first run started and the last one, and the time of all runs together."""
    starts = pd.to_datetime(runs["started"].dropna(), format="ISO8601", utc=True)
    seconds = runs["end_to_end_seconds"].sum()
    if starts.empty:
        return ""
    return (
        f"{starts.min():%Y-%m-%d %H:%M} to {starts.max():%Y-%m-%d %H:%M} UTC, "
        f"in which the runs took {duration(seconds)}"
    )


def duration(seconds: float) -> str:
    """Seconds as a person says them."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"
