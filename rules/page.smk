# Page and paper: answers first, then all figures, tables and runs, in one file each, from records alone.
#
#   snakemake paper
#
# <results>/so_far.html has the experiments that are done. Each of several jobs writes it, so it is the output of none.

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
            input, output, **PLAN.page_places(workflow.configfiles)
        ),
    message:
        "Writing the page"


use rule page as page_so_far with:
    input:
        lambda wildcards: PLAN.read_so_far(wildcards.experiment),
    output:
        touch("<results>/logs/so_far/{experiment}.done"),
    log:
        "<results>/logs/so_far/{experiment}.log",
    params:
        job=lambda wildcards: document(so_far=PLAN.until(wildcards.experiment), **PLAN.page()),
        files=lambda wildcards, input, output: files_with(
            {}, {"page": str(RESULTS / "so_far.html")}, **PLAN.page_places(workflow.configfiles)
        ),
    message:
        "Writing the page so far, with {wildcards.experiment}"


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
    message:
        "Typesetting the paper"
