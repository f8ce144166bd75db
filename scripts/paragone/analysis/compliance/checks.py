"""All rules on a folder of records: the records, the experiments they belong to, the rules they break."""

import hashlib
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from paragone.analysis import tidy
from paragone.analysis.compliance import of_experiment
from paragone.base.errors import UserError
from paragone.records import parity_reports
from paragone.records.compliance import asserted, of_first_steps, of_modes, of_record
from paragone.records.compliance.rules import Finding, table
from paragone.records.compliance.violations import Violation
from paragone.records.run_record import RunRecord

ALONE = ""  # the name of the experiment of records that belong to none
OF_ONE = asserted.CHECKS | of_record.CHECKS | of_first_steps.CHECKS | of_modes.CHECKS
ELSEWHERE = ("one-record", "missing", "parity", "manifest")  # rules about files, checked here


def find(
    paths: Iterable[Path],
    parity: Iterable[Path],
    manifests: Iterable[Path],
    experiments: dict[str, set[str]],
) -> list[Violation]:
    """Every violation in the records at `paths`, in the order of experiment, rule and run.

    `parity`: reports of the parity gate. `manifests`: of data sets. `experiments`: the runs of each
    experiment. Records that belong to none are compared with those of the same protocol, by their
    specification.
    """
    broken, files, records = _one_by_one(paths)
    verdicts, sources = _verdicts(parity), _manifests(manifests)
    for run, record in records.items():
        broken += [("parity", run, files[run], finding) for finding in _unproven(record, verdicts)]
        broken += [("manifest", run, files[run], finding) for finding in _unlike(record, sources)]
    groups = _groups(records, experiments)
    found = [
        _violation(name, rule, run, path, finding)
        for rule, run, path, finding in broken
        for name in [name for name, runs in groups.items() if run in runs] or [ALONE]
    ]
    for name, runs in groups.items():
        of_group = [records[run] for run in sorted(runs & records.keys())]
        for rule, check in of_experiment.CHECKS.items():
            for run, finding in check(of_group):
                found.append(_violation(name, rule, run, files[run], finding))
        for run in sorted(runs - files.keys()):
            finding = Finding("runs", f"no record of {run}")
            found.append(_violation(name, "missing", run, Path(f"runs/{run}/record.json"), finding))
    order = list(table())
    return sorted(
        set(found),
        key=lambda violation: (
            violation.experiment,
            order.index(violation.rule),
            violation.run,
            violation.where,
            violation.value,
        ),
    )


def in_folder(folder: Path) -> tuple[list[Path], list[Path], list[Path], dict[str, set[str]]]:
    """What `find` checks below a folder of results: records, parity reports, manifests, experiments.

    Raises `UserError` if there is no record.
    """
    records = sorted(folder.rglob("record.json"))
    if not records:
        raise UserError(f"{folder}: no record.json below it; name the folder of results")
    known = {
        path.parent.name: set(frame["run"])
        for path in sorted(folder.glob("tables/*/runs.parquet"))
        if "experiment" in (frame := tidy.read(path))
    }
    parity, manifests = (
        sorted(folder.glob(to)) for to in ("parity/*.json", "data/*/manifest.json")
    )
    return records, parity, manifests, known


def _one_by_one(
    paths: Iterable[Path],
) -> tuple[list[tuple[str, str, Path, Finding]], dict[str, Path], dict[str, RunRecord]]:
    """Violations of the rules of single records (rule, run, file, finding); the file of each run, and
    its record if it could be read."""
    broken, files, records, whole = [], {}, {}, []
    for path in paths:
        record, findings = _read(path)
        run = path.parent.name
        broken += [(rule, run, path, finding) for rule, finding in findings]
        if record is None:
            files[run] = path
        else:
            whole.append((path, record))
    # Of two records of a run the one in the run's own folder counts.
    for path, record in sorted(
        whole, key=lambda pair: (pair[0].parent.name != pair[1].run, pair[0])
    ):
        run = record.run
        if run in records:
            broken.append(("one-record", run, path, Finding("run", f"also in {files[run]}")))
            continue
        if path.parent.name != run:
            finding = Finding("run", f"{run}, in the folder {path.parent.name}")
            broken.append(("name", run, path, finding))
        files[run], records[run] = path, record
        for rule, check in OF_ONE.items():
            broken += [(rule, run, path, finding) for finding in check(record)]
    return broken, files, records


