# Figures and tables: one rule made for each of PLAN.exhibits (scripts/paragone/config/plan.py), since a caption
# must be known when the rule is parsed; and the answers made from tables. They read tidy tables, never records.

# The first file of each is shown in Snakemake's report. A table's JSON is for answers, page and paper.
MADE = {
    FIGURES: ("plot", "plot.py", "Drawing", ("svg", "pdf", "png", "csv")),
    TABLES: ("tabulate", "write_table.py", "Tabulating", ("csv", "md", "json")),
}


for kind, name in [(kind, name) for kind, rows in PLAN.exhibits.items() for name in rows]:
    exhibit = PLAN.exhibits[kind][name]
    verb, program, doing, suffixes = MADE[kind]
    shown, *others = [f"<results>/{kind}/{{experiment}}/{name}.{suffix}" for suffix in suffixes]

    rule:
        name:
            f"{verb}_{name}"
        input:
            unpack(PLAN.inputs_of(exhibit)),
        output:
            report(
                shown,
                caption=PLAN.caption(kind, name),
                category=lambda wildcards: PLAN.title(wildcards.experiment),
                labels={kind.removesuffix("s"): exhibit.label},
            ),
            others,
        log:
            f"<results>/logs/{kind}/{{experiment}}/{name}.log",
        priority: reading
        conda:
            "../envs/workflow.yaml"
        params:
            code=PLAN.code(program, None, f"paragone.reporting.{kind}.{name}"),
            name=name,
            files=PLAN.files_of(exhibit),
            options=PLAN.options_of(exhibit),
        message:
            f"{doing} {exhibit.label} of {{wildcards.experiment}}"
        shell:
            r"""
            python {params.code[0]:q} {params.name:q} {params.files:q} {params.options:q} \
                --output {output:q} >{log:q} 2>&1
            """


rule answers:
    input:
        templates=[PLAN.path(f"{TEMPLATES}/{name}") for name in ("first_screen.html", "page.css")],
        runs=collect("<results>/tables/{experiment}/runs.parquet", experiment=PLAN.experiments),
        differences=collect(
            "<results>/tables/{experiment}/differences.csv",
            experiment=PLAN.declaring("differences"),
        ),
        comparisons=collect(
            "<results>/tables/{experiment}/comparison.csv",
            experiment=PLAN.declaring("comparison"),
        ),
        published_runs=collect(
            "<results>/tables/{experiment}/comparison.json",
            experiment=PLAN.declaring("comparison"),
        ),
        rounds=collect(
            "<results>/tables/{experiment}/rounds.parquet",
            experiment=filter(PLAN.timings, PLAN.experiments),
        ),
    output:
        markdown="<results>/answers.md",
        json="<results>/answers.json",
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
        labels=lambda _: PLAN.labels(),
    message:
        "Answering"
    shell:
        r"""
        python {params.code[0]:q} all \
            --titles {params.titles:q} \
            --runs {input.runs:q} \
            --differences {input.differences:q} \
            --comparisons {input.comparisons:q} \
            --rounds {input.rounds:q} \
            --left-out {params.left_out:q} \
            {params.labels:q} \
            --markdown {output.markdown:q} \
            --html {output.html:q} \
            --json {output.json:q} \
            >{log:q} 2>&1
        """
