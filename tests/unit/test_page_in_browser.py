"""The page in Debian's Chromium: it opens without a request or an error, and every control does what it says.

Skipped where no browser is installed, except where PARAGONE_CHROMIUM_REQUIRED is set: in CI.
"""

import csv
import io
import os
import shutil
from pathlib import Path

import pytest
from make_page import EXPERIMENT, make_results

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
REQUIRED = "PARAGONE_CHROMIUM_REQUIRED" in os.environ
pytestmark = [
    pytest.mark.full,
    pytest.mark.skipif(
        CHROMIUM is None and not REQUIRED,
        reason="no chromium on PATH: install it (PARAGONE_CHROMIUM_REQUIRED makes this a failure)",
    ),
]
FIGURE = f"{EXPERIMENT}.throughput"
WIDE, NARROW = {"width": 1400, "height": 900}, {"width": 400, "height": 800}


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    return make_results(tmp_path_factory.mktemp("results"))


@pytest.fixture(scope="module")
def browser():
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        # A sandbox needs a user other than root; the page is the tests' own.
        found = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield found
        found.close()


class Opened:
    """The page in a context of its own, and what it said and asked for."""

    def __init__(self, browser, path: Path, place: str = "", **options):
        self.context = browser.new_context(**{"viewport": WIDE, **options})
        self.page = self.context.new_page()
        self.said: list[str] = []
        self.asked: list[str] = []
        self.page.on("console", lambda message: self.said.append(message.text))
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.goto(f"file://{path}{place}")
        self.page.wait_for_function("document.documentElement.dataset.ready == 'true'")

    def explored(self):
        """The interactive chart of the figure, opened and drawn."""
        chart = self.page.locator(f"details.interactive[data-chart='{FIGURE}']")
        if chart.get_attribute("open") is None:
            chart.locator("summary").click()
        chart.locator(".chart svg").wait_for()
        return chart

    def medians(self, chart) -> dict[str, float]:
        """The value of each median that is drawn, by series, as a screen reader has it."""
        marks = chart.locator("[aria-label*='kind: median'][role='graphics-symbol']")
        labels = [one.get_attribute("aria-label") for one in marks.all()]
        return {
            label.split("series: ")[1].split(";")[0]: float(label.split("): ")[1].split(";")[0])
            for label in labels
            if "; kind: median" in label
        }

    def redrawn(self, chart, act) -> dict[str, float]:
        """The medians after an act that draws the chart again."""
        chart.locator(".chart").evaluate("chart => delete chart.dataset.ready")
        act()
        chart.locator(".chart[data-ready]").wait_for()
        return self.medians(chart)


@pytest.fixture
def opened(browser, results):
    found = Opened(browser, results.page)
    yield found
    assert found.said == []
    assert [url for url in found.asked if not url.startswith(("data:", "blob:"))] == [
        f"file://{results.page}"
    ]
    found.context.close()


def test_a_chart_is_drawn_divided_hidden_and_reset(opened):
    chart = opened.explored()
    absolute = opened.medians(chart)
    assert set(absolute) == {"TensorFlow Mirrored", "PyTorch"}
    baseline = chart.locator("[name=baseline]")
    relative = opened.redrawn(chart, lambda: baseline.select_option("PyTorch"))
    assert relative == pytest.approx({"PyTorch": 1, "TensorFlow Mirrored": 1.25})
    box = chart.get_by_role("checkbox", name="TensorFlow Mirrored")
    assert set(opened.redrawn(chart, box.uncheck)) == {"PyTorch"}
    assert "relative to PyTorch" in chart.locator(".chart svg").text_content()
    opened.redrawn(chart, lambda: chart.locator("[name=scale]").select_option("log"))
    assert chart.locator("[aria-label*='for a log scale']").count() == 1
    assert opened.redrawn(chart, chart.get_by_role("button", name="Reset").click) == absolute
    assert box.is_checked()


