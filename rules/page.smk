# Page and paper: answers first, then all figures, tables and runs, in one file each, from records alone.
#
#   snakemake paper
#
# in:  <results>/answers.json, <results>/tables/, <results>/figures/, <results>/runs/{run}/record.json
#      <results>/logs/runs/{run}.log                         the ends of logs, where there are logs
# out: <results>/index.html, <results>/paper.pdf, and <results>/so_far.html once the primary question is answered


rule page:
    input:
        templates=[
            PLAN.path(f"{PAGE}/{name}")
            for name in ("page.html", "first_screen.html", "run.html", "page.css", "page.js")
        ],
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
        options=lambda _, output: PLAN.page_options(output.page, workflow.configfiles),
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
        figures=PLAN.files(FIGURES, "svg", "csv", section=PLAN.primary),
        tables=PLAN.files(TABLES, "json", "csv", section=PLAN.primary),
    output:
        page="<results>/so_far.html",
    log:
        "<results>/logs/so_far.log",
    priority: 1
    message:
        "Writing the page of the primary question"


rule paper:
    input:
        template=PLAN.path(f"{PAGE}/paper.typ"),
        method=PLAN.path("rules/report/method.rst"),
        captions=PLAN.captions(),
        papers=[paper.files for paper in PLAN.cited().values()],
        figures=PLAN.files(FIGURES, "svg", "pdf", "csv"),
        tables=PLAN.files(TABLES, "json", "csv"),
        answers="<results>/answers.json",
        runs="<results>/tables/runs.parquet",
    output:
        paper="<results>/paper.pdf",
    log:
        "<results>/logs/paper.log",
    conda:
        "../envs/workflow.yaml"
    params:
        code=rules.page.params.code,
        outline=lambda _: PLAN.outline(),
        results=rules.page.params.results,
        captions=lambda _, input: os.path.dirname(input.captions[0]),
        papers=lambda _: list(PLAN.cited()),
        preset=lambda _: PLAN.overlays(workflow.configfiles),
    message:
        "Typesetting the paper"
    shell:
        r"""
        python {params.code[0]:q} \
            --results {params.results:q} \
            @<(printf '%s\n' --outline {params.outline:q}) \
            --captions {params.captions:q} \
            --preset={params.preset:q} \
            --papers {params.papers:q} \
            --output {output.paper:q} \
            >{log:q} 2>&1
        """
