"""Write answers in sentences: what the tables of all experiments say, or contests before there are any."""

import json
from pathlib import Path

import msgspec

from paragone.analysis import contests, tidy
from paragone.base.atomic_files import write_text
from paragone.base.errors import entry_point
from paragone.base.typed_json import read_job
from paragone.records import measurements, record
from paragone.reporting import footnotes
from paragone.reporting.answers import FILES, from_tables, of_contests, to_text
from paragone.reporting.inputs import Shown


class OfTables(Shown, tag="tables", kw_only=True):
    """What the tables of all experiments say, in each format: the title of each by name, and its tables.

    `left_out` says in sentences what the config leaves out.
    """

    titles: dict[str, str]
    tables: list[Path]
    left_out: tuple[str, ...] = ()
    markdown: Path
    json: Path


class OfContests(Shown, tag="contests", kw_only=True):
    """What the contests of one experiment say, on the terminal, too. `parity`: reports of the gate."""

    title: str
    contests: tuple[Path, ...] = ()
    parity: tuple[Path, ...] = ()
    markdown: Path


@entry_point
def main(arguments: list[str] | None = None) -> None:
    """Write the answers of all experiments, or of contests before there are tables."""
    job = read_job(OfTables | OfContests, arguments)
    if isinstance(job, OfTables):
        questions = from_tables(job.titles, job.tables, job.labels, job.baseline, job.left_out)
        runs = [tidy.read(path) for path in job.tables if path.name == FILES["runs"]]
        headline = footnotes.headline(tidy.merge(runs))
        write_text(json.dumps(msgspec.to_builtins(questions, enc_hook=float), indent=1), job.json)
        write_text(to_text(questions, headline), job.markdown)
    else:
        records = [record.read_contests(path) for path in job.contests]
        rounds = contests.rounds(records, "", measurements.read_parity(job.parity))
        question = of_contests(job.title, rounds, job.labels, job.baseline)
        text = to_text([question], footnotes.headline(rounds))
        write_text(text, job.markdown)
        print(f"\n{text}", flush=True)


if __name__ == "__main__":
    main()
