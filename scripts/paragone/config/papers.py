"""Papers: published sources, each a folder with its workloads, experiments and numbers.

`papers` of the config names those that a call reproduces: a folder of papers/ by its name, or the path of
any folder. What the config says of a workload or an experiment goes before its block `reduced`, and this
before what the paper says. Standard library and msgspec: the Snakefile imports this module at parse time.
"""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from msgspec import field

from paragone.base.errors import UserError
from paragone.config.decode import content_of, decoded, with_expanded_paths
from paragone.config.key_types import Closed, Name, Text, Word
from paragone.config.numbers import FILE, NUMBERS, SPREAD, Numbers, Published, read_numbers
from paragone.config.read import merged, read
from paragone.config.schema import Experiment, Margin, Reduced, WorkloadBlock
from paragone.config.validate import check_blocks

# Of blocks that papers and configs have.
KINDS = ("datasets", "workloads", "experiments", "margins")


class Source(Closed, kw_only=True):
    """paper.yaml: a published source

    title: what it is, in a sentence
    where: where its numbers are published
    plugins: folders of models and the like, as `plugins` of a config; in the paper's
    datasets: as in a config; a `path` is relative to the paper's folder
    workloads: as in a config, as published
    experiments: as in a config, at the published protocol; compared with the numbers of its
        name
    margins: of metrics for which the config has none
    numbers: by experiment of numbers.csv
    """

    title: Text
    where: Text
    plugins: list[Text] = field(default_factory=list)
    datasets: dict[Word, dict[str, Any]] = field(default_factory=dict)
    workloads: dict[Name, WorkloadBlock] = field(default_factory=dict)
    experiments: dict[Word, Experiment] = field(default_factory=dict)
    margins: dict[str, Margin] = field(default_factory=dict)
    numbers: dict[Word, Numbers]


@dataclass(frozen=True)
class Paper:
    """A paper that was read: its `folder`, the blocks of paper.yaml, and its numbers by experiment."""

    folder: Path
    blocks: dict[str, Any]
    published: dict[str, Published]

    @property
    def name(self) -> str:
        """What it is cited by."""
        return self.folder.resolve().name

    @property
    def files(self) -> list[Path]:
        """The files that figures and tables read."""
        return [path for name in (FILE, NUMBERS, SPREAD) if (path := self.folder / name).exists()]


def papers_of(config: dict[str, Any], project: Path) -> tuple[list[Paper], list[Paper]]:
    """The papers that a config names, and the others of the project.

    Raises `UserError` that names file and key.
    """
    names = decoded(config.get("papers", []), list[Text], "papers")
    folders = {path.parent.name: path.parent for path in sorted(project.glob(f"papers/*/{FILE}"))}
    chosen = dict.fromkeys(_folder(name, folders).resolve() for name in names)
    unnamed = [folder.resolve() for folder in folders.values() if folder.resolve() not in chosen]
    read_all = [
        [read_paper(Path(os.path.relpath(folder))) for folder in some] for some in (chosen, unnamed)
    ]
    places: dict[tuple[str, str], Path] = {}
    for paper in (*read_all[0], *read_all[1]):
        names = [(kind, name) for kind in KINDS[:-1] for name in paper.blocks[kind]]
        for kind, name in [*names, *(("numbers", name) for name in paper.published)]:
            # Of two of one name one would be used in the place of the other.
            if (other := places.setdefault((kind, name), paper.folder)) != paper.folder:
                raise UserError(
                    f"{paper.folder / FILE}: {kind}.{name}: {other / FILE} has this name; rename it"
                )
    return read_all[0], read_all[1]


def with_papers(config: dict[str, Any], project: Path) -> list[Paper]:
    """Add to the config, in place, what its papers say; return them and those of the project.

    The workloads and models of all papers of the project are known, whichever are named, and an experiment of
    the config with the name of one of theirs is completed by it. Raises `UserError` that names file and key.
    """
    decoded(config, dict[str, Any])
    config.update(with_expanded_paths(config))
    chosen, unnamed = papers_of(config, project)
    papers = [*chosen, *unnamed]
    plugins = decoded(config.setdefault("plugins", []), list[Text], "plugins")
    decoded(config.get("reduced"), Reduced | None, "reduced")
    for paper in papers:
        paths = [os.path.relpath(paper.folder / name) for name in paper.blocks["plugins"]]
        config["plugins"] = plugins = [*dict.fromkeys([*plugins, *paths])]
    for key in KINDS:
        decoded(config.setdefault(key, {}), dict[str, Any], key)
        published = {name: block for paper in papers for name, block in paper.blocks[key].items()}
        less = (config.get("reduced") or {}).get(key, {})
        if unknown := [name for name in less if name not in published]:
            raise UserError(
                f"reduced.{key}.{unknown[0]}: no paper has it; there are {', '.join(published)}"
            )
        names = [*less, *published]
        if key == "experiments":
            asked = {*config[key]}.union(*(paper.blocks[key] for paper in chosen))
            # Given runs are drawn as the experiments that they were made for.
            given = isinstance(config.get("records_only"), dict)
            names = [name for name in names if name in asked and not given]
        for name in dict.fromkeys(names):
            block = merged(published[name], less.get(name, {}))
            config[key][name] = merged(block, config[key].get(name, {}))
    return papers


def read_paper(folder: Path) -> Paper:
    """Read the folder of a paper. Raises `UserError` that names file and key."""
    file = folder / FILE
    blocks = read(file)
    source: Source = content_of(file, blocks, Source)
    try:
        blocks = with_expanded_paths(blocks)
        check_blocks(source)
    except UserError as error:
        raise UserError(f"{file}: {error}") from None
    published = read_numbers(folder, source.numbers, source.workloads)
    blocks = {"plugins": [], **{key: {} for key in KINDS}, **blocks}
    for block in blocks["datasets"].values():
        if "path" in block:
            block["path"] = _beside(folder, block["path"])
    for block in (w["start"] for w in blocks["workloads"].values() if "start" in w):
        block["file"] = _beside(folder, block["file"])
    for name, block in blocks["experiments"].items():
        block.setdefault("published", name if name in published else "")
    return Paper(folder, blocks, published)


def _folder(name: str, folders: dict[str, Path]) -> Path:
    folder = folders.get(name, Path(name))
    if not (folder / FILE).is_file():
        raise UserError(
            f"papers: {name!r} is no folder with a {FILE}, and none of {', '.join(folders)}; correct it"
        )
    return folder


def _beside(folder: Path, path: Any) -> Any:
    """A path of a paper's file, or one for each split, as seen from the working directory."""
    if isinstance(path, dict):
        return {split: _beside(folder, place) for split, place in path.items()}
    return os.path.relpath(folder / path)
