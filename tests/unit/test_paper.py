"""The paper: typeset from the same tables as the page, its numbers linked to their runs."""

import pypdf
import pytest
from make_page import TITLE, make_results, write_pdf


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    found = make_results(tmp_path_factory.mktemp("results"))
    write_pdf(found.folder, found.folder / "paper.pdf")
    return found


@pytest.fixture(scope="module")
def paper(results):
    return pypdf.PdfReader(results.folder / "paper.pdf")


def text_of(pages) -> str:
    return " ".join(" ".join(page.extract_text() for page in pages).split())


def test_the_abstract_answers(paper):
    first = text_of(paper.pages[:1])
    assert "TensorFlow Mirrored is best" in first
    assert first.index("TensorFlow Mirrored is best") < first.index("Method")


def test_figures_tables_flaws_and_sources_are_there(paper):
    text = text_of(paper.pages)
    for words in (
        TITLE,
        "Figure 1",
        "Which backend is better",
        "raw pixels (0 to 255)",
        "handbook (Chinese)",
    ):
        assert words in text


def test_every_run_is_in_the_appendix(results, paper):
    text = text_of(paper.pages).replace(" ", "")
    assert [run for run in results.runs["run"] if run not in text] == []


def test_answers_link_to_their_runs(results, paper):
    places = set(paper.named_destinations)
    links = [
        annotation.get_object()
        for page in paper.pages
        for annotation in page.get("/Annots", [])
        if annotation.get_object()["/Subtype"] == "/Link"
    ]
    assert len(links) > 4
    assert all("/Dest" in one or "/A" in one for one in links), places


def test_the_same_results_make_the_same_bytes(results, tmp_path):
    write_pdf(results.folder, tmp_path / "again.pdf")
    assert (tmp_path / "again.pdf").read_bytes() == (results.folder / "paper.pdf").read_bytes()
