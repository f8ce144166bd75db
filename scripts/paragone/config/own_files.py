"""Checks of what plugins hold before anything runs: their files are read, never imported.

Standard library only: the Snakefile imports this module at parse time.
"""

from collections.abc import Collection, Iterable
from pathlib import Path

from paragone.base import plugins
from paragone.base.errors import UserError
from paragone.base.source_files import keys_of
from paragone.config.code_files import loaded_by
from paragone.config.engines import DECLARATIONS, Exhibit, declared_by
from paragone.config.run_spec import Spec

# What of a workload names an entry of a table.
_USED = {"MODELS": "model", "OPTIMIZERS": "optimizer", "RULES": "optimizer"}


def check_named(specs: Iterable[Spec]) -> None:
    """Raise `UserError` for a model or an optimizer that a backend's framework, or the reference, lacks."""
    tables: dict[str, dict[str, list[str]]] = {}
    for spec in specs:
        of, backend = f"workloads.{spec.workload.name}", spec.backend
        for engine, reader in (
            ("reference", "the parity gate"),
            (backend.engine, f"backend {backend.name}"),
        ):
            if engine not in tables:
                tables[engine] = _tables(engine)
            for inside, known in tables[engine].items():
                used = _USED[plugins.TABLES[inside]]
                if (name := getattr(spec.workload, f"{used}_name")) not in known:
                    raise UserError(
                        f"{of}.{used}.name: {reader} finds no {name!r} in {plugins.TABLES[inside]} of "
                        f"{inside}, which has {', '.join(known)}; add it in {inside} of a plugin"
                    )


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
    files = loaded_by(f"paragone.engines.{spec.backend.engine}")
    for inside, table in plugins.TABLES.items():
        if table == "MODELS" and plugins.LIBRARY / inside in files:
            for file in plugins.files_of(inside)[1:]:
                if spec.workload.model_name in keys_of(file, "MODELS"):
                    return file
    return None


def rows(kind: str, readable: Collection[str]) -> dict[str, Exhibit]:
    """The figures or tables (`kind`) of plugins by name, as `plugin.toml` declares them.

    `readable` has the words that reads may use. Raises `UserError` for a module that is not declared, and for
    one without its caption.
    """
    declared = {}
    for folder in plugins.folders():
        known: dict[str, Exhibit] = getattr(declared_by(folder), kind)
        for file in sorted((folder / f"reporting/{kind}").glob("[!_.]*.py")):
            if file.stem not in known:
                raise UserError(
                    f"{file}: add a table [{kind}.{file.stem}] with label and reads to {folder}/"
                    f"{DECLARATIONS}, or begin the file's name with _"
                )
            row = known[file.stem]
            if unknown := [word for word in row.reads if word not in readable]:
                raise UserError(
                    f"{folder / DECLARATIONS}: {kind}.{file.stem} reads {unknown[0]!r}, which is none of "
                    f"{', '.join(readable)}"
                )
            if not file.with_suffix(".rst").is_file():
                raise UserError(
                    f"{file.with_suffix('.rst')}: is missing; write the caption of {file.stem} there"
                )
            declared[file.stem] = row
    return declared
