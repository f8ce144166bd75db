# Page and paper: answers first, then all figures, tables and runs, in one file each, from records alone.
#
#   snakemake paper
#
# <results>/so_far.html is there once the primary question is answered.

OF_PAGE = [
    PLAN.path(f"{TEMPLATES}/{name}")
    for name in ("page.html", "first_screen.html", "run.html", "page.css", "page.js")
]


rule page:
    input:
        templates=OF_PAGE,
        captions=PLAN.captions(),
        figures=PLAN.files(FIGURES, "svg", "csv"),
        tables=PLAN.files(TABLES, "json", "csv"),
        answers="<results>/answers.json",
        runs="<results>/tables/runs.parquet",
        records=PLAN.records(),
        manifests=PLAN.manifests(),
    output:
        page="<results>/index.html",
    log:
        "<results>/logs/page.log",
    priority: reading
    conda:
        "../envs/workflow.yaml"
    params:
        code=PLAN.code(
            "write_page.py",
            None,
            *(f"paragone.reporting.figures.{name}" for name in PLAN.exhibits[FIGURES]),
        ),
        outline=lambda _: PLAN.outline(),
        results=lambda _, output: os.path.dirname(output[0]),
        manifests=lambda _, input: [*input.get("manifests", [])],
        options=lambda _: PLAN.page_options(workflow.configfiles),
    message:
        "Writing the page"
    shell:
        r"""
        python {params.code[0]:q} \
            --results {params.results:q} \
            --logs {params.results:q}/logs/runs \
            @<(printf '%s\n' --outline {params.outline:q}) \
            {params.options:q} \
            --manifests {params.manifests:q} \
            --output {output.page:q} \
            >{log:q} 2>&1
        """


use rule page as page_so_far with:
    input:
        templates=OF_PAGE,
        captions=PLAN.captions(),
        figures=PLAN.files(FIGURES, "svg", "csv", section=PLAN.primary),
        tables=PLAN.files(TABLES, "json", "csv", section=PLAN.primary),
        measured=[f"<results>/tables/{PLAN.primary}/{name}.parquet" for name in ("runs", "rounds")],
    output:
        page="<results>/so_far.html",
    log:
        "<results>/logs/so_far.log",
    priority: 1
    params:
        options=lambda _: ["--so-far", *PLAN.page_options(workflow.configfiles)],
    message:
        "Writing the page of the primary question"


use rule page as paper with:
    input:
        template=PLAN.path(f"{TEMPLATES}/paper.typ"),
        method=PLAN.path("rules/report/method.rst"),
        captions=PLAN.captions(),
        papers=[paper.files for paper in PLAN.cited().values()],
        figures=PLAN.files(FIGURES, "svg", "pdf", "csv"),
        tables=PLAN.files(TABLES, "json", "csv"),
        answers="<results>/answers.json",
        runs="<results>/tables/runs.parquet",
    output:
        page="<results>/paper.pdf",
    log:
        "<results>/logs/paper.log",
    priority: 0
    message:
        "Typesetting the paper"
