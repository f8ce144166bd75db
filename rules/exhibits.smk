# Figures and tables: one rule made for each of PLAN.exhibits (scripts/paragone/config/plan.py), since a caption
# must be known when the rule is parsed; and the answers made from tables. They read tidy tables, never records.
#
# out: <results>/figures/{experiment}/{figure}.svg, .pdf, .png, and .csv with what is drawn
#      <results>/tables/{experiment}/{table}.csv, .md, .tex, .json
#      <results>/answers.md, answers.html, answers.csv


for name, exhibit in PLAN.exhibits[FIGURES].items():

    rule:
        name:
            f"plot_{name}"
        input:
            unpack(PLAN.inputs_of(exhibit)),
        output:
            svg=report(
                f"<results>/figures/{{experiment}}/{name}.svg",
                caption=PLAN.caption(FIGURES, name),
                category=lambda wildcards: title(wildcards.experiment),
                labels={"figure": exhibit.label},
            ),
            pdf=f"<results>/figures/{{experiment}}/{name}.pdf",
            png=f"<results>/figures/{{experiment}}/{name}.png",
            points=f"<results>/figures/{{experiment}}/{name}.csv",
        log:
            f"<results>/logs/figures/{{experiment}}/{name}.log",
        priority: reading
        conda:
            "../envs/workflow.yaml"
        params:
            code=PLAN.code("plot.py", None, f"paragone.reporting.figures.{name}"),
            name=name,
            files=PLAN.files_of(exhibit),
            options=PLAN.options_of(exhibit),
        message:
            f"Drawing {exhibit.label} of {{wildcards.experiment}}"
        shell:
            r"""
            python {params.code[0]:q} {params.name:q} \
                {params.files:q} {params.options:q} \
                --output {output.svg:q} {output.pdf:q} {output.png:q} \
                --sidecar {output.points:q} \
                >{log:q} 2>&1
            """


for name, exhibit in PLAN.exhibits[TABLES].items():

    rule:
        name:
            f"tabulate_{name}"
        input:
            unpack(PLAN.inputs_of(exhibit)),
        output:
            csv=report(
                f"<results>/tables/{{experiment}}/{name}.csv",
                caption=PLAN.caption(TABLES, name),
                category=lambda wildcards: title(wildcards.experiment),
                labels={"table": exhibit.label},
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
            code=PLAN.code("write_table.py", None, f"paragone.reporting.tables.{name}"),
            name=name,
            files=PLAN.files_of(exhibit),
            options=PLAN.options_of(exhibit),
        message:
            f"Tabulating {{wildcards.experiment}}: {exhibit.label}"
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
        runs=collect("<results>/tables/{experiment}/runs.parquet", experiment=PLAN.experiments),
        differences=collect(
            "<results>/tables/{experiment}/differences.csv",
            experiment=PLAN.declaring("differences"),
        ),
        comparisons=collect(
            "<results>/tables/{experiment}/comparison.csv",
            experiment=PLAN.declaring("comparison"),
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
        code=PLAN.code("answer.py"),
        titles=lambda _: [PLAN.sections[name]["title"] for name in PLAN.experiments],
        left_out=PLAN.left_out,
    message:
        "Answering"
    shell:
        r"""
        python {params.code[0]:q} all \
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
