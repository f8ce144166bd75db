"""Check what was measured and collect it into tidy tables; or only check a folder of records:

    python scripts/collect.py check results/

Exit status 1 of `check` if a rule is broken that makes a run or its speed invalid; not for remarks alone.
"""

import sys
from pathlib import Path

from paragone.analysis import compliance, contests, product_tables, tidy
from paragone.base.errors import entry_point
from paragone.base.jobs import Job, read_job
from paragone.base.typed_json import read
from paragone.records import parity_reports, record
from paragone.records.compliance import REMARK, describe, write
from paragone.records.measurements import Products


class OfExperiment(Job, tag="runs", kw_only=True):
    """The tables of one experiment: a row per run, per epoch, and per window of its contests.

    `parity`: reports of the gate; a backend that none of them passes gets no speed. `contests`: their
    records, which the speeds of their variants come from. `products`: no shares of the peak without it.
    `violations`: the rules that records break; an invalid run enters no median.
    """

    experiment: str
    records: list[Path]
    parity: tuple[Path, ...] = ()
    contests: tuple[Path, ...] = ()
    products: Path | None = None
    violations: Path | None = None
    runs: Path
    epochs: Path
    rounds: Path | None = None


class Joined(Job, tag="join", kw_only=True):
    """The tables of all experiments, in which a run that several share is one row."""

    runs: list[Path]
    epochs: list[Path]
    all_runs: Path
    all_runs_parquet: Path
    all_epochs: Path


class OfProducts(Job, tag="products", kw_only=True):
    """The table of matrix products: a row per timed run."""

    results: list[Path]
    csv: Path
    parquet: Path


@entry_point
def main(arguments: list[str] | None = None) -> None:
    """Check a folder, or make the tables that a job asks for."""
    names = sys.argv[1:] if arguments is None else arguments
    if names[:1] == ["check"] and len(names) == 2:
        check(Path(names[1]))
        return
    match read_job(OfExperiment | Joined | OfProducts, names):
        case OfExperiment() as job:
            collect_runs(job)
        case Joined() as job:
            runs = tidy.merge([tidy.read(path) for path in job.runs])
            tidy.write(runs, job.all_runs)
            tidy.write(runs, job.all_runs_parquet)
            tidy.write(tidy.merge([tidy.read(path) for path in job.epochs]), job.all_epochs)
        case OfProducts() as job:
            results = [read(Products, path, "result") for path in job.results]
            tidy.write(product_tables.table(results), job.csv)
            tidy.write(product_tables.table(results), job.parquet)


def collect_runs(job: OfExperiment) -> None:
    """Check the records of an experiment and write its tables."""
    checked = compliance.Checked()
    if job.violations:
        paths = [*job.records, *job.contests]
        runs_of = {path.parent.name for path in paths}
        checked = compliance.find(paths, job.parity, {job.experiment: runs_of})
        print(describe(checked.violations, len(paths)))
    else:
        checked.runs += map(record.read, job.records)
    # With a record of contests that cannot be read speeds would be lost unseen.
    if len(checked.contests) < len(job.contests):
        checked.contests = [*map(record.read_contests, job.contests)]
    parity = parity_reports.read_parity(job.parity)
    rounds = contests.rounds(checked.contests, job.experiment, parity)
    runs, epochs = tidy.tables(
        checked.runs,
        job.experiment,
        parity,
        tidy.read(job.products) if job.products else None,
        checked.violations,
        rounds,
        parity_reports.read_flop(job.parity),
    )
    tidy.write(runs, job.runs)
    tidy.write(epochs, job.epochs)
    if job.rounds:
        tidy.write(rounds, job.rounds)
    if job.violations:
        write(checked.violations, job.violations)


def check(folder: Path) -> None:
    """Name every rule that records in a folder break; the status is 1 if one of them is not a remark."""
    records, parity, experiments = compliance.in_folder(folder)
    broken = compliance.find(records, parity, experiments).violations
    print(describe(broken, len(records)))
    if any(violation.severity != REMARK for violation in broken):
        sys.exit(1)


if __name__ == "__main__":
    main()
