# Figures and tables: one job for each section of PLAN.sections, and one for those that need matrix products. Their rules
# are made in a loop, since captions must be known when a rule is parsed. And the answers made from tables.

# The first file of each is shown in Snakemake's report. A table's JSON is for answers, page and paper.
SUFFIXES = {FIGURES: ("svg", "pdf", "png", "csv"), TABLES: ("csv", "md", "json")}


for section, drawn, exhibits in PLAN.drawings():

    rule:
        name:
            f"draw_{drawn}"
        input:
            **PLAN.read_by(section, exhibits),
        output:
            [
                report(
                    f"<results>/{kind}/{section}/{name}.{SUFFIXES[kind][0]}",
                    caption=PLAN.caption(kind, name),
                    category=PLAN.title(section),
                    labels={kind.removesuffix("s"): exhibit.label},
                )
                for kind, name, exhibit in exhibits
            ],
            [
                f"<results>/{kind}/{section}/{name}.{suffix}"
                for kind, name, _ in exhibits
                for suffix in SUFFIXES[kind][1:]
            ],
        log:
            f"<results>/logs/exhibits/{drawn}.log",
        priority: 1
        conda:
            "../envs/workflow.yaml"
        params:
            code=PLAN.code("draw.py", "reporting"),
            job=lambda _, of=(section, exhibits): document(**PLAN.drawing(*of)),
            content=content_of(*PLAN.reads[PUBLISHED](section)),
            files=lambda _, input, output, section=section: files_with(
                {},
                {},
                files={**input},
                results=output[0].rsplit("/", 3)[0],
                paper=PLAN.paper_of(section),
            ),
        message:
            f"Drawing and tabulating {drawn}"
        shell:
            PROGRESS


use rule join as answers with:
    input:
        tables=[
            f"<results>/tables/{experiment}/{file}"
            for file, experiments in (
                ("runs.parquet", PLAN.experiments),
                ("differences.csv", PLAN.declaring("differences")),
                ("comparison.csv", PLAN.declaring("comparison")),
                ("comparison.json", PLAN.declaring("comparison")),
                ("rounds.parquet", filter(PLAN.timings, PLAN.experiments)),
            )
            for experiment in experiments
        ],
    output:
        markdown=report(
            "<results>/answers.md",
            caption="report/answers.rst",
            category="Answers",
        ),
        json="<results>/answers.json",
    log:
        "<results>/logs/answers.log",
    params:
        code=PLAN.code("answer.py", "reporting"),
        job=lambda _: document(
            type="tables",
            titles={name: PLAN.sections[name].title for name in PLAN.experiments},
            left_out=PLAN.left_out,
            **PLAN.shown_as(),
        ),
    message:
        "Answering"
