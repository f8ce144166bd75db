"""The page: what it says, that all it needs is in it, that figures are in its colors."""

import base64
import gzip
import json
import re

import pytest
from make_page import EXPERIMENT, OUTLINE, TITLE, make_results, records, write
from make_records import sealed


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """Of a machine with two GPUs."""
    made = records()
    for record in made:
        for process in record["processes"]:
            process["machine"]["accelerators"] = ["GPU A", "GPU A"]
    return make_results(tmp_path_factory.mktemp("results"), [*map(sealed, made)])


@pytest.fixture(scope="module")
def page(results):
    return results.page.read_text()


@pytest.fixture(scope="module")
def packed(page):
    (text,) = re.findall(r'id="packed">([^<]*)<', page)
    return json.loads(gzip.decompress(base64.b64decode(text)))


def test_answers_come_first_and_link_to_their_evidence(page):
    assert TITLE not in page  # it has "<", which is text
    body = page[page.index("<main") :]
    answer = body.index("TensorFlow Mirrored is fastest, 1.25 times as fast as PyTorch")
    assert answer < body.index("<figure")
    around = body[answer : body.index("</p>", answer)]
    assert f'href="#{EXPERIMENT}.differences"' in around
    assert body.count(f'id="{EXPERIMENT}.variants"') == 1


def test_every_link_inside_the_page_has_its_target(page, packed):
    links = set(re.findall(r'href="#([^"]+)"', page)) - {"top"}
    places = set(re.findall(r'id="([^"]+)"', page))
    runs = {link.removeprefix("run/") for link in links if link.startswith("run/")}
    assert {link for link in links if not link.startswith("run/")} <= places
    assert runs
    assert runs <= set(packed["runs"])


def test_a_failure_shows_its_reason_and_the_end_of_its_log(page):
    failures = page[page.index('<section id="failures"') : page.index('<section id="all-runs"')]
    assert "the run was out_of_memory" in failures
    assert "MemoryError: &lt;the last line&gt;" in failures
    assert "first line" not in failures


def test_a_run_has_its_section(results, packed):
    assert set(packed["runs"]) == set(results.runs["run"])
    text = packed["runs"][results.runs["run"].iloc[0]]
    for words in ("Where the seconds went", "compilation", "Epochs", "Specification", "seed: 0"):
        assert words in text
    seconds = results.runs["end_to_end_seconds"].iloc[0]
    assert f"End to end {seconds:.1f} s." in text
    assert "GiB, 2 x GPU A;" in text


def test_figures_are_inline_in_the_colors_of_the_page(page):
    (figure,) = re.findall(rf'<figure id="{EXPERIMENT}.variants".*?</figure>', page, re.DOTALL)
    assert "<title>PyTorch: " in figure
    assert "fill: currentColor" in figure
    assert not re.findall("#(?:222222|ffffff|5f5f5f)", figure)
    places = re.findall(r'\bid="([^"]+)"', page)
    assert len(places) == len(set(places))  # glyphs and clip paths, too
    used = re.findall(r'(?:href="#|url\(#)([^")]+)', figure)
    assert {*used} <= {*places}


def test_the_same_results_make_the_same_bytes(results, tmp_path):
    write(results.folder, tmp_path / "again.html")
    assert (tmp_path / "again.html").read_bytes() == results.page.read_bytes()


def test_a_missing_figure_is_one_message(results, tmp_path, capsys):
    (results.folder / f"figures/{EXPERIMENT}/variants.csv").rename(tmp_path / "away.csv")
    try:
        with pytest.raises(SystemExit):
            write(results.folder, tmp_path / "index.html")
    finally:
        (tmp_path / "away.csv").rename(results.folder / f"figures/{EXPERIMENT}/variants.csv")
    assert "variants.csv" in capsys.readouterr().err
    assert not (tmp_path / "index.html").exists()


def test_while_a_workflow_runs_the_finished_section_is_shown(results, page, tmp_path):
    later = {"name": "later", "title": "Is more faster?", "figures": {"scaling": ""}, "tables": {}}
    so_far = {"so_far": [EXPERIMENT], "outline": [*OUTLINE, later]}
    write(results.folder, tmp_path / "so_far.html", **so_far)
    shown = (tmp_path / "so_far.html").read_text()
    assert "Not finished when this was written: Is more faster?." in shown
    assert "Not finished when" not in page
    write(results.folder, tmp_path / "so_far.html", **so_far, left_out=["jax: not asked for."])
    assert "jax: not asked for." in (tmp_path / "so_far.html").read_text()
