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
FIGURE = f"{EXPERIMENT}.variants"
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


@pytest.fixture
def opened(browser, results):
    found = Opened(browser, results.page)
    yield found
    assert found.said == []
    assert [url for url in found.asked if not url.startswith(("data:", "blob:"))] == [
        f"file://{results.page}"
    ]
    found.context.close()


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


@pytest.mark.parametrize("name", [f"{FIGURE}.csv", f"{FIGURE}.svg", "runs.csv"])
def test_what_is_downloaded_is_what_was_made(opened, results, name):
    with opened.page.expect_download() as waiting:
        # By the keyboard: a table that is made late moves what is below it, and a click would miss.
        opened.page.locator(f"[data-file='{name}']").press("Enter")
    text = Path(waiting.value.path()).read_text()
    assert waiting.value.suggested_filename == name
    if name == "runs.csv":
        assert len(list(csv.DictReader(io.StringIO(text)))) == len(results.runs)
    else:
        made = results.folder / "figures" / EXPERIMENT / name.removeprefix(f"{EXPERIMENT}.")
        assert text == made.read_text()


def test_the_first_tab_skips_to_the_answers(opened):
    opened.page.keyboard.press("Tab")
    assert opened.page.evaluate("document.activeElement.getAttribute('href')") == "#answers"


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [WIDE, NARROW], ids=["wide", "narrow"])
def test_nothing_is_wider_than_the_screen_and_axe_finds_nothing_serious(
    browser, results, scheme, size
):
    from axe_playwright_python.sync_playwright import Axe

    found = Opened(browser, results.page, viewport=size, color_scheme=scheme)
    found.page.evaluate("scrollTo(0, document.body.scrollHeight)")
    found.page.wait_for_timeout(200)
    assert found.page.evaluate("document.documentElement.scrollWidth") == size["width"]
    violations = Axe().run(found.page).response["violations"]
    serious = [one for one in violations if one["impact"] in ("serious", "critical")]
    assert [(one["id"], one["nodes"][0]["html"][:200]) for one in serious] == []
    found.context.close()
