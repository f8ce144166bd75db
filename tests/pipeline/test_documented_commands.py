"""The commands of documents and presets in one clean checkout: run, or dry-run, each distinct one once."""

import shlex

import pytest
from documents import DRY_RUN, PAGES, RUN, blocks, commands, treatment
from workspace import ROOT, Checkout, succeed

pytestmark = pytest.mark.full

# Words that change nothing of what a command asks for, so that it is tried once.
PLAIN = ("--cores", "2", "4", "8", "-n")
TRIED: set[tuple[str, ...]] = set()


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Checkout:
    return Checkout(tmp_path_factory.mktemp("documented"))


def bash(made: Checkout, text: str) -> None:
    """Run a command as a reader would, in the checkout."""
    succeed(["bash", "-euc", text], cwd=made.folder)


def dry_run(made: Checkout, text: str) -> None:
    """Go as far as a command goes without doing its work: a program prints its help."""
    program, *arguments = shlex.split(text)
    if program != "snakemake":
        return bash(made, f"{text} {'--dry-run' if program == 'make' else '--help'}")
    wanted = tuple(word for word in arguments if word not in PLAIN)
    if wanted not in TRIED:
        made.jobs(*arguments)
        TRIED.add(wanted)


@pytest.mark.parametrize(
    "page",
    [page for page in [*PAGES, *ROOT.glob("presets/*.yaml")] if commands(page)],
    ids=lambda page: page.relative_to(ROOT).as_posix(),
)
def test_commands(made, page):
    (made / "mine.yaml").write_text("\n".join(blocks(page, "yaml")))
    for command in commands(page):
        if treatment(command) == RUN:
            bash(made, command)
        elif treatment(command) == DRY_RUN:
            dry_run(made, command)
