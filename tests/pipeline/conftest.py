"""A real run of the smoke preset, for all the tests that read it."""

from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml
from plan import SMOKE
from workspace import Checkout

from paragone.records import record
from paragone.records.run_record import RunRecord


@dataclass(frozen=True)
class Smoke:
    """The finished checkout, the options that made it, what snakemake printed, real data or not."""

    checkout: Checkout
    options: tuple[str, ...]
    output: str
    real: bool

    def jobs(self, *more: str) -> dict[str, int]:
        """What the same call would run now."""
        return self.checkout.jobs("all", *more, "--cores", "2", *self.options)


@pytest.fixture(scope="session")
def smoke(fashion, tmp_path_factory) -> Smoke:
    """`make all CONFIG=presets/smoke.yaml` without the set-up; Fashion-MNIST's arrays are shared.

    In `make test` three of its experiments. Minutes of training: the only run of this length, for all who
    read a finished checkout.
    """
    checkout = Checkout(tmp_path_factory.mktemp("smoke"))
    data = checkout / "shared_data.yaml"
    data.write_text(yaml.safe_dump({"data": {"folder": str(fashion.folder)}, **SMOKE}))
    options = ("--configfile", "presets/smoke.yaml", data.name)
    report = ("--report", "results/report.html", "--report-after-run")
    output = checkout.snakemake("all", "--cores", "2", *options, *report, timeout=3600)
    return Smoke(checkout, options, output, fashion.source == "real")


@pytest.fixture(scope="session")
def results(smoke) -> Path:
    return smoke.checkout / "results"


@pytest.fixture(scope="session")
def records(results) -> list[RunRecord]:
    """The valid records; `record.read` checks each."""
    return [record.read(path) for path in sorted(results.glob("runs/*/record.json"))]


@pytest.fixture(scope="session")
def completed(records) -> list[RunRecord]:
    return [made for made in records if made.status == "completed"]
