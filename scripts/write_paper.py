"""Typeset the paper: answers, method, figures, tables, flaws of the sources and all runs, as one PDF file."""

import argparse
from pathlib import Path

from paragone.analysis import published
from paragone.base.errors import entry_point
from paragone.reporting import exhibits, facts, results
from paragone.reporting.paper import write


@entry_point
def main(arguments: list[str] | None = None) -> None:
    """Read what results hold and typeset it."""
    parser = argparse.ArgumentParser(description=__doc__)
    results.add_options(parser)
    parser.add_argument("--published", type=Path, required=True, help="published/")
    parser.add_argument("--output", type=Path, required=True, help="paper.pdf to write")
    options = parser.parse_args(arguments)
    found = results.read(options)
    flaws, sources = published.read_sources(options.published)
    paper = write.Paper(
        results=found,
        facts=facts.facts(found.table, options.preset),
        synthetic=facts.synthetic(found.table),
        method=exhibits.caption_text(options.captions / "page.rst"),
        flaws=flaws,
        sources=sources,
    )
    write.write(paper, options.output)


if __name__ == "__main__":
    main()