def _read(path: Path) -> tuple[RunRecord | None, list[tuple[str, Finding]]]:
    """A record that the other rules can read; None and why not otherwise."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        return None, [("schema", Finding("record", f"cannot be read: {error}"))]
    try:
        record = RunRecord.from_json(data)
    except ValueError as error:
        return None, [("schema", Finding("record", str(error)))]
    try:
        record.spec.learning_rate(1)
    except (TypeError, KeyError, ValueError) as error:
        finding = Finding("spec", f"not the specification of a run: {error!r}")
        return None, [("specification", finding)]
    return record, []


def _verdicts(parity: Iterable[Path]) -> dict[tuple[str, str], bool | None]:
    """(workload, backend) -> passed; None where the backend could not run."""
    verdicts: dict[tuple[str, str], bool | None] = {}
    for path in parity:
        verdicts |= parity_reports.read_verdicts(path)
    return verdicts


def _unproven(record: RunRecord, verdicts: dict[tuple[str, str], bool | None]) -> list[Finding]:
    cell = record.spec.workload["name"], record.spec.backend["name"]
    if cell not in verdicts:
        return [Finding("parity", f"no report on {cell[0]} on {cell[1]}")]
    if verdicts[cell] or record.status in ("unavailable", "unsupported"):
        return []
    word = "failed" if verdicts[cell] is False else "the gate could not run the backend"
    return [Finding("parity", f"{cell[0]} on {cell[1]}: {word}")]


def _manifests(paths: Iterable[Path]) -> dict[str, dict[str, Any]]:
    """The manifests by their SHA-256."""
    texts = [path.read_bytes() for path in paths]
    return {hashlib.sha256(text).hexdigest(): json.loads(text) for text in texts}


def _unlike(record: RunRecord, manifests: dict[str, dict[str, Any]]) -> Iterator[Finding]:
    """Where the data of a record are not those of its manifest, if that is there."""
    if record.data is None or record.data.manifest_sha256 not in manifests:
        return
    manifest = manifests[record.data.manifest_sha256]
    (train, *shape), (test, *_) = (
        manifest["arrays"][f"{split}_inputs"]["shape"] for split in ("train", "test")
    )
    trained = min(train, record.spec.workload.get("train_examples", train))
    expected = {
        **{key: manifest[key] for key in ("dataset", "source", "edition")},
        "train_examples": trained,
        "test_examples": test,
        "input_shape": shape,
    }
    for split, share in manifest.get("majority", {}).items():  # of contributed records some lack it
        if split == "test" or trained == train:  # that of a part of the examples is not in it
            expected[f"{split}_majority"] = share
    for key, value in expected.items():
        if (found := getattr(record.data, key)) != value:
            yield Finding(f"data.{key}", f"{found}, by its manifest it is {value}")


def _groups(records: dict[str, RunRecord], experiments: dict[str, set[str]]) -> dict[str, set[str]]:
    """The runs to check together, by name of the experiment or protocol."""
    groups = {name: set(runs) for name, runs in experiments.items()}
    known = set().union(*groups.values())
    for run, record in records.items():
        if run not in known:
            groups.setdefault(_protocol(record), set()).add(run)
    return groups


def _protocol(record: RunRecord) -> str:
    """What all runs of one question share: a name in place of the experiment's."""
    spec = record.spec
    target = spec.workload.get("target") or {}
    goal = f", target {target['accuracy']:g}" if target else ""
    steps = f" of {spec.steps_per_epoch} steps" if spec.steps_per_epoch else ""
    return f"{spec.workload['name']}, {spec.epochs} epochs{steps}{goal}"


def _violation(experiment: str, rule: str, run: str, path: Path, finding: Finding) -> Violation:
    severity = table()[rule].severity
    return Violation(experiment, rule, severity, run, str(path), finding.where, finding.value)
