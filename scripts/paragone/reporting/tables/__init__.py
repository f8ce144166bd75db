"""Tables: functions of `Inputs` that return a `TextTable`. A plugin adds a module with `table(inputs)`."""

from collections.abc import Callable
from pathlib import Path

from paragone.base import plugins
from paragone.base.errors import UserError
from paragone.reporting import text_tables
from paragone.reporting.inputs import Inputs
from paragone.reporting.tables import measured, published
from paragone.reporting.text_tables import TextTable

__path__ = plugins.extended(__path__, "reporting/tables")

TABLES: dict[str, Callable[[Inputs], TextTable]] = {
    "comparison": published.comparison,
    "matmul_comparison": published.matmul_comparison,
    "accelerator_reference": published.accelerator_reference,
    "differences": measured.differences,
    "scaling": measured.scaling,
    "spread": measured.spread,
}


def load(name: str) -> Callable[[Inputs], TextTable]:
    """Return the function of a table of the project or of a plugin.

    Raises `UserError` that lists the known names.
    """
    if name in TABLES:
        return TABLES[name]
    modules = {path.stem for path in Path(__file__).parent.glob("*.py")}
    added = [module for module in plugins.names_in("reporting/tables") if module not in modules]
    if name not in added:
        raise UserError(f"{name!r} is none of the tables: {', '.join(sorted([*TABLES, *added]))}")
    table: Callable[[Inputs], TextTable] = plugins.load("reporting/tables", name, "table").table
    return table


def write(name: str, inputs: Inputs, folder: Path) -> None:
    """Write a table into a folder as CSV, Markdown and JSON."""
    text_tables.write(
        load(name)(inputs), [folder / f"{name}.{end}" for end in ("csv", "md", "json")]
    )
