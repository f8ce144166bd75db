"""Config files as people write them: what is wrong in one is one message, overlays keep the rest."""

import pytest
from workspace import CONFIG, ROOT

from paragone.base.errors import UserError
from paragone.config.plan import Plan
from paragone.config.read import fill, read


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("title: caf\u00e9".encode("latin-1"), ["not UTF-8", "byte 10"]),
        (b"a: &x\n  b: *x\n", ["contains it"]),
        (b"a: [1, 2\nb: 3\n", ["line 2"]),
        (b"- a\n- b\n", ["not a mapping"]),
        (b"a: 1\nb:\n  off: 2\n", ["(line 3): the key off is read as no text; write it in quotes"]),
        (b"7: 1\n", ["the key 7 "]),
        (b"~: 1\n", ["the key ~ "]),
        (b"a: {2025-12-31: 1}\n", ["the key 2025-12-31 "]),
        (b"a: 1\nb: 2\na: 3\n", ["(line 3): the key a is there twice"]),
        (b"a:\n\tb: 1\n", ["(line 2)", "tab in the place of spaces"]),
        (b"a: 017\n", ["017 is read as 15; write that, or the text in quotes"]),
        (b"a: 2:30\n", ["2:30 is read as 150;"]),
        (b"a: 2:30.5\n", ["2:30.5 is read as 150.5;"]),
        (b"a: !!python/name:os.system x\n", ["line 1"]),
        (b"a: 1\n---\na: 2\n", ["line 2"]),
    ],
)
def test_unreadable_yaml_is_one_message(tmp_path, content, words):
    path = tmp_path / "mine.yaml"
    path.write_bytes(content)
    with pytest.raises(UserError) as caught:
        read(path)
    for word in [str(path), *words]:
        assert word in str(caught.value)


def test_what_is_usual_in_yaml_is_read(tmp_path):
    path = tmp_path / "mine.yaml"
    text = "a: &x {b: 0, c: 0x1F}\nd: {<<: *x, b: -1_000}\ne: '017'\n\"on\": 1.5e+3\n"
    path.write_text(text, encoding="utf-8-sig")
    a = {"b": 0, "c": 31}
    assert read(path) == {"a": a, "d": {"b": -1000, "c": 31}, "e": "017", "on": 1500.0}
    path.with_suffix(".json").write_text('{\n\t"a": {"b": 1}\n}')
    assert read(path.with_suffix(".json")) == {"a": {"b": 1}}


def test_missing_file_is_named(tmp_path):
    with pytest.raises(UserError, match=r"none\.yaml: cannot be read"):
        read(tmp_path / "none.yaml")


def test_the_default_config_and_the_presets_are_right():
    for preset in sorted(ROOT.glob("presets/*.yaml")):
        config = read(preset)
        fill(config, read(ROOT / "config.yaml"))
        assert Plan(config, ROOT).experiments


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