def test_the_address_carries_the_state(opened, browser, results):
    chart = opened.explored()
    opened.redrawn(chart, lambda: chart.locator("[name=baseline]").select_option("PyTorch"))
    opened.redrawn(chart, chart.get_by_role("checkbox", name="TensorFlow Mirrored").uncheck)
    place = opened.page.evaluate("location.hash")
    again = Opened(browser, results.page, place)
    chart = again.page.locator(f"details.interactive[data-chart='{FIGURE}']")
    chart.locator(".chart[data-ready]").wait_for()
    assert again.medians(chart) == {"PyTorch": 1}
    assert not chart.get_by_role("checkbox", name="TensorFlow Mirrored").is_checked()
    assert again.said == []
    again.context.close()


def test_tables_are_searched_and_sorted(opened):
    opened.page.evaluate("location.hash = '#all-runs'")
    table = opened.page.locator("#all-runs")
    search = table.locator("input[type=search]")
    first = table.locator("tbody tr").first.locator("td")
    search.wait_for()
    search.fill("out of memory")
    assert first.nth(1).inner_text().endswith("out of memory")
    assert table.locator("tbody tr").count() == 1
    search.fill("")
    speeds = []
    for _ in range(2):
        table.get_by_role("button", name="examples/s").first.click()
        opened.page.wait_for_timeout(100)
        speeds.append(float(first.nth(7).inner_text().replace(",", "") or 0))
    assert speeds[0] < speeds[1]


def test_a_run_opens_by_its_link_and_closes_by_the_keyboard(opened, results):
    run = results.runs.loc[results.runs["status"] == "completed", "run"].iloc[0]
    opened.page.evaluate(f"location.hash = '#run/{run}'")
    dialog = opened.page.locator("dialog[open]")
    dialog.wait_for()
    assert dialog.locator("h2").inner_text() == run
    assert dialog.locator(".timeline span").count() > 5
    opened.page.keyboard.press("Escape")
    opened.page.wait_for_function("!document.querySelector('dialog').open")
    assert "run/" not in opened.page.evaluate("location.hash")


@pytest.mark.parametrize(
    ("name", "holds"),
    [
        (f"{FIGURE}.csv", "steady_examples_per_second"),
        ("runs.csv", "run"),
        (f"{FIGURE}.svg", "<svg"),
    ],
)
def test_what_is_downloaded_is_what_was_made(opened, results, name, holds):
    with opened.page.expect_download() as waiting:
        # By the keyboard: a table that is made late moves what is below it, and a click would miss.
        opened.page.locator(f"[data-file='{name}']").press("Enter")
    text = Path(waiting.value.path()).read_text()
    assert waiting.value.suggested_filename == name
    assert holds in text
    if name == "runs.csv":
        assert len(list(csv.DictReader(io.StringIO(text)))) == len(results.runs)
    else:
        made = results.folder / "figures" / EXPERIMENT / name.removeprefix(f"{EXPERIMENT}.")
        assert text == made.read_text()


def test_the_first_tab_skips_to_the_answers(opened):
    opened.page.keyboard.press("Tab")
    assert opened.page.evaluate("document.activeElement.getAttribute('href')") == "#answers"
    opened.explored()
    opened.page.locator(f"details.interactive[data-chart='{FIGURE}'] summary").focus()
    for expected in ("series", "series", "scale", "baseline"):
        opened.page.keyboard.press("Tab")
        assert opened.page.evaluate("document.activeElement.name") == expected


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [WIDE, NARROW], ids=["wide", "narrow"])
def test_nothing_is_wider_than_the_screen_and_axe_finds_nothing_serious(
    browser, results, scheme, size
):
    from axe_playwright_python.sync_playwright import Axe

    found = Opened(browser, results.page, viewport=size, color_scheme=scheme)
    found.explored()
    found.page.evaluate("scrollTo(0, document.body.scrollHeight)")
    found.page.wait_for_timeout(200)
    assert found.page.evaluate("document.documentElement.scrollWidth") == size["width"]
    violations = Axe().run(found.page).response["violations"]
    serious = [one for one in violations if one["impact"] in ("serious", "critical")]
    assert [(one["id"], one["nodes"][0]["html"][:200]) for one in serious] == []
    found.context.close()
