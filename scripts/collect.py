"""Check what was measured by the measurement rules, and collect it into tidy tables."""

from pathlib import Path

from paragone.analysis import product_tables, tidy
from paragone.base.errors import entry_point
from paragone.base.typed_json import Job, read, read_job
from paragone.records.measurements import Products


class OfExperiment(Job, tag="runs", kw_only=True):
    """The tables of one experiment: a row per run, per epoch, and per window of its contests.

    `parity`: reports of the gate; a backend that none of them passes gets no speed. `contests`: their
    records, which the speeds of their variants come from. `violations`: the rules that records break; an
    invalid run enters no median.
    """

    experiment: str
    records: list[Path]
    parity: tuple[Path, ...]
    contests: tuple[Path, ...] = ()
    violations: Path
    runs: Path
    epochs: Path
    rounds: Path


class Joined(Job, tag="join", kw_only=True):
    """The tables of all experiments, with shares of a peak. A run that several share is one row."""

    runs: list[Path]
    epochs: list[Path]
    products: Path
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
    """Make the tables that a job asks for."""
    match read_job(OfExperiment | Joined | OfProducts, arguments):
        case OfExperiment() as job:
            tables = tidy.of_experiment(job.experiment, job.records, job.contests, job.parity)
            tidy.write(tables["compliance"], job.violations)
            tidy.write(tables["runs"], job.runs)
            tidy.write(tables["epochs"], job.epochs)
            tidy.write(tables["rounds"], job.rounds)
        case Joined() as job:
            runs = tidy.merge([tidy.read(path) for path in job.runs])
            runs = product_tables.with_share(runs, tidy.read(job.products))
            tidy.write(runs, job.all_runs)
            tidy.write(runs, job.all_runs_parquet)
            tidy.write(tidy.merge([tidy.read(path) for path in job.epochs]), job.all_epochs)
        case OfProducts() as job:
            results = [read(Products, path, "result") for path in job.results]
            tidy.write(product_tables.table(results), job.csv)
            tidy.write(product_tables.table(results), job.parquet)


if __name__ == "__main__":
    main()
