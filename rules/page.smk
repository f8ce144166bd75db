# Page and paper: answers first, then all figures, tables and runs, in one file each, from records alone.
#
#   snakemake paper
#
# <results>/so_far.html is there once the primary question is answered.

TEXTS = [
    *Path(PLAN.path("scripts/paragone/reporting/templates")).glob("*.*"),
    *PLAN.captions(),
    *(path for paper in PLAN.cited().values() for path in paper.files),
]


use rule answers as page with:
    input:
        PLAN.files(FIGURES, "svg", "csv"),
        PLAN.files(TABLES, "json", "csv"),
        "<results>/answers.json",
        "<results>/tables/runs.parquet",
        PLAN.records(),
    output:
        page="<results>/index.html",
    log:
        "<results>/logs/page.log",
    params:
        code=PLAN.code("write_page.py", "reporting"),
        job=lambda _: document(**PLAN.page()),
        content=content_of(*TEXTS),
        files=lambda wildcards, input, output: files_with(
            input,
            output,
            results=os.path.dirname(output.page),
            **PLAN.page_places(workflow.configfiles),
        ),
    message:
        "Writing the page"


use rule page as page_so_far with:
    input:
        PLAN.files(FIGURES, "svg", "csv", section=PLAN.primary),
        PLAN.files(TABLES, "json", "csv", section=PLAN.primary),
        [f"<results>/tables/{PLAN.primary}/{name}.parquet" for name in ("runs", "rounds")],
    output:
        page="<results>/so_far.html",
    log:
        "<results>/logs/so_far.log",
    priority: 1
    params:
        job=lambda _: document(so_far=PLAN.primary, **PLAN.page()),
    message:
        "Writing the page of the primary question"


use rule page as paper with:
    input:
        PLAN.files(FIGURES, "svg", "pdf", "csv"),
        PLAN.files(TABLES, "json", "csv"),
        "<results>/answers.json",
        "<results>/tables/runs.parquet",
    output:
        page="<results>/paper.pdf",
    log:
        "<results>/logs/paper.log",
    priority: 0
    message:
        "Typesetting the paper"
