"""Write answers in sentences: what the tables of all experiments say, or contests before there are any."""

import argparse
import json
from pathlib import Path

import msgspec

from paragone.analysis import contests, tidy
from paragone.base.atomic_files import write_text
from paragone.base.errors import entry_point
from paragone.records import parity_reports, record
from paragone.reporting import footnotes, screen
from paragone.reporting.answers import from_tables, of_contests, to_text
from paragone.reporting.inputs import add_labels


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
    for kind in ("markdown", "html", "json"):
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
    questions = from_tables(
        options.titles,
        options.runs,
        options.differences,
        options.comparisons,
        options.left_out,
        options.rounds,
        dict(options.labels),
        options.baseline,
    )
    headline = footnotes.headline(tidy.merge([tidy.read(path) for path in options.runs]))
    write_text(json.dumps(msgspec.to_builtins(questions, enc_hook=float), indent=1), options.json)
    write_text(to_text(questions, headline), options.markdown)
    write_text(screen.alone(questions, headline, options), options.html)


def _answer_first(options: argparse.Namespace) -> None:
    records = [record.read_contests(path) for path in options.contests]
    rounds = contests.rounds(records, "", parity_reports.read_parity(options.parity))
    question = of_contests(options.title, rounds, dict(options.labels), options.baseline)
    text = to_text([question], footnotes.headline(rounds))
    write_text(text, options.markdown)
    print(f"\n{text}", flush=True)


if __name__ == "__main__":
    main()
