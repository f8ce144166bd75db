# Scaling: what more replicas gain, and a cost model of a step.
#
# in:  <results>/tables/{experiment}/runs.parquet of the experiments with the figure `scaling`,
#      <results>/tables/scaling_model/allreduce.parquet, the `scaling` block of the config, published/
# out: <results>/tables/scaling_model/models.json, allreduce_fit.csv  the model; its all-reduces
#      <results>/tables/scaling_model/steps.csv, .md, .tex      steps, measured and predicted
#      <results>/tables/scaling_model/published.csv, .md, .tex published speed-ups and the model
#      <results>/tables/{experiment}/scaling.csv, .md, .tex
#      <results>/figures/{experiment}/scaling.*, figures/scaling_model/scaling_model.*, beyond.*


rule fit_scaling:
    input:
        code=sources("scripts/fit_scaling.py"),
        runs=collect("<results>/tables/{experiment}/runs.parquet", experiment=SCALING),
        allreduce="<results>/tables/scaling_model/allreduce.parquet",
    output:
        models="<results>/tables/scaling_model/models.json",
        cases="<results>/tables/scaling_model/allreduce_fit.csv",
        csv=report(
            "<results>/tables/scaling_model/steps.csv",
            caption="report/scaling_steps.rst",
            category=config["scaling"]["title"],
            labels={"table": "predicted and measured steps"},
        ),
        markdown="<results>/tables/scaling_model/steps.md",
        latex="<results>/tables/scaling_model/steps.tex",
    log:
        "<results>/logs/tables/scaling_model/fit.log",
    priority: 1
    conda:
        "../envs/workflow.yaml"
    params:
        labels=scaling_labels(),
        title=config["scaling"]["title"],
    message:
        "Calibrating the cost model"
    shell:
        r"""
        python {input.code[0]:q} \
            --runs {input.runs:q} \
            --allreduce {input.allreduce:q} \
            --labels {params.labels:q} \
            --title {params.title:q} \
            --models {output.models:q} \
            --cases {output.cases:q} \
            --csv {output.csv:q} \
            --markdown {output.markdown:q} \
            --latex {output.latex:q} \
            >{log:q} 2>&1
        """


rule tabulate_scaling:
    input:
        code=sources("scripts/tabulate_scaling.py"),
        runs="<results>/tables/{experiment}/runs.parquet",
    output:
        csv=report(
            "<results>/tables/{experiment}/scaling.csv",
            caption="report/scaling_table.rst",
            category=title,
            labels={"table": "speed-up and efficiency"},
        ),
        markdown="<results>/tables/{experiment}/scaling.md",
        latex="<results>/tables/{experiment}/scaling.tex",
    log:
        "<results>/logs/tables/{experiment}/scaling.log",
    priority: 1
    conda:
        "../envs/workflow.yaml"
    params:
        labels=labels,
        title=title,
    message:
        "Tabulating the scaling of {wildcards.experiment}"
    shell:
        r"""
        python {input.code[0]:q} \
            --runs {input.runs:q} \
            --labels {params.labels:q} \
            --title {params.title:q} \
            --csv {output.csv:q} \
            --markdown {output.markdown:q} \
            --latex {output.latex:q} \
            >{log:q} 2>&1
        """


rule compare_scaling:
    input:
        code=sources("scripts/compare_scaling.py"),
        published="published/published.csv",
        protocols="published/protocols.csv",
        ratios="published/ratios.csv",
        flaws="published/flaws.csv",
    output:
        csv=report(
            "<results>/tables/scaling_model/published.csv",
            caption="report/scaling_comparison.rst",
            category=config["scaling"]["title"],
            labels={"table": "published speed-ups and the model"},
        ),
        markdown="<results>/tables/scaling_model/published.md",
        latex="<results>/tables/scaling_model/published.tex",
    log:
        "<results>/logs/tables/scaling_model/compare.log",
    priority: 1
    conda:
        "../envs/workflow.yaml"
    params:
        checks=json.dumps(config["scaling"]["checks"]),
        title=config["scaling"]["title"],
    message:
        "Holding published speed-ups against the cost model"
    shell:
        r"""
        python {input.code[0]:q} \
            --checks {params.checks:q} \
            --published {input.published:q} \
            --protocols {input.protocols:q} \
            --ratios {input.ratios:q} \
            --flaws {input.flaws:q} \
            --title {params.title:q} \
            --csv {output.csv:q} \
            --markdown {output.markdown:q} \
            --latex {output.latex:q} \
            >{log:q} 2>&1
        """


