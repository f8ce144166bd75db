"""The figures and tables of the project and of plugins: what each reads, and where its caption is."""

from collections.abc import Collection

from paragone.base import plugins
from paragone.base.errors import UserError
from paragone.config.engines import DECLARATIONS, Exhibit, declared_by

FIGURES, TABLES = "figures", "tables"
FORMATS = {FIGURES: ("svg", "pdf", "png"), TABLES: ("csv", "md")}
PUBLISHED, PRODUCTS = "published", "products"

WITH_PUBLISHED = ("runs", "epochs", PUBLISHED)
WITH_SPEEDS = ("runs", "rounds")
# A new figure or table: an entry here, its module in scripts/paragone/reporting/, its caption in
# rules/report/, and its name in `figures:` or `tables:` of a section.
EXHIBITS = {
    FIGURES: {
        "learning_curves": Exhibit("learning curves", WITH_PUBLISHED),
        "variants": Exhibit("speed of the variants", (*WITH_SPEEDS, PRODUCTS), ("baseline",)),
        "clocks": Exhibit("where the time goes", ("runs",)),
        "predictions": Exhibit("predictions", ("runs", "predictions")),
        "time_to_target": Exhibit("time to target", ("runs", "epochs")),
        "scaling": Exhibit("speed-up by replicas", WITH_SPEEDS),
        "matmul": Exhibit("speed by size", (PRODUCTS,)),
    },
    TABLES: {
        "comparison": Exhibit("published and measured", WITH_PUBLISHED),
        "differences": Exhibit("which backend is better", WITH_SPEEDS, ("primary",)),
        "spread": Exhibit("spread over seeds", ("runs", "epochs")),
        "scaling": Exhibit("speed-up and efficiency", WITH_SPEEDS),
        "matmul_comparison": Exhibit("published and measured", (PRODUCTS, PUBLISHED)),
        "accelerator_reference": Exhibit("as published, and this machine", (PRODUCTS, PUBLISHED)),
    },
}


def rows(kind: str, readable: Collection[str]) -> dict[str, Exhibit]:
    """The figures or tables (`kind`) of plugins by name, as `plugin.toml` declares them.

    `readable` has the words that reads may use. Raises `UserError` for a module that is not declared, and for
    one without its caption.
    """
    declared = {}
    for folder in plugins.folders():
        exhibits: dict[str, Exhibit] = getattr(declared_by(folder), kind)
        for file in sorted((folder / f"reporting/{kind}").glob("[!_.]*.py")):
            if file.stem not in exhibits:
                raise UserError(
                    f"{file}: add a table [{kind}.{file.stem}] with label and reads to {folder}/"
                    f"{DECLARATIONS}, or begin the file's name with _"
                )
            row = exhibits[file.stem]
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
