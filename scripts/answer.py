"""Write the answers that the tables of all experiments support, as Markdown, HTML and a table."""

import argparse
from pathlib import Path

import jinja2

from paragone.analysis import tidy
from paragone.base.atomic_files import write_text
from paragone.base.errors import entry_point
from paragone.reporting.answers import Section, from_tables, to_frame

PAGE = """<!doctype html>
<meta charset="utf-8">
<title>Answers</title>
<style>body { max-width: 48em; margin: 2em auto; font: 16px/1.5 sans-serif } li { margin: .5em 0 }</style>
<h1>Answers</h1>
{% for section in sections %}<h2>{{ section.heading }}</h2>
{% if section.note %}<p><small>{{ section.note }}</small></p>{% endif %}
<ul>{% for sentence in section.sentences %}<li>{{ sentence }}</li>{% endfor %}</ul>
{% endfor %}"""


@entry_point
def main(arguments: list[str] | None = None) -> None:
    """Read the tables and write what they say in each format."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--titles", nargs="+", required=True, help="of the experiments")
    parser.add_argument("--runs", nargs="+", required=True, type=Path, help="one per experiment")
    for kind in ("differences", "comparisons"):
        parser.add_argument(f"--{kind}", nargs="*", default=[], type=Path, help="those there are")
    parser.add_argument(
        "--left-out", nargs="*", default=[], help="what was not asked for, in sentences"
    )
    for kind in ("markdown", "html", "csv"):
        parser.add_argument(f"--{kind}", type=Path, required=True, help="file to write")
    options = parser.parse_args(arguments)
    sections = from_tables(
        options.titles,
        options.runs,
        options.differences,
        options.comparisons,
        options.left_out,
    )
    tidy.write(to_frame(sections), options.csv)
    write_text(_markdown(sections), options.markdown)
    page = jinja2.Environment(autoescape=True).from_string(PAGE)
    write_text(page.render(sections=sections), options.html)


def _markdown(sections: list[Section]) -> str:
    parts = ["# Answers"]
    for section in sections:
        bullets = "\n".join(f"- {sentence}" for sentence in section.sentences)
        parts += [f"## {section.heading}", bullets, *filter(None, [section.note])]
    return "\n\n".join(parts) + "\n"


if __name__ == "__main__":
    main()
