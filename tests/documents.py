"""The documents of this project: their links, their anchors, their examples, and the commands they name."""

import re
from pathlib import Path

from workspace import ROOT

FOLDERS = (".", "benchmarks", "docs", "papers", "papers/*", "records", "tests", "workflows/*")
PAGES = sorted(path for folder in FOLDERS for path in ROOT.glob(f"{folder}/*.md"))
_FENCED = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_IN_COMMENT = re.compile(r"^#   (snakemake .*(?:\n#     .*)*)", re.MULTILINE)
_LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#+ +(.*)$", re.MULTILINE)
_ANCHOR = re.compile(r'<a id="([^"]+)">')

# How a test treats a command; the first pattern that matches decides. `run`: as it is, under a minute.
# `dry run`: snakemake and make with --dry-run, a program with --help. Else the test that does it instead, or
# what no test has.
RUN, DRY_RUN = "run", "dry run"
OWN_FOLDER = "tests/pipeline/test_own_folder.py"
TREATMENT = {
    r"echo .* > \S+|export \w+=\S+": RUN,
    r"python docs/build\.py": "tests/unit/test_documentation.py",
    r"python scripts/collect\.py check results/": "tests/pipeline/test_smoke.py",
    r"(PYTHONPATH=\S+ )?python benchmarks/\S+ .*": DRY_RUN,
    r"snakemake .* profiles/.*|python -m venv cloud|cloud/bin/pip .*": "tests/cluster/test_profiles.py",
    r"snakemake .*presets/gpu.yaml.*": "tests/unit/test_config.py",  # it needs a GPU
    r"snakemake .*presets/smoke.yaml|snakemake --report .*": "tests/pipeline/test_smoke.py",
    r"snakemake .*records_only=True.*": "tests/pipeline/test_smoke_records_only.py",
    r"snakemake .*bundles=.*": "workflows/bundles/tests/test_drawn_bundles.py",
    r"python workflows/bundles/bundle\.py .*": "workflows/bundles/tests/test_bundle_archive.py",
    r"snakemake first_answer .*conda": "tests/nightly/test_conda.py",
    r"snakemake .*conda": "tests/pipeline/test_fresh.py",
    r"snakemake -s \.\./paragone/.* run\.yaml": "tests/pipeline/test_new_question.py",
    r"python make_\w+\.py|snakemake -s \.\./paragone/.*": OWN_FOLDER,
    r"snakemake .*|make \S+( (NAME|PAPER)=\S+)?": DRY_RUN,
    r"source \S+/bin/activate": "not run: tests are in that environment already",
    r"pre-commit install": "not run: pre-commit is not among the pinned packages",
}


def treatment(command: str) -> str | None:
    """`RUN`, `DRY_RUN`, the test that does it or the reason why none does, None for an unknown kind."""
    kinds = (kind for pattern, kind in TREATMENT.items() if re.fullmatch(pattern, command))
    return next(kinds, None)


def prose(page: Path) -> str:
    """A page without its blocks of code."""
    return _FENCED.sub("", page.read_text())


def blocks(page: Path, language: str) -> list[str]:
    """The blocks of code of a page in this language."""
    return [block for name, block in _FENCED.findall(page.read_text()) if name == language]


def example(name: str) -> dict[str, str]:
    """The files of a folder in examples/, by path."""
    folder = ROOT / "examples" / name
    return {
        path.relative_to(folder).as_posix(): path.read_text()
        for path in sorted(folder.rglob("*"))
        if path.suffix in (".py", ".yaml", ".toml", ".rst")
    }


EXAMPLE = example("digits")  # of docs/extending.md


def at(file: str, words: str, text: str = "") -> str:
    """File and line of these words in the example, or in the file's text, as a message has them."""
    lines = (text or EXAMPLE[file]).splitlines()
    return f"{file}, line {next(n for n, line in enumerate(lines, start=1) if words in line)}: "


def anchors(page: Path) -> set[str]:
    """What a link may name after `#`: a page's headings, as GitHub writes them, and its marks."""
    text = prose(page)
    headings = (re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", each) for each in _HEADING.findall(text))
    kept = (re.sub(r"[^\w\- ]", "", heading.lower()) for heading in headings)
    return {each.strip().replace(" ", "-") for each in kept} | {*_ANCHOR.findall(text)}


def links(page: Path) -> list[str]:
    """The targets of a page's links and images."""
    return _LINK.findall(prose(page))


def commands(page: Path) -> list[str]:
    """The commands of a page's `sh` blocks in their order; a line that ends in `\\` goes on.

    Of a preset those in its comments, where lines that are indented further go on.
    """
    if page.suffix == ".yaml":
        texts = _IN_COMMENT.findall(page.read_text())
        return [re.sub(r"\n# +|\(in one line\)", " ", text).strip() for text in texts]
    lines = "\n".join(blocks(page, "sh")).replace("\\\n", " ").splitlines()
    texts = (re.sub(r"(^|\s+)# .*$", "", line).strip() for line in lines)
    return [text for text in texts if text]
