"""The documents of this project: their links, their anchors, and the commands that they name."""

import re
from dataclasses import dataclass
from pathlib import Path

from workspace import ROOT

PAGES = sorted(
    path
    for path in [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("published/*.md")]
    if path.is_file()
)
_FENCED = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#+ +(.*)$", re.MULTILINE)
_ANCHOR = re.compile(r'<a id="([^"]+)">')


@dataclass(frozen=True)
class Command:
    """One command of a document's `sh` block, without its comment."""

    page: str
    text: str


def prose(page: Path) -> str:
    """A page without its blocks of code."""
    return _FENCED.sub("", page.read_text())


def anchors(page: Path) -> set[str]:
    """What a link to this page may name after `#`: its headings, as GitHub writes them, and its marks."""
    text = prose(page)
    headings = (re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", each) for each in _HEADING.findall(text))
    kept = (re.sub(r"[^\w\- ]", "", heading.lower()) for heading in headings)
    return {each.strip().replace(" ", "-") for each in kept} | {*_ANCHOR.findall(text)}


def links(page: Path) -> list[str]:
    """The targets of a page's links and images."""
    return _LINK.findall(prose(page))


def commands(page: Path) -> list[Command]:
    """The commands of a page's `sh` blocks in their order; a line that ends in `\\` goes on."""
    found = []
    for language, block in _FENCED.findall(page.read_text()):
        if language == "sh":
            lines = block.replace("\\\n", " ").splitlines()
            texts = (re.sub(r"(^|\s+)# .*$", "", line).strip() for line in lines)
            found += [Command(page.name, text) for text in texts if text]
    return found
