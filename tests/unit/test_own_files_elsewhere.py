"""Records of a plugin's backend, model and data are drawn where the plugin's folder is not."""

import copy

import pytest
import snakemake_server
import yaml
from documents import files
from make_records import make_record
from make_results import write_results
from snakemake.utils import update_config
from workspace import CONFIG, ROOT, environment

from paragone.base import plugins
from paragone.config.bundled import take
from paragone.config.expand import expand
from paragone.config.narrow import narrow
from paragone.config.validate import validate
from paragone.records.bundles import pack


@pytest.fixture
def theirs(tmp_path, monkeypatch) -> dict:
    """The config of docs/extending.md, and a working directory without its folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(plugins.VARIABLE, "")
    found = copy.deepcopy(CONFIG)
    update_config(found, yaml.safe_load(files(ROOT / "docs/extending.md")["my_question.yaml"]))
    found["datasets"]["digits"]["form"] = "my_form"
    narrow(found)
    return found


def test_from_records_alone_nothing_of_a_plugin_is_asked_for(theirs):
    theirs["records_only"] = True
    theirs["backends"]["jax"]["strategy"] = "of another version"
    plugins.use(theirs["plugins"], drawing=True)
    validate(theirs)
    runs = expand(theirs, "my_question")
    assert {one.workers for one in runs if one.backend["name"] in ("my-numpy", "jax")} == {1}


def test_the_data_sets_of_bundles_are_taken_whole(theirs):
    """Two blocks of one name may be of two forms, which have keys of their own."""
    mine = copy.deepcopy(CONFIG)
    clothes = {"form": "folder", "path": "clothes", "size": 28}
    mine["datasets"]["fashion_mnist"] = clothes
    take(mine, [copy.deepcopy(theirs)], same_machine=False)
    assert mine["datasets"]["digits"] == theirs["datasets"]["digits"]
    assert mine["datasets"]["fashion_mnist"] == clothes
    validate(mine)


def test_a_bundle_is_drawn_without_the_folder(theirs, tmp_path):
    results = write_results(tmp_path / "theirs", [make_record("torch")])
    paths = [*results.glob("runs/*/record.json"), *results.glob("data/*/manifest.json")]
    pack.pack(results, paths, theirs, {"my_question": []}, "free", tmp_path / "a.zip")
    line = ["-s", str(ROOT / "Snakefile"), "figures", "--cores", "1", "--dry-run"]
    done = snakemake_server.call(
        [*line, "--config", "bundles=[a.zip]"], tmp_path, environment(PARAGONE_PLUGINS="")
    )
    assert done.returncode == 0, done.stdout
    assert "notice: left out of my_question, no such figures here: my_figure" in done.stdout
    assert "plot_learning_curves" in done.stdout
    assert "plot_my_figure" not in done.stdout