rule scaling:
    input:
        code=sources("scripts/plot_scaling.py"),
        runs="<results>/tables/{experiment}/runs.parquet",
        models="<results>/tables/scaling_model/models.json",
    output:
        svg=report(
            "<results>/figures/{experiment}/scaling.svg",
            caption="report/scaling.rst",
            category=title,
            labels={"figure": "speed-up and efficiency"},
        ),
        pdf="<results>/figures/{experiment}/scaling.pdf",
        png="<results>/figures/{experiment}/scaling.png",
        points="<results>/figures/{experiment}/scaling.csv",
    log:
        "<results>/logs/figures/{experiment}/scaling.log",
    priority: 1
    conda:
        "../envs/workflow.yaml"
    params:
        palette=palette,
        labels=labels,
        title=title,
    message:
        "Drawing the scaling of {wildcards.experiment}"
    shell:
        r"""
        python {input.code[0]:q} \
            --runs {input.runs:q} \
            --models {input.models:q} \
            --palette {params.palette:q} \
            --labels {params.labels:q} \
            --title {params.title:q} \
            --output {output.svg:q} {output.pdf:q} {output.png:q} \
            --sidecar {output.points:q} \
            >{log:q} 2>&1
        """


rule plot_scaling_model:
    input:
        code=sources("scripts/plot_scaling_model.py"),
        runs=collect("<results>/tables/{experiment}/runs.parquet", experiment=SCALING),
        steps="<results>/tables/scaling_model/steps.csv",
        cases="<results>/tables/scaling_model/allreduce_fit.csv",
    output:
        svg=report(
            "<results>/figures/scaling_model/scaling_model.svg",
            caption="report/scaling_model.rst",
            category=config["scaling"]["title"],
            labels={"figure": "all-reduces, predicted steps"},
        ),
        pdf="<results>/figures/scaling_model/scaling_model.pdf",
        png="<results>/figures/scaling_model/scaling_model.png",
        points="<results>/figures/scaling_model/scaling_model.csv",
    log:
        "<results>/logs/figures/scaling_model/scaling_model.log",
    priority: 1
    conda:
        "../envs/workflow.yaml"
    params:
        palette=scaling_palette(),
        labels=scaling_labels(),
        title=config["scaling"]["title"],
    message:
        "Drawing the cost model"
    shell:
        r"""
        python {input.code[0]:q} \
            --runs {input.runs:q} \
            --steps {input.steps:q} \
            --cases {input.cases:q} \
            --palette {params.palette:q} \
            --labels {params.labels:q} \
            --title {params.title:q} \
            --output {output.svg:q} {output.pdf:q} {output.png:q} \
            --sidecar {output.points:q} \
            >{log:q} 2>&1
        """


rule plot_scaling_beyond:
    input:
        code=sources("scripts/plot_scaling_beyond.py"),
        runs=collect("<results>/tables/{experiment}/runs.parquet", experiment=SCALING),
        models="<results>/tables/scaling_model/models.json",
    output:
        svg=report(
            "<results>/figures/scaling_model/beyond.svg",
            caption="report/scaling_beyond.rst",
            category=config["scaling"]["title"],
            labels={"figure": "predicted, up to pods"},
        ),
        pdf="<results>/figures/scaling_model/beyond.pdf",
        png="<results>/figures/scaling_model/beyond.png",
        points="<results>/figures/scaling_model/beyond.csv",
    log:
        "<results>/logs/figures/scaling_model/beyond.log",
    priority: 1
    conda:
        "../envs/workflow.yaml"
    params:
        machines=json.dumps(config["scaling"]["machines"]),
        most=config["scaling"]["most"],
        palette=scaling_palette(),
        labels=scaling_labels(),
        title=config["scaling"]["title"],
    message:
        "Predicting beyond this machine"
    shell:
        r"""
        python {input.code[0]:q} \
            --runs {input.runs:q} \
            --models {input.models:q} \
            --machines {params.machines:q} \
            --most {params.most} \
            --palette {params.palette:q} \
            --labels {params.labels:q} \
            --title {params.title:q} \
            --output {output.svg:q} {output.pdf:q} {output.png:q} \
            --sidecar {output.points:q} \
            >{log:q} 2>&1
        """
