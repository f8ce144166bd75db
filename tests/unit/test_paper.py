"""The paper: what it says, and that it is short."""

import json
import shutil

import pypdf
import pytest
from make_page import EXPERIMENT, OUTLINE, TITLE, make_results, write
from workspace import FOLDERS

QUESTIONS = 11  # of the default
PAGES = 8


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """As many questions as the default has, each with the figures and tables of one experiment."""
    made = make_results(tmp_path_factory.mktemp("results"))
    outline = [*OUTLINE]
    for number in range(1, QUESTIONS):
        name = f"{EXPERIMENT}_{number}"
        for kind in ("figures", "tables"):
            shutil.copytree(made.folder / kind / EXPERIMENT, made.folder / kind / name)
        outline.append({**OUTLINE[0], "name": name, "title": f"{TITLE} {number}"})
    answers = json.loads((made.folder / "answers.json").read_text())
    for section in answers:
        section["published"] *= QUESTIONS
    (made.folder / "answers.json").write_text(json.dumps(answers))
    return made.folder, {"outline": outline, "papers": [FOLDERS[EXPERIMENT]]}


@pytest.fixture(scope="module")
def paper(results):
    folder, outline = results
    write(folder, folder / "paper.pdf", **outline)
    return pypdf.PdfReader(folder / "paper.pdf")


def text_of(pages) -> str:
    """The text of pages on one line, without hyphenation; the font has one glyph for all hyphens."""
    text = " ".join(" ".join(page.extract_text() for page in pages).split())
    return text.replace("\N{SOFT HYPHEN} ", "").replace("\N{SOFT HYPHEN}", "-")


def test_the_abstract_answers_and_method_evidence_sources_and_machine_follow(paper):
    first, text = text_of(paper.pages[:1]), text_of(paper.pages)
    assert 0 < first.index("TensorFlow Mirrored is fastest") < first.index("Parity before speed")
    words = (TITLE, "Figure 11", "Table 11", "handbook (Chinese)", "raw pixels", "node-1")
    for part in (*words, "variant examples/s times", "published run", "0.2867", "0.8848"):
        assert part in text


def test_the_same_results_make_the_same_bytes(results, paper, tmp_path):
    folder, outline = results
    write(folder, tmp_path / "again.pdf", **outline)
    assert (tmp_path / "again.pdf").read_bytes() == (folder / "paper.pdf").read_bytes()


def test_the_default_has_eight_pages_at_most_and_links_its_evidence(paper):
    assert len(paper.pages) <= PAGES
    notes = [each.get_object() for page in paper.pages for each in page.get("/Annots", [])]
    links = [note for note in notes if note["/Subtype"] == "/Link"]
    assert len(links) >= 2 * QUESTIONS
    assert all("/Dest" in link or "/A" in link for link in links)
