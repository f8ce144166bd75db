# Figures: one rule, one program and one caption each. They read tables, never records.
#
# in:  <results>/tables/{experiment}/runs.parquet, epochs.parquet; for the grid predictions.npz
# out: <results>/figures/{experiment}/{figure}.svg, .pdf, .png, and .csv with what is drawn


rule learning_curves:
    input:
        code=sources("scripts/plot_learning_curves.py"),
        runs="<results>/tables/{experiment}/runs.parquet",
        epochs="<results>/tables/{experiment}/epochs.parquet",
        published="published/published.csv",
        protocols="published/protocols.csv",
    output:
        svg=report(
            "<results>/figures/{experiment}/learning_curves.svg",
            caption="report/learning_curves.rst",
            category=title,
            labels={"figure": "learning curves"},
        ),
        pdf="<results>/figures/{experiment}/learning_curves.pdf",
        png="<results>/figures/{experiment}/learning_curves.png",
        points="<results>/figures/{experiment}/learning_curves.csv",
    log:
        "<results>/logs/figures/{experiment}/learning_curves.log",
    priority: 1
    conda:
        "../envs/workflow.yaml"
    params:
        published=published_of,
        palette=palette,
        labels=labels,
        title=title,
    message:
        "Drawing learning curves of {wildcards.experiment}"
    shell:
        r"""
        python {input.code[0]:q} \
            --runs {input.runs:q} \
            --epochs {input.epochs:q} \
            --published {input.published:q} \
            --protocols {input.protocols:q} \
            --published-experiment {params.published:q} \
            --palette {params.palette:q} \
            --labels {params.labels:q} \
            --title {params.title:q} \
            --output {output.svg:q} {output.pdf:q} {output.png:q} \
            --sidecar {output.points:q} \
            >{log:q} 2>&1
        """


rule throughput:
    input:
        code=sources("scripts/plot_throughput.py"),
        runs="<results>/tables/{experiment}/runs.parquet",
    output:
        svg=report(
            "<results>/figures/{experiment}/throughput.svg",
            caption="report/throughput.rst",
            category=title,
            labels={"figure": "steady throughput"},
        ),
        pdf="<results>/figures/{experiment}/throughput.pdf",
        png="<results>/figures/{experiment}/throughput.png",
        points="<results>/figures/{experiment}/throughput.csv",
    log:
        "<results>/logs/figures/{experiment}/throughput.log",
    priority: 1
    conda:
        "../envs/workflow.yaml"
    params:
        palette=palette,
        labels=labels,
        title=title,
    message:
        "Drawing steady throughput of {wildcards.experiment}"
    shell:
        r"""
        python {input.code[0]:q} \
            --runs {input.runs:q} \
            --palette {params.palette:q} \
            --labels {params.labels:q} \
            --title {params.title:q} \
            --output {output.svg:q} {output.pdf:q} {output.png:q} \
            --sidecar {output.points:q} \
            >{log:q} 2>&1
        """


rule clocks:
    input:
        code=sources("scripts/plot_clocks.py"),
        runs="<results>/tables/{experiment}/runs.parquet",
    output:
        svg=report(
            "<results>/figures/{experiment}/clocks.svg",
            caption="report/clocks.rst",
            category=title,
            labels={"figure": "where the time goes"},
        ),
        pdf="<results>/figures/{experiment}/clocks.pdf",
        png="<results>/figures/{experiment}/clocks.png",
        points="<results>/figures/{experiment}/clocks.csv",
    log:
        "<results>/logs/figures/{experiment}/clocks.log",
    priority: 1
    conda:
        "../envs/workflow.yaml"
    params:
        palette=palette,
        labels=labels,
        title=title,
    message:
        "Drawing where the time goes of {wildcards.experiment}"
    shell:
        r"""
        python {input.code[0]:q} \
            --runs {input.runs:q} \
            --palette {params.palette:q} \
            --labels {params.labels:q} \
            --title {params.title:q} \
            --output {output.svg:q} {output.pdf:q} {output.png:q} \
            --sidecar {output.points:q} \
            >{log:q} 2>&1
        """


rule predictions:
    input:
        code=sources("scripts/plot_predictions.py"),
        runs="<results>/tables/{experiment}/runs.parquet",
        predictions=predictions_of,
        manifest=manifests_of,
    output:
        svg=report(
            "<results>/figures/{experiment}/predictions.svg",
            caption="report/predictions.rst",
            category=title,
            labels={"figure": "predictions"},
        ),
        pdf="<results>/figures/{experiment}/predictions.pdf",
        png="<results>/figures/{experiment}/predictions.png",
        points="<results>/figures/{experiment}/predictions.csv",
    log:
        "<results>/logs/figures/{experiment}/predictions.log",
    priority: 1
    conda:
        "../envs/workflow.yaml"
    params:
        palette=palette,
        labels=labels,
        title=title,
    message:
        "Drawing predictions of {wildcards.experiment}"
    shell:
        r"""
        python {input.code[0]:q} \
            --runs {input.runs:q} \
            --predictions {input.predictions:q} \
            --class-names {input.manifest:q} \
            --palette {params.palette:q} \
            --labels {params.labels:q} \
            --title {params.title:q} \
            --output {output.svg:q} {output.pdf:q} {output.png:q} \
            --sidecar {output.points:q} \
            >{log:q} 2>&1
        """
