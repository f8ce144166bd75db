"""The paper: what it says, that all of it stays in its column, and that it is short."""

import json
import shutil

import numpy as np
import pypdf
import pytest
from make_page import EXPERIMENT, OUTLINE, TITLE, make_results, write_pdf
from pdf_ink import ink

from paragone.reporting.style import DOUBLE, SINGLE

QUESTIONS = 11  # of the default
PAGES = 8
INCH = 72
FOOT = 2.1 / 2.54 * INCH  # below it is the number of the page
SLACK = 5  # points: a space or hanging punctuation at the end of a line


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
    return made.folder, {"outline": outline}


@pytest.fixture(scope="module")
def paper(results):
    folder, outline = results
    write_pdf(folder, folder / "paper.pdf", **outline)
    return pypdf.PdfReader(folder / "paper.pdf")


def text_of(pages) -> str:
    """The text of pages on one line, without hyphenation; the font has one glyph for all hyphens."""
    text = " ".join(" ".join(page.extract_text() for page in pages).split())
    return text.replace("\N{SOFT HYPHEN} ", "").replace("\N{SOFT HYPHEN}", "-")


def test_the_abstract_answers_and_method_evidence_sources_and_machine_follow(paper):
    first, text = text_of(paper.pages[:1]), text_of(paper.pages)
    assert 0 < first.index("TensorFlow Mirrored is fastest") < first.index("Parity before speed")
    words = (TITLE, "Figure 11", "Table 11", "handbook (Chinese)", "raw pixels", "node-1")
    places = [text.index(each) for each in words]
    assert places[-3] < places[-2]


def test_both_answers_have_their_rows(paper):
    text = text_of(paper.pages)
    for part in ("variant examples/s times", "published run", "0.2867", "0.8848"):
        assert part in text


def test_the_same_results_make_the_same_bytes(results, paper, tmp_path):
    folder, outline = results
    write_pdf(folder, tmp_path / "again.pdf", **outline)
    assert (tmp_path / "again.pdf").read_bytes() == (folder / "paper.pdf").read_bytes()


def test_the_default_has_eight_pages_at_most(paper):
    assert len(paper.pages) <= PAGES


def test_all_that_is_drawn_is_inside_of_its_column(paper):
    kinds = set()
    for number, page in enumerate(paper.pages):
        left = (float(page.mediabox.width) - DOUBLE * INCH) / 2
        right = left + DOUBLE * INCH
        columns = (left, left + SINGLE * INCH), (right - SINGLE * INCH, right)
        drawn = [one for one in ink(paper, page) if one.bottom > FOOT]
        title = max(one.top for one in drawn) - INCH if number == 0 else float("inf")
        for one in drawn:
            kinds.add(one.kind)
            wide = one.top > title or one.right - one.left > DOUBLE * INCH - SLACK
            allowed = ((left, right),) if wide else columns
            assert any(
                low - SLACK <= one.left and one.right <= high + SLACK for low, high in allowed
            ), (number + 1, one)
            assert one.scale < 1.001  # no drawing is larger than it was made
    assert kinds == {"text", "line", "drawing"}


def test_no_text_covers_another(paper):
    """The words of a cell of a table do not reach into those of its neighbor."""
    for number, page in enumerate(paper.pages):
        texts = [one for one in ink(paper, page) if one.kind == "text"]
        left, bottom, right, top = np.array([one[1:5] for one in texts]).T
        wide = np.minimum.outer(right, right) - np.maximum.outer(left, left)
        high = np.minimum.outer(top, top) - np.maximum.outer(bottom, bottom)
        met = np.triu((wide > 1) & (high > 1), 1)  # points; less is kerning
        assert [[texts[one], texts[other]] for one, other in np.argwhere(met)] == [], number + 1


def test_evidence_is_linked(paper):
    notes = [each.get_object() for page in paper.pages for each in page.get("/Annots", [])]
    links = [note for note in notes if note["/Subtype"] == "/Link"]
    assert len(links) >= 2 * QUESTIONS
    assert all("/Dest" in link or "/A" in link for link in links)
