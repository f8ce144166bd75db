"""Config files as people write them: what is wrong in one is one message, overlays keep the rest."""

import pytest
from workspace import CONFIG, ROOT, call, command, refused, succeed

from paragone.base.errors import UserError
from paragone.config.read import fill, read


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("title: caf\u00e9".encode("latin-1"), ["not UTF-8", "byte 10"]),
        (b"a: &x\n  b: *x\n", ["contains it"]),
        (b"a: [1, 2\nb: 3\n", ["line 2"]),
        (b"- a\n- b\n", ["not a mapping"]),
    ],
)
def test_unreadable_yaml_is_one_message(tmp_path, content, words):
    path = tmp_path / "mine.yaml"
    path.write_bytes(content)
    with pytest.raises(UserError) as caught:
        read(path)
    for word in [str(path), *words]:
        assert word in str(caught.value)
    refused(call([*command("check_config"), str(path)]), *words)


def test_missing_file_is_named(tmp_path):
    with pytest.raises(UserError, match=r"none\.yaml: cannot be read"):
        read(tmp_path / "none.yaml")


def test_the_default_config_and_the_presets_are_right():
    for preset in sorted(ROOT.glob("presets/*.yaml")):
        assert "experiments" in succeed([*command("check_config"), str(preset)])


def test_fill_adds_what_is_missing_and_keeps_the_rest():
    config = {"seed": 5, "data": {"source": "real"}, "experiments": {"one": {"matrix": [1]}}}
    fill(
        config,
        {
            "seed": 0,
            "data": {"source": "auto", "folder": "data"},
            "experiments": {"one": {"matrix": [2]}},
        },
    )
    assert config == {
        "seed": 5,
        "data": {"source": "real", "folder": "data"},
        "experiments": {"one": {"matrix": [1]}},
    }


def test_the_config_of_the_tests_is_what_the_workflow_reads():
    assert read(ROOT / "config.yaml") == CONFIG
