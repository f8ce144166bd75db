# Page: one file that answers, with all figures, tables and runs in it, from records alone.
#
# in:  <results>/answers.csv, <results>/tables/, <results>/figures/, <results>/runs/{run}/record.json
#      <results>/logs/runs/{run}.log                         the ends of logs, where there are logs
# out: <results>/index.html

PAGE = "scripts/paragone/reporting/page/templates"


rule page:
    input:
        code=code_inputs(
            "write_page.py", *(f"paragone.reporting.figures.{name}" for name in FIGURES)
        ),
        templates=[
            project(f"{PAGE}/{name}") for name in ("page.html", "run.html", "page.css", "page.js")
        ],
        captions=[project("rules/report/page.rst")]
        + [project(f"rules/report/plot_{name}.rst") for name in FIGURES]
        + [project(f"rules/report/tabulate_{name}.rst") for name in TABLES],
        figures=exhibits("figures", FIGURES, of_all(), "svg", "csv"),
        tables=exhibits("tables", TABLES, of_all(), "json", "csv"),
        answers="<results>/answers.csv",
        runs="<results>/tables/runs.parquet",
        records=all_records,
    output:
        page="<results>/index.html",
    log:
        "<results>/logs/page.log",
    priority: 1
    conda:
        "../envs/workflow.yaml"
    params:
        outline=lambda _: json.dumps(outline(FIGURES, TABLES)),
        results=subpath(output.page, parent=True),
        captions=lambda _, input: os.path.dirname(input.captions[0]),
        preset=lambda _: overlays(),
        labels=lambda _: [f"{name}={block['label']}" for name, block in config["backends"].items()],
        palette=lambda _: [f"{name}={block['color']}" for name, block in config["backends"].items()],
    message:
        "Writing the page"
    shell:
        r"""
        python {input.code[0]:q} \
            --results {params.results:q} \
            --outline {params.outline:q} \
            --answers {input.answers:q} \
            --runs {input.runs:q} \
            --logs {params.results:q}/logs/runs \
            --captions {params.captions:q} \
            --preset {params.preset:q} \
            --labels {params.labels:q} \
            --palette {params.palette:q} \
            --output {output.page:q} \
            >{log:q} 2>&1
        """
