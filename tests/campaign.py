"""A plugin of pytest that counts the faults that tests inject, for the table of docs/faults.md.

`make faults` runs the tests with the mark `injects` and this plugin. Each of these marks is a row of the
table, or a part of one. With a selection (`make faults ONLY=killed`) the table is printed, not written.
"""

import os
import platform
import re
import subprocess
import time
from collections import defaultdict
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs/faults.md"
HEAD = [
    "| fault | how it was injected | times | what was lost | result |",
    "| --- | --- | --- | --- | --- |",
]


@dataclass
class Row:
    """One kind of fault. `times`: faults injected by tests that passed; `seen`: what these measured."""

    lost: str
    times: int = 0
    seen: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)

    @property
    def result(self) -> str:
        """The last column."""
        if self.failed:
            return "**FAILED**: " + ", ".join(self.failed)
        if not self.times:
            return f"not run: {self.skipped[0]}"
        return "; ".join(["survived", *self.seen])


START = time.monotonic()
rows: dict[tuple[str, str, str], Row] = {}


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Attach the mark to the test's report, which also comes from other processes."""
    if mark := item.get_closest_marker("injects"):
        more = {"lost": "nothing", "times": 1} | mark.kwargs
        item.user_properties.append(("injects", (*mark.args, more["lost"], more["times"])))


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Count one phase of one test."""
    properties = dict(report.user_properties)
    if "injects" not in properties or (report.when != "call" and report.outcome == "passed"):
        return
    item, fault, how, lost, times = properties["injects"]
    row = rows.setdefault((item, fault, how), Row(lost))
    if report.failed:
        row.failed.append(report.nodeid.rpartition("::")[2])
    elif report.skipped:
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else ""
        row.skipped.append(str(reason).removeprefix("Skipped: "))
    else:
        row.times += properties.get("times", times)
        row.seen += [properties["seen"]] if "seen" in properties else []


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Write the table where all tests have ended, or print it for a selection of them."""
    if hasattr(session.config, "workerinput"):  # a process of pytest-xdist
        return
    if session.config.option.keyword:
        print("\n" + table())
        return
    text = PAGE.read_text()
    new = re.sub(
        r"(?s)(<!-- table -->\n).*(<!-- end -->)", lambda at: at[1] + table() + at[2], text
    )
    PAGE.write_text(new)


def table() -> str:
    """The table by item of the definition, below a line on the whole campaign."""
    minutes = (time.monotonic() - START) / 60
    total = sum(row.times for row in rows.values())
    failed = sum(bool(row.failed) for row in rows.values())
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True
    ).stdout.strip()
    summary = (
        f"{total:,} faults, {failed} kinds not survived; {datetime.now(UTC):%Y-%m-%d}, commit {commit}, "
        f"{minutes:.0f} minutes on {os.cpu_count()} cores, Python {platform.python_version()}.\n"
    )
    lines = [*HEAD]
    by_item = defaultdict(list)
    for (item, fault, how), row in sorted(rows.items(), key=lambda each: each[0]):
        result = f"{row.times:,} | {row.lost} | {row.result}"
        by_item[item].append(f"| {fault} | {how} | {result} |")
    for item, faults in by_item.items():
        lines += [f"| **{item}** | | | | |", *faults]
    return "\n".join([summary, *lines]) + "\n"
