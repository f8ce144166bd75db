"""Records of a plugin's backend, model and data are drawn where the plugin's folder is not."""

import copy

import pytest
import yaml
from documents import files
from snakemake.utils import update_config
from workspace import CONFIG, ROOT

from paragone.base import plugins
from paragone.config.expand import expand
from paragone.config.narrow import narrow
from paragone.config.validate import validate


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
