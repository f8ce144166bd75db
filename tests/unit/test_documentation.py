"""The documents: links and anchors exist, made pages are up to date, examples are valid, commands known."""

import copy
import re
import sys

import pytest
import yaml
from documents import DRY_RUN, PAGES, RUN, TREATMENT, anchors, blocks, commands, links, prose
from snakemake.utils import update_config
from workspace import CONFIG, ROOT, succeed

from paragone.config.validate import validate

IDS = [page.relative_to(ROOT).as_posix() for page in PAGES]
FOLDERS = sorted(path.name for path in ROOT.iterdir() if path.is_dir() and path.name[0] != ".")
MADE = {"results", "data"}  # folders that only a run makes


@pytest.mark.parametrize("page", PAGES, ids=IDS)
def test_links_and_anchors_exist(page):
    for link in links(page):
        path, _, anchor = link.partition("#")
        if "://" in path:
            continue
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), link


@pytest.mark.parametrize("page", PAGES, ids=IDS)
def test_files_that_are_named_exist(page):
    """`scripts/train.py` in a sentence is a file, as is each `rules/...`; links are another test."""
    folders = "|".join(set(FOLDERS) - MADE)
    named = re.findall(rf"(?<!\[)`((?:{folders})/[\w./-]*)`", prose(page))
    assert [name for name in named if not (ROOT / name).exists()] == []


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
    assert len(named) > 20
    assert [command for command in named if command.treatment is None] == []
    for treatment in {*TREATMENT.values()} - {RUN, DRY_RUN}:
        assert all((ROOT / name).is_file() for name in re.findall(r"\S*tests/\S+\.py", treatment))


@pytest.mark.parametrize("page", PAGES, ids=IDS)
def test_examples_of_the_config_are_valid(page):
    for example in blocks(page, "yaml"):
        config = copy.deepcopy(CONFIG)
        update_config(config, yaml.safe_load(example))
        validate(config)


def test_the_citation_has_what_its_format_requires():
    """The keys of the Citation File Format 1.2.0, and a version that the changelog has."""
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert citation["cff-version"] == "1.2.0"
    assert {"message", "title", "authors"} <= set(citation)
    assert all("name" in author or "family-names" in author for author in citation["authors"])
    heading = f"## {citation['version']} - {citation['date-released'].isoformat()}"
    assert heading in (ROOT / "CHANGELOG.md").read_text().splitlines()
