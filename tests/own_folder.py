"""A user's folder beside a checkout, in which the example of a page of the documents is run."""

import json
import shlex
from dataclasses import dataclass
from pathlib import Path

import yaml
from documents import OWN_FOLDER, commands, treatment
from workspace import BRIEF, Checkout, jobs, succeed, write_files

from paragone.records import record


@dataclass(frozen=True)
class Own:
    """A user's folder in which commands were run; `line` has the arguments of the last one."""

    checkout: Checkout
    folder: Path
    line: list[str]

    @property
    def results(self) -> Path:
        """Where the results are."""
        return self.folder / "results"

    def records(self) -> list:
        """The valid records."""
        return [record.read(path) for path in sorted(self.results.glob("runs/*/record.json"))]

    def verdicts(self, workload: str) -> dict[str, dict]:
        """The parity gate's verdict on each backend."""
        return json.loads((self.results / f"parity/{workload}.json").read_text())["backends"]

    def added_to_the_checkout(self) -> list[Path]:
        """The files of the checkout that were not there before, but for Python's compiled ones."""
        paths = (path for path in self.checkout.folder.rglob("*") if path.is_file())
        known = {self.checkout / name for name in self.checkout.files}
        return [path for path in paths if path not in known and "__pycache__" not in path.parts]

    def jobs(self) -> dict[str, int]:
        """What the same command would run now."""
        return jobs(self.line, self.folder)


def of_page(page: Path) -> list[str]:
    """The commands of a page that are called in such a folder."""
    return [command for command in commands(page) if treatment(command) == OWN_FOLDER]


def own(base: Path, written: dict[str, str], lines: list[str], brief: dict) -> Own:
    """Write files next to a checkout, and run commands; `brief` is a config on top of its own."""
    checkout, folder = Checkout(base / "paragone"), base / "mine"
    write_files(folder, {**written, "brief.yaml": yaml.safe_dump(BRIEF | brief)})
    words: list[str] = []
    for line in lines:
        words = shlex.split(line)
        if words[0] == "snakemake":
            words += ["brief.yaml"]  # behind --configfile
        succeed(words, timeout=3600, cwd=folder)
    return Own(checkout, folder, words[1:])


ENGINE = """from paragone.engines import torch

ENGINE = torch.ENGINE
"""
DECLARATION = """[engines.my_torch]
strategies = {single = "one worker"}
batch_norm = "whole"
"""


def plug_in(checkout: Checkout, name: str) -> None:
    """Add a backend to a checkout's config: PyTorch's engine, from a module of a plugin."""
    files = {"engines/my_torch.py": ENGINE, "plugin.toml": DECLARATION}
    write_files(checkout / "my_plugin", files)
    own = {"engine": "my_torch", "strategy": "single", "device": "cpu", "environment": "torch"}
    checkout.config["backends"][name] = own | {"label": "My PyTorch", "color": "#123456"}
    checkout.config["plugins"] = ["my_plugin"]
