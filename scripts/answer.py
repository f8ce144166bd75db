"""Write answers in sentences: what the tables of all experiments say, or contests before there are any."""

import argparse
import textwrap
from pathlib import Path

import jinja2

from paragone.analysis import contests, tidy
from paragone.base.atomic_files import write_text
from paragone.base.errors import entry_point
from paragone.records import contest_record, parity_reports
from paragone.reporting.answers import Section, from_tables, of_contests, to_frame
from paragone.reporting.inputs import add_labels

WIDTH = 100  # characters of a line on the terminal
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
    """Read what there is and write what it says."""
    parser = argparse.ArgumentParser(description=__doc__)
    modes = parser.add_subparsers(required=True)
    whole = modes.add_parser("all", help="what the tables of all experiments say, in each format")
    whole.set_defaults(answer=_answer_all)
    whole.add_argument("--titles", nargs="+", required=True, help="of the experiments")
    whole.add_argument("--runs", nargs="+", required=True, type=Path, help="one per experiment")
    for kind in ("differences", "comparisons", "rounds"):
        whole.add_argument(f"--{kind}", nargs="*", default=[], type=Path, help="those there are")
    whole.add_argument(
        "--left-out", nargs="*", default=[], help="what was not asked for, in sentences"
    )
    add_labels(whole)
    for kind in ("markdown", "html", "csv"):
        whole.add_argument(f"--{kind}", type=Path, required=True, help="file to write")
    first = modes.add_parser(
        "first", help="what the contests of one experiment say, on the terminal, too"
    )
    first.set_defaults(answer=_answer_first)
    first.add_argument("--title", required=True, help="of the experiment")
    first.add_argument("--contests", nargs="*", type=Path, default=[], help="their records")
    first.add_argument("--parity", nargs="*", type=Path, default=[], help="reports of the gate")
    first.add_argument("--markdown", type=Path, required=True, help="file to write")
    add_labels(first)
    options = parser.parse_args(arguments)
    options.answer(options)


def _answer_all(options: argparse.Namespace) -> None:
    sections = from_tables(
        options.titles,
        options.runs,
        options.differences,
        options.comparisons,
        options.left_out,
        options.rounds,
        dict(options.labels),
    )
    tidy.write(to_frame(sections), options.csv)
    write_text(_markdown(sections), options.markdown)
    page = jinja2.Environment(autoescape=True).from_string(PAGE)
    write_text(page.render(sections=sections), options.html)


def _answer_first(options: argparse.Namespace) -> None:
    records = [contest_record.read(path) for path in options.contests]
    rounds = contests.rounds(records, "", parity_reports.read_parity(options.parity))
    section = of_contests(options.title, rounds, dict(options.labels))
    lines = _markdown([section]).splitlines()
    text = "\n".join(textwrap.fill(line, WIDTH, subsequent_indent="  ") for line in lines)
    write_text(f"{text}\n", options.markdown)
    print(f"\n{text}\n", flush=True)


def _markdown(sections: list[Section]) -> str:
    parts = ["# Answers"]
    for section in sections:
        bullets = "\n".join(f"- {sentence}" for sentence in section.sentences)
        parts += [f"## {section.heading}", bullets, *filter(None, [section.note])]
    return "\n\n".join(parts) + "\n"


if __name__ == "__main__":
    main()
