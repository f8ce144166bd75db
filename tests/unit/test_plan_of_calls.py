"""The plan of a call as data: which runs, files and options a config asks for, and what it refuses."""

import copy
from itertools import chain
from pathlib import Path

import pytest
from plan import Plan
from workspace import CONFIG, ROOT, refusing

from paragone.base.errors import UserError
from paragone.plan.exhibits import EXHIBITS, FIGURES, TABLES


@pytest.fixture(scope="module")
def default() -> Plan:
    return Plan()


def changed(**blocks) -> Plan:
    """The plan of the default config with other values at its top level."""
    return Plan(config=copy.deepcopy(CONFIG) | blocks)


def with_exhibits(kind: str, experiment: str, names: list[str], **blocks) -> Plan:
    """The plan where an experiment has other figures or tables."""
    config = copy.deepcopy(CONFIG) | blocks
    config["experiments"][experiment][kind] = names
    return Plan(config=config)


def test_runs_that_experiments_share_are_made_and_listed_once():
    plan = Plan("smoke")
    records = plan.records()
    assert len(set(records)) == len(records) == len(plan.runs) == len(plan.places)
    assert sorted(plan.places.values()) == list(range(1, len(records) + 1))
    assert sum(len(plan.runs_of(name)) for name in plan.experiments) > len(records)


def test_a_run_reads_its_data_its_weights_and_the_first_steps_it_is_compared_with(default):
    for name, spec in default.runs.items():
        assert default.manifest(spec) == f"<results>/data/{spec.workload.dataset}/manifest.json"
        pretrained = spec.workload.name == "mobilenet-v2"
        assert default.weights(spec) == ["<results>/weights/mobilenet-v2.json"] * pretrained
        compared = [path.split("/")[-1].removesuffix(".npz") for path in default.first_steps(spec)]
        assert all(default.references[each] == default.expected[name] for each in compared)
    trained = {(spec.workload.name, spec.backend.name) for spec in default.runs.values()}
    assert default.probes.keys() == trained | {(name, "reference") for name in default.workloads}


@pytest.mark.parametrize("kind", EXHIBITS)
def test_every_figure_and_table_of_the_config_reads_files_that_the_plan_knows(default, kind):
    for section, name in default.names(kind):
        exhibit = default.exhibits[kind][name]
        read = {each: default.reads[each](section) for each in exhibit.reads}
        beside = default.sections[section].get("published", "")
        assert all(files for each, files in read.items() if each != "published" or beside)
        assert {*chain(*read.values())} <= {*default.read_by(section)}
        drawing = default.drawing(section)
        assert drawing[kind][name] == exhibit.reads
        assert None not in {name: drawing["settings"][name] for name in exhibit.settings}.values()
        assert Path(ROOT / "rules" / default.caption(kind, name)).is_file()


@pytest.mark.parametrize(("kind", "known"), [(FIGURES, "scaling"), (TABLES, "comparison")])
def test_a_figure_or_table_that_cannot_be_made_is_refused(kind, known):
    with refusing(f"{kind} of mirrored_mobilenet: no 'pie'", known):
        with_exhibits(kind, "mirrored_mobilenet", ["pie"])
    with refusing("batch_size_throughput", "'scaling' needs"):
        with_exhibits(FIGURES, "batch_size_throughput", ["scaling"])


def test_an_experiment_with_the_name_of_a_section_is_refused():
    block = CONFIG["experiments"]["one_device"]
    with pytest.raises(UserError, match=r"experiments\.device_matmul: is a section"):
        changed(experiments=CONFIG["experiments"] | {"device_matmul": block})


def test_from_records_alone_an_unknown_figure_is_left_out_with_a_notice():
    plan = with_exhibits(FIGURES, "mirrored_mobilenet", ["pie", "epoch_time"], records_only=True)
    assert plan.sections["mirrored_mobilenet"][FIGURES] == ["epoch_time"]
    assert "left out of mirrored_mobilenet, no such figures here: pie" in plan.notices


def test_given_runs_are_those_that_are_drawn(default):
    given = {name: {"runs": ["a-run"], "contests": []} for name in default.experiments}
    plan = changed(records_only=given)
    assert plan.records() == ["<results>/runs/a-run/record.json"]
    assert plan.reads["predictions"]("one_device") == ["<results>/runs/a-run/predictions.npz"]
