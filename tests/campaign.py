"""Inject every kind of fault into real processes, count, write the tables of docs/faults.md: `make faults`.

    python tests/campaign.py            a sample of each, in 20 minutes on two cores
    python tests/campaign.py --full     all

Each test with the mark `injects` is a row, or a part of one: pytest runs them, this program counts.
"""

import argparse
import os
import platform
import re
import subprocess
import sys
import time
from collections import defaultdict
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs/faults.md"
SIZE = os.environ.get("PARAGONE_FAULTS", "")  # of the campaign that a test is a part of
FULL, SAMPLED = SIZE == "full", SIZE == "sampled"


@dataclass
class Row:
    """One kind of fault; `times`: injected by tests that passed, which measured what `seen` says."""

    lost: str
    times: int = 0
    seen: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    before: str = ""

    @property
    def result(self) -> str:
        """What became of it; `before`: as an earlier call has written it."""
        if self.before:
            return self.before
        if self.failed:
            return "**FAILED**: " + ", ".join(self.failed)
        if not self.times:
            return f"not run: {self.skipped[0]}"
        return "; ".join(["survived", *self.seen])


class Table:
    """A plug-in of pytest that counts faults by the marks of the tests that inject them."""

    def __init__(self) -> None:
        self.rows: dict[tuple[str, str, str], Row] = {}
        self.begun = time.monotonic()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Count one phase of one test; its properties come from conftest.py."""
        properties = dict(report.user_properties)
        if "injects" not in properties or (report.when != "call" and report.outcome == "passed"):
            return
        item, fault, how, lost, times = properties["injects"]
        row = self.rows.setdefault((item, fault, how), Row(lost))
        if report.failed:
            row.failed.append(report.nodeid.rpartition("::")[2])
        elif report.skipped:
            reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else ""
            row.skipped.append(str(reason).removeprefix("Skipped: "))
        else:
            row.times += properties.get("times", times)
            row.seen += [properties["seen"]] if "seen" in properties else []

    def keep(self, section: str) -> None:
        """Take the rows of a section that were not injected now as they are."""
        item = ""
        for line in section.splitlines():
            cells = line.strip("| ").split(" | ")
            if line.startswith("| **"):
                item = cells[0].strip("*")
            elif len(cells) == 5 and cells[2].replace(",", "").isdigit():
                fault, how, times, lost, result = cells
                kept = Row(lost, int(times.replace(",", "")), before=result)
                self.rows.setdefault((item, fault, how), kept)

    def markdown(self, which: str) -> str:
        """The table, by item, and the words above it; `which`: the tests that were run, if not all."""
        minutes = (time.monotonic() - self.begun) / 60
        total = sum(row.times for row in self.rows.values())
        failed = sum("**FAILED**" in row.result for row in self.rows.values())
        commit = subprocess.run(
            ["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True
        ).stdout.strip()
        words = (
            f"{total:,} faults, {failed} kinds not survived; {datetime.now(UTC):%Y-%m-%d}, commit {commit}, "
            f"{minutes:.0f} minutes on {os.cpu_count()} cores, Python {platform.python_version()}"
            f"{f', of the tests `{which}` alone: other rows are of calls before' if which else ''}.\n"
        )
        lines = ["| fault | how it was injected | times | what was lost | result |"]
        lines.append("| --- | --- | --- | --- | --- |")
        by_item = defaultdict(list)
        for (item, fault, how), row in self.rows.items():
            by_item[item].append((fault, how, row))
        for item in sorted(by_item):
            lines.append(f"| **{item}** | | | | |")
            for fault, how, row in sorted(by_item[item], key=lambda one: one[:2]):
                lines.append(f"| {fault} | {how} | {row.times:,} | {row.lost} | {row.result} |")
        return "\n".join([words, *lines]) + "\n"


def main() -> None:
    """Run the program; exit status as pytest's."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--full", action="store_true", help="every fault, every time: hours")
    parser.add_argument("--workers", default="2", help="tests at once")
    parser.add_argument(
        "--only",
        default="",
        help="tests of such names, as `pytest -k` has it: their rows anew, the others are kept",
    )
    options = parser.parse_args()
    size = "full" if options.full else "sampled"
    os.environ["PARAGONE_FAULTS"] = size
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    table = Table()
    tier = "injects" if options.full else "injects and not long"
    line = [
        str(ROOT / "tests"),
        f"--rootdir={ROOT}",
        "-m",
        tier,
        "-k",
        options.only,
        "--durations=40",
    ]
    status = pytest.main(
        [*line, "--numprocesses", options.workers, "-p", "no:cacheprovider"], plugins=[table]
    )
    text = PAGE.read_text()
    section = re.search(rf"(?<=<!-- {size} -->\n).*?(?=<!-- end -->)", text, re.DOTALL)
    if options.only:
        table.keep(section[0])
    made = table.markdown(options.only)
    PAGE.write_text(text[: section.start()] + made + text[section.end() :])
    sys.exit(status)


if __name__ == "__main__":
    main()
