"""Braces in a config, and a mistake in it."""

import json
import re
import shlex

import yaml
from workspace import dry_run, edited, refused_by_workflow, snakemake

BRACES = "{results} in {braces}, {0} and }{"


def test_braces_in_titles_and_labels_are_text(checkout):
    """Snakemake formats categories, messages and shell commands; what people write stays as it is."""
    made = checkout()
    titles = {name: {"title": BRACES} for name in made.config["experiments"]}
    others = {name: {"title": BRACES} for name in ("matmul", "accelerator_reference")}
    braces = {"experiments": titles, "backends": {"torch": {"label": BRACES}}, **others}
    (made / "braces.yaml").write_text(yaml.safe_dump(braces))
    line = ["figures", "--configfile", "presets/smoke.yaml", "braces.yaml", "--cores", "2"]
    printed = snakemake([*line, "--dry-run", "--printshellcmds"], made.folder)
    drawn = re.findall(r"draw\.py <\(printf '\[%s, %s\]' (.*?)\)[ \n]", printed)
    assert drawn
    for documents in drawn:
        job = json.loads(shlex.split(documents)[0])
        assert job["title"] == BRACES
        assert job["labels"]["torch"] == BRACES


def test_mistake_in_the_config_is_one_message(checkout):
    """Which mistakes there are: tests/unit/test_config.py."""
    made = checkout()
    for old, new, words in (
        ("seed: 0 ", "sede: 0 ", ["config: config:", "'sede'", "seed"]),
        ("backends:\n", "backends: [\n", ["config.yaml", "line"]),
    ):
        with edited(made / "config.yaml", lambda text: text.replace(old, new, 1)):  # noqa: B023
            printed = dry_run(["all", "--cores", "2"], made.folder, status=1)
        refused_by_workflow(printed, *words)
        assert not (made / "results").exists()
