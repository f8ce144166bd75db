"""The documents: links and anchors exist, made pages are up to date, examples are valid, commands known."""

import copy
import re
import sys

import pytest
import yaml
from documents import PAGES, TREATMENT, anchors, blocks, commands, links, prose, treatment
from snakemake.utils import update_config
from workspace import CONFIG, ROOT, succeed

from paragone.config.decode import decoded
from paragone.config.numbers import Numbers
from paragone.config.validate import validate

FOLDERS = sorted(path.name for path in ROOT.iterdir() if path.is_dir() and path.name[0] != ".")
MADE = {"results", "data"}  # folders that only a run makes


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_what_a_page_names_exists_and_its_examples_are_valid(page):
    """Links, anchors, and files: `scripts/train.py` in a sentence is a file, as is each `rules/...`."""
    for link in links(page):
        path, _, anchor = link.partition("#")
        if "://" not in path:
            target = (page.parent / path).resolve() if path else page
            assert target.exists(), link
            assert not anchor or anchor in anchors(target), link
    folders = "|".join(set(FOLDERS) - MADE)
    named = re.findall(rf"(?<!\[)`((?:{folders})/[\w./-]*)`", prose(page))
    assert [name for name in named if not (ROOT / name).exists()] == []
    for example in blocks(page, "yaml"):
        config = copy.deepcopy(CONFIG)
        block = yaml.safe_load(example)
        decoded(block.pop("numbers", {}), dict[str, Numbers], "numbers")  # of a paper.yaml
        update_config(config, block)
        validate(config)


def test_every_page_is_reached_from_the_readme():
    seen, left = set(), [ROOT / "README.md"]
    while left:
        page = left.pop()
        if page not in seen:
            seen.add(page)
            targets = [(page.parent / link.partition("#")[0]).resolve() for link in links(page)]
            left += [target for target in targets if target in PAGES]
    assert sorted(seen) == PAGES


def test_pages_made_from_the_code_are_up_to_date():
    assert succeed([sys.executable, str(ROOT / "docs/build.py"), "--check"]) == ""


def test_every_command_is_run_or_dry_run_or_has_a_reason_why_not():
    named = [command for page in PAGES for command in commands(page)]
    assert [command for command in named if treatment(command) is None] == []
    tests = [kind for kind in TREATMENT.values() if kind.endswith(".py")]
    assert all((ROOT / name).is_file() for name in tests)


def test_every_row_of_the_table_of_faults_has_a_test_and_every_mark_a_row():
    texts = [path.read_text() for path in ROOT.glob("tests/*/*.py")]
    marks = re.findall(r'mark\.injects\(\s*"([^"]+)"', "".join(texts))
    table = (ROOT / "docs/faults.md").read_text()
    rows = re.findall(r"^\| ([^|*]+) \| [^|]+ \| [^|]+ \|$", table, re.MULTILINE)
    assert {*rows} - {"fault", "---"} == {*marks}


def test_the_citation_has_what_its_format_requires():
    """The keys of the Citation File Format 1.2.0, and a version that the changelog has."""
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert {"cff-version", "message", "title", "authors"} <= set(citation)
    heading = f"## {citation['version']} - {citation['date-released'].isoformat()}"
    assert heading in (ROOT / "CHANGELOG.md").read_text().splitlines()
