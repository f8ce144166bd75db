"""A plugin of pytest that counts the faults that tests inject, for the table of docs/faults.md.

`make faults` runs the tests with the mark `injects` and this plugin. Each of these marks is a row of the
table, or a part of one. With a selection (`make faults ONLY=killed`) the table is printed, not written.
"""

import os
import platform
import re
import subprocess
import time
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs/faults.md"
START = time.monotonic()
# By (item, fault, how injected, what was lost), the reports of all tests.
rows: dict[tuple[str, str, str, str], list[pytest.TestReport]] = {}


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Attach the mark to the test's report, which also comes from other processes."""
    if mark := item.get_closest_marker("injects"):
        more = {"lost": "nothing", "times": 1} | mark.kwargs
        item.user_properties += [("injects", (*mark.args, more["lost"])), ("times", more["times"])]


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Keep the report of a test, or of a phase before or after it that did not pass."""
    properties = dict(report.user_properties)
    if "injects" in properties and (report.when == "call" or report.outcome != "passed"):
        rows.setdefault(tuple(properties["injects"]), []).append(report)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Write the table where all tests have ended, or print it for a selection of them."""
    if hasattr(session.config, "workerinput"):  # a process of pytest-xdist
        return
    if session.config.option.keyword:
        print("\n" + table())
        return
    parts = re.split(r"(?<=<!-- table -->\n)|(?=<!-- end -->)", PAGE.read_text())
    PAGE.write_text(parts[0] + table() + parts[-1])


def times_of(reports: list[pytest.TestReport]) -> int:
    """How many faults the tests that passed have injected; what a test measured goes before its mark."""
    return sum(dict(report.user_properties)["times"] for report in reports if report.passed)


def result_of(reports: list[pytest.TestReport]) -> str:
    """The last column of a row."""
    if failed := [report.nodeid.rpartition("::")[2] for report in reports if report.failed]:
        return "**FAILED**: " + ", ".join(failed)
    if not times_of(reports):
        reason = reports[0].longrepr[2] if isinstance(reports[0].longrepr, tuple) else ""
        return f"not run: {str(reason).removeprefix('Skipped: ')}"
    properties = [dict(report.user_properties) for report in reports]
    return "; ".join(["survived", *(each["seen"] for each in properties if "seen" in each)])


def table() -> str:
    """The table by item of the definition, below a line on the whole campaign."""
    minutes = (time.monotonic() - START) / 60
    failed = sum(any(report.failed for report in reports) for reports in rows.values())
    line = ["git", "rev-parse", "--short", "HEAD"]
    commit = subprocess.run(line, cwd=ROOT, capture_output=True, text=True).stdout.strip()
    lines = [
        f"{sum(map(times_of, rows.values())):,} faults, {failed} kinds not survived; "
        f"{datetime.now(UTC):%Y-%m-%d}, commit {commit}, {minutes:.0f} minutes on {os.cpu_count()} cores, "
        f"Python {platform.python_version()}.\n",
        "| fault | how it was injected | times | what was lost | result |",
        "| --- | --- | --- | --- | --- |",
    ]
    for item, of_item in groupby(sorted(rows), key=lambda row: row[0]):
        lines.append(f"| **{item}** | | | | |")
        for row in of_item:
            _, fault, how, lost = row
            reports = rows[row]
            times = f"{times_of(reports):,}"
            lines.append(f"| {fault} | {how} | {times} | {lost} | {result_of(reports)} |")
    return "\n".join(lines) + "\n"
