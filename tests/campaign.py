"""A plugin of pytest that counts the faults that tests inject, in the table of docs/faults.md.

`make faults` runs the tests with the mark `injects` and this plugin. The mark names the row of the table in
which a test is counted. With a selection (`make faults ONLY=killed`) its rows are printed, not written.
"""

import os
import platform
import re
import subprocess
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs/faults.md"
START = time.monotonic()
ROW = re.compile(r"^\| ([^|*]+) \| ([^|]+) \| [^|]+ \| ([^|]+) \| [^|]+ \|$", re.MULTILINE)
# The reports of all tests, by the fault that they inject.
reports: dict[str, list[pytest.TestReport]] = {}


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Attach the mark to the test's report, which also comes from other processes."""
    if mark := item.get_closest_marker("injects"):
        item.user_properties += [("injects", mark.args[0]), ("times", mark.kwargs.get("times", 1))]


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Keep the report of a test, or of a phase before or after it that did not pass."""
    properties = dict(report.user_properties)
    if "injects" in properties and (report.when == "call" or report.outcome != "passed"):
        reports.setdefault(properties["injects"], []).append(report)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Write the table where all tests have ended, or print the rows of a selection of them."""
    if hasattr(session.config, "workerinput"):  # a process of pytest-xdist
        return
    page = PAGE.read_text()
    if session.config.option.keyword:
        rows = [counted(row) for row in ROW.finditer(page) if row[1] in reports]
        print("\n" + "\n".join(rows))
        return
    page = ROW.sub(lambda row: counted(row) if row[1] in reports else row[0], page)
    PAGE.write_text(re.sub(r"(?<=<!-- table -->\n).*", whole(), page))


def times_of(of_row: list[pytest.TestReport]) -> int:
    """How many faults the tests that passed have injected; what a test measured goes before its mark."""
    return sum(dict(report.user_properties)["times"] for report in of_row if report.passed)


def result_of(of_row: list[pytest.TestReport]) -> str:
    """The last column of a row."""
    if failed := [report.nodeid.rpartition("::")[2] for report in of_row if report.failed]:
        return "**FAILED**: " + ", ".join(failed)
    if not times_of(of_row):
        reason = of_row[0].longrepr[2] if isinstance(of_row[0].longrepr, tuple) else ""
        return f"not run: {str(reason).removeprefix('Skipped: ')}"
    properties = [dict(report.user_properties) for report in of_row]
    return "; ".join(["survived", *(each["seen"] for each in properties if "seen" in each)])


def counted(row: re.Match) -> str:
    """A row of the page with what its tests have done."""
    fault, how, lost = row.groups()
    times = f"{times_of(reports[fault]):,}"
    return f"| {fault} | {how} | {times} | {lost} | {result_of(reports[fault])} |"


def whole() -> str:
    """The line on the whole campaign."""
    minutes = (time.monotonic() - START) / 60
    failed = sum(any(report.failed for report in of_row) for of_row in reports.values())
    line = ["git", "rev-parse", "--short", "HEAD"]
    commit = subprocess.run(line, cwd=ROOT, capture_output=True, text=True).stdout.strip()
    return (
        f"{sum(map(times_of, reports.values())):,} faults, {failed} kinds not survived; "
        f"{datetime.now(UTC):%Y-%m-%d}, commit {commit}, {minutes:.0f} minutes on {os.cpu_count()} cores, "
        f"Python {platform.python_version()}."
    )
