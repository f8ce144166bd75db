# Figures and tables as rows: what a row reads, the options that its program gets, and the files that the
# config declares. tables.smk and figures.smk have the rows.

from dataclasses import dataclass


@dataclass(frozen=True)
class Row:
    """A figure or table: its label in the report, what it reads (keys of `READS`), and which values of
    its section of the config it depends on."""

    label: str
    reads: tuple[str, ...]
    settings: tuple[str, ...] = ()


READS = {
    "runs": lambda section: [f"<results>/tables/{section}/runs.parquet"],
    "epochs": lambda section: [f"<results>/tables/{section}/epochs.parquet"],
    "predictions": lambda section: [
        f"<results>/runs/{run}/predictions.npz" for run in runs_of(section)
    ],
    "products": lambda _: ["<results>/tables/device_matmul/matmul.parquet"],
    "published": lambda _: [
        project(f"published/{name}.csv")
        for name in ("published", "protocols", "ratios", "flaws", "margins", "spread")
    ],
}


def rows_of_plugins(kind):
    """The rows that plugins bring: `ROW` of each module."""
    try:
        found = rows(kind, READS)
    except UserError as error:
        raise WorkflowError(f"config: {error}") from None
    return {
        name: Row(row["label"], tuple(row["reads"]), tuple(row.get("settings", ())))
        for name, row in found.items()
    }


def caption(kind, prefix, name):
    """The caption of a figure or table: the project's, or beside the module of a plugin."""
    return plugins.caption(kind, name) or f"report/{prefix}_{name}.rst"


def read_by(row):
    """The input function of a figure's or table's rule."""
    return lambda wildcards: {kind: READS[kind](wildcards.experiment) for kind in row.reads}


def files_of(row):
    """The params function of a figure's or table's rule: the options that name what it reads."""
    kinds = [kind for kind in row.reads if kind != "published"]
    return lambda _, input: [
        word for kind in kinds for word in (f"--{kind.replace('_', '-')}", *input.get(kind))
    ]


def options_of(row):
    """The same for its other options, all from the config: apart, since Snakemake does not rerun
    where params that depend on `input` change."""

    def options(wildcards):
        section = SECTIONS[wildcards.experiment]
        backends = config["backends"].items()
        found = ["--title", section["title"]]
        if "published" in row.reads:
            found += ["--published", project("published")]
            found += [f"--published-experiment={section.get('published', '')}"]
        if row.settings:
            settings = {key: section.get(key, config.get(key)) for key in row.settings}
            found += ["--settings", json.dumps(settings)]
        found += ["--labels", *(f"{name}={block['label']}" for name, block in backends)]
        return found + [
            "--palette",
            *(f"{name}={block['color']}" for name, block in backends),
        ]

    return options


def declaring(table):
    """The experiments that declare a table."""
    return [name for name, block in config["experiments"].items() if table in block["tables"]]


def category(wildcards):
    """The title of a section, for the report; Snakemake formats it once more."""
    title = SECTIONS[wildcards.experiment]["title"]
    return title.replace("{", "{{").replace("}", "}}")


def of_all():
    """The sections that `all` makes: those of `only`, or all."""
    return {name: block for name, block in SECTIONS.items() if name in (config["only"] or SECTIONS)}


def leave_out_absent(kind, rows):
    """From records alone, leave out what sections declare and no row draws: a plugin's that is not here."""
    for section, block in SECTIONS.items() if config["records_only"] else ():
        absent = [name for name in block[kind] if name not in rows]
        block[kind] = [name for name in block[kind] if name in rows]
        if absent and workflow.is_main_process:
            names = ", ".join(absent)
            print(f"notice: left out of {section}, no such {kind} here: {names}", file=sys.stderr)


def exhibits(kind, rows, sections, *suffixes):
    """The files of the figures or tables that sections of the config declare, with each suffix."""
    for section, block in sections.items():
        for name in block[kind]:
            if name not in rows:
                raise WorkflowError(
                    f"config: {kind} of {section}: no {name!r}; there are {', '.join(rows)}"
                )
    return [
        f"<results>/{kind}/{section}/{name}.{suffix}"
        for section, block in sections.items()
        for name in block[kind]
        for suffix in suffixes
    ]


def declared(kind, rows, sections):
    """The same in every format that people use."""
    suffixes = {"figures": ("svg", "pdf", "png"), "tables": ("csv", "md", "tex")}[kind]
    return exhibits(kind, rows, sections, *suffixes)


def outline(figures, tables):
    """The sections in order, with the labels of their figures and tables, for page and paper."""
    return [
        {
            "name": name,
            "title": block["title"],
            "figures": {one: figures[one].label for one in block["figures"]},
            "tables": {one: tables[one].label for one in block["tables"]},
        }
        for name, block in of_all().items()
    ]


def overlays():
    """The config files on top of the default one, for a reader."""
    default = (PROJECT / "config.yaml").resolve()
    paths = [path for path in workflow.configfiles if Path(path).resolve() != default]
    return ", ".join(os.path.relpath(path) for path in paths)


def finished(kind, rows, *suffixes):
    """The files of one experiment's figures or tables: when they are there, it is finished."""
    return lambda wildcards: exhibits(
        kind, rows, {wildcards.experiment: SECTIONS[wildcards.experiment]}, *suffixes
    )


def page_options(_):
    """The options of the page's program that come from the config."""
    backends = config["backends"].items()
    return [
        *("--outline", json.dumps(outline(FIGURES, TABLES))),
        *("--captions", project("rules/report")),
        f"--preset={overlays()}",
        *("--labels", *(f"{name}={block['label']}" for name, block in backends)),
        *("--palette", *(f"{name}={block['color']}" for name, block in backends)),
    ]
