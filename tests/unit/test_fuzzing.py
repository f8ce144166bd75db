"""Documents that are right but for one to three values: each is read, or refused by one message.

What is read must also be of use: an accepted record is checked, tabulated and compared.
"""

import copy
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from make_records import LABELS, make_record, sealed
from make_results import MANIFEST
from workspace import DEFAULTS, FOLDERS, ROOT

from paragone.analysis import compliance, tidy
from paragone.analysis.pairwise import differences
from paragone.base import typed_json
from paragone.base.errors import UserError
from paragone.config.expand import expand
from paragone.config.papers import read_paper, with_papers
from paragone.config.read import read
from paragone.config.run_spec import Spec
from paragone.config.validate import validate
from paragone.data import load
from paragone.records import measurements, record
from paragone.records.run_record import RunRecord

pytestmark = pytest.mark.nightly
PAPER = FOLDERS["reuters_strategies"]

QUIET = {"database": None, "print_blob": True, "suppress_health_check": [*HealthCheck]}
CASES = settings(max_examples=500, deadline=None, **QUIET)
SCALARS = st.none() | st.booleans() | st.integers(-(10**20), 10**20) | st.floats()
TEXTS = st.text(max_size=20) | st.sampled_from(["$(touch x)", "../x", "é{x}", "\\x00", "1e999"])
VALUES = st.recursive(
    SCALARS | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=5,
)


def places(node: Any) -> list[tuple[Any, Any]]:
    """Every (container, key or index) of a document."""
    keys = node if isinstance(node, dict) else range(len(node)) if isinstance(node, list) else ()
    return [(node, key) for key in keys] + [place for key in keys for place in places(node[key])]


@st.composite
def changed(draw: Callable, document: Any) -> Any:
    """The document with one to three values replaced, deleted or added."""
    made = {"whole": copy.deepcopy(document)}
    for _ in range(draw(st.integers(1, 3))):
        node, key = draw(st.sampled_from(places(made)))
        match draw(st.sampled_from(["replace", "replace", "delete", "add"])):
            case "delete" if node is not made:
                del node[key]
            case "add" if isinstance(node, dict) and node is not made:
                node[draw(st.text(max_size=5))] = draw(VALUES)
            case _:
                node[key] = draw(VALUES)
    return made["whole"]


def message(reader: Callable[[Path], Any], path: Path) -> str:
    """Why it cannot be read, empty if it can; any other error is a defect."""
    try:
        reader(path)
    except UserError as error:
        return str(error)
    return ""


def read_record(path: Path) -> None:
    """As it is, and with a digest that fits."""
    document = json.loads(path.read_text())
    for each in (document, sealed(document) if isinstance(document, dict) else document):
        path.write_text(json.dumps(each))
        reason = message(record.read, path)
        assert not reason or str(path) in reason
        if not reason:
            both = [record.read(path), typed_json.typed(RunRecord, make_record("torch-xla"))]
            compliance.find("fuzzed", dict(zip([path, path.parent], both, strict=True)), {})
            differences(tidy.tables(both, "fuzzed", {})[0], LABELS)


def read_a_paper(path: Path) -> None:
    shutil.copy(PAPER / "numbers.csv", path.parent)
    shutil.copy(path, path.with_name("paper.yaml"))
    read_paper(path.parent)


def read_config(path: Path) -> None:
    config = json.loads(path.read_text())
    with_papers(config, ROOT)
    valid = validate(config)
    for name in valid.experiments:
        expand(valid, name)


# A valid document of each kind, and its reader.
DOCUMENTS: dict[str, tuple[Any, Callable[[Path], Any]]] = {
    "record": (make_record("torch"), read_record),
    "specification": (
        make_record("torch")["spec"],
        lambda path: Spec.from_json(path.read_text()).name,
    ),
    "parity report": (
        {"workload": "w", "backends": {"torch": {"passed": True, "deviations": {}}}},
        lambda path: measurements.read_parity([path]),
    ),
    "manifest": (json.loads(MANIFEST), lambda path: load(path, path.parent)),
    "config": (DEFAULTS, read_config),
    "paper": (read(PAPER / "paper.yaml"), read_a_paper),
}


@pytest.mark.injects("a record, report, manifest or config with other values")
@pytest.mark.parametrize("kind", DOCUMENTS)
@CASES
@given(data=st.data())
def test_a_document_is_read_or_refused(tmp_path, kind, data):
    document, reader = DOCUMENTS[kind]
    path = tmp_path / "document.json"
    path.write_text(json.dumps(data.draw(changed(document))))
    message(reader, path)
