# Tables: a row each, one rule made over all rows, and the answers made from them. They read tidy tables,
# never records.
#
# in:  what a row names, see READS in exhibits.smk
# out: <results>/tables/{experiment}/{table}.csv, .md, .tex, .json
#      <results>/answers.md, answers.html, answers.csv
#
# A new table: a row here, its module in scripts/paragone/reporting/tables/, its caption in
# rules/report/, and its name in `tables:` of an experiment.

BESIDE_PUBLISHED = ("runs", "epochs", "published")
TABLES = {
    "comparison": Row("published and measured", BESIDE_PUBLISHED),
    "epochs": Row("epoch by epoch", BESIDE_PUBLISHED),
    "differences": Row("which backend is better", ("runs",), ("primary",)),
    "machines": Row("machine beside machine", ("runs",)),
    "spread": Row("spread over seeds", ("runs", "epochs")),
    "accuracies": Row("accuracies beside the baseline's", ("runs",), ("baseline",)),
    "scaling": Row("speed-up and efficiency", ("runs",)),
    "matmul_comparison": Row("published and measured", ("products", "published")),
    "accelerator_reference": Row("as published, and this machine", ("products", "published")),
    **rows_of_plugins("tables"),
}
leave_out_absent("tables", TABLES)
TABLES_OF_ALL = [
    "<results>/tables/runs.csv",
    "<results>/tables/runs.parquet",
    "<results>/tables/epochs.csv",
    "<results>/tables/device_matmul/matmul.csv",
    "<results>/answers.md",
]

for name, row in TABLES.items():

    rule:
        name:
            f"tabulate_{name}"
        input:
            unpack(read_by(row)),
        output:
            csv=report(
                f"<results>/tables/{{experiment}}/{name}.csv",
                caption=caption("tables", "tabulate", name),
                category=category,
                labels={"table": row.label},
            ),
            markdown=f"<results>/tables/{{experiment}}/{name}.md",
            latex=f"<results>/tables/{{experiment}}/{name}.tex",
            cells=f"<results>/tables/{{experiment}}/{name}.json",
        log:
            f"<results>/logs/tables/{{experiment}}/{name}.log",
        priority: reading
        conda:
            "../envs/workflow.yaml"
        params:
            code=code_of("write_table.py", f"paragone.reporting.tables.{name}"),
            name=name,
            files=files_of(row),
            options=options_of(row),
        message:
            f"Tabulating {{wildcards.experiment}}: {row.label}"
        shell:
            r"""
            python {params.code[0]:q} {params.name:q} \
                {params.files:q} {params.options:q} \
                --csv {output.csv:q} --markdown {output.markdown:q} --latex {output.latex:q} \
                --cells {output.cells:q} \
                >{log:q} 2>&1
            """


rule answers:
    input:
        runs=collect("<results>/tables/{experiment}/runs.parquet", experiment=EXPERIMENTS),
        differences=collect(
            "<results>/tables/{experiment}/differences.csv",
            experiment=declaring("differences"),
        ),
        comparisons=collect(
            "<results>/tables/{experiment}/comparison.csv",
            experiment=declaring("comparison"),
        ),
    output:
        markdown="<results>/answers.md",
        csv="<results>/answers.csv",
        html=report(
            "<results>/answers.html",
            caption="report/answers.rst",
            category="Answers",
        ),
    log:
        "<results>/logs/answers.log",
    priority: reading
    conda:
        "../envs/workflow.yaml"
    params:
        code=code_of("answer.py"),
        titles=lambda _: [block["title"] for block in config["experiments"].values()],
        left_out=LEFT_OUT,
    message:
        "Answering"
    shell:
        r"""
        python {params.code[0]:q} \
            --titles {params.titles:q} \
            --runs {input.runs:q} \
            --differences {input.differences:q} \
            --comparisons {input.comparisons:q} \
            --left-out {params.left_out:q} \
            --markdown {output.markdown:q} \
            --html {output.html:q} \
            --csv {output.csv:q} \
            >{log:q} 2>&1
        """
