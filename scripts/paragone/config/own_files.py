"""Checks of what plugins hold before anything runs: their files are read, never imported.

Standard library only: the Snakefile imports this module at parse time.
"""

from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any

from paragone.base import plugins
from paragone.base.errors import UserError
from paragone.base.source_files import keys_of, literal, names_of
from paragone.config.code_files import loaded_by
from paragone.config.run_spec import Spec

# The key of a workload that names an entry of a table.
_USED = {"MODELS": "model", "OPTIMIZERS": "optimizer"}
# The functions of the module of a figure or table.
_FUNCTIONS = {"figures": ("points", "draw"), "tables": ("table",)}
_KEYS = {"label", "reads", "settings"}
_ROW = '{"label": "...", "reads": ("runs",)}'


def check_named(specs: Iterable[Spec]) -> None:
    """Raise `UserError` for a model or an optimizer that a backend's framework, or the reference, lacks."""
    tables: dict[str, dict[str, list[str]]] = {}
    for spec in specs:
        of, backend = f"workloads.{spec.workload['name']}", spec.backend
        for engine, reader in (
            ("reference", "the parity gate"),
            (backend["engine"], f"backend {backend['name']}"),
        ):
            if engine not in tables:
                tables[engine] = _tables(engine)
            for inside, known in tables[engine].items():
                used = _USED[plugins.TABLES[inside]]
                if (name := spec.workload[used]["name"]) not in known:
                    raise UserError(
                        f"{of}.{used}.name: {reader} finds no {name!r} in {plugins.TABLES[inside]} of "
                        f"{inside}, which has {', '.join(known)}; add it in {inside} of a plugin"
                    )


def check_data(block: dict[str, Any]) -> None:
    """Raise `UserError` for a form without `read`, and for a builder's module without `BUILDER`."""
    wanted = {f"data/forms/{block['form']}.py": "read"}
    if "builder" in block:
        wanted[f"data/builders/{block['builder']}.py"] = "BUILDER"
    for inside, name in wanted.items():
        for file in plugins.files_of(inside)[:1]:
            if name not in names_of(file):
                raise UserError(f"{file}: has no `{name}`, which the project calls; add it")


def _tables(engine: str) -> dict[str, list[str]]:
    """The tables that an engine's modules read, and the keys of each."""
    files = loaded_by(f"paragone.engines.{engine}")
    return {
        inside: plugins.keys(inside)
        for inside, table in plugins.TABLES.items()
        if table in _USED and plugins.LIBRARY / inside in files
    }


def model_file(spec: Spec) -> Path | None:
    """The plugin's file with a run's model in its engine's framework; None for a model of the project."""
    files = loaded_by(f"paragone.engines.{spec.backend['engine']}")
    for inside, table in plugins.TABLES.items():
        if table == "MODELS" and plugins.LIBRARY / inside in files:
            for file in plugins.files_of(inside)[1:]:
                if spec.workload["model"]["name"] in keys_of(file, "MODELS"):
                    return file
    return None


def rows(kind: str, readable: Collection[str]) -> dict[str, dict[str, Any]]:
    """The `ROW` of each figure or table (`kind`) of plugins by name, with label, reads, and settings if any.

    `readable` has the words that reads may use. Raises `UserError` for a row of another form or a computed
    one, and for a module without its functions or its caption.
    """
    declared = {}
    for name in plugins.names_in(f"reporting/{kind}"):
        file = plugins.file_of(f"reporting/{kind}/{name}.py")
        if file is None or file.is_relative_to(plugins.LIBRARY):
            continue
        declared[name] = _row(file, readable)
        for function in _FUNCTIONS[kind]:
            if function not in names_of(file):
                raise UserError(
                    f"{file}: has no function `{function}`; see docs/extending.md#a-figure-or-table"
                )
        if not file.with_suffix(".rst").is_file():
            raise UserError(
                f"{file.with_suffix('.rst')}: is missing; write the caption of {name} there"
            )
    return declared


def _row(file: Path, readable: Collection[str]) -> dict[str, Any]:
    row = literal(file, "ROW")
    if row is None:
        raise UserError(f"{file}: has no `ROW = {_ROW}`; add it, or begin the file's name with _")
    match row:
        case {"label": str(), "reads": list() | tuple() as reads} if {*row} <= _KEYS:
            words = [*reads, *row.get("settings", ())]
        case _:
            words = [None]
    if not all(isinstance(word, str) for word in words):
        raise UserError(f'{file}: ROW = {row!r} is not like {_ROW}, with "settings" if it has any')
    if unknown := [word for word in row["reads"] if word not in readable]:
        raise UserError(f"{file}: ROW reads {unknown[0]!r}, which is none of {', '.join(readable)}")
    checked: dict[str, Any] = row
    return checked
