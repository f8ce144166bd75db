# Figures of single experiments: epoch time, batch sizes. They read tables, never records.
#
# in:  <results>/tables/{experiment}/runs.parquet, epochs.parquet; published/
# out: <results>/figures/{experiment}/{figure}.svg, .pdf, .png, and .csv with what is drawn


rule epoch_time:
    input:
        code=sources("scripts/plot_epoch_time.py"),
        runs="<results>/tables/{experiment}/runs.parquet",
        epochs="<results>/tables/{experiment}/epochs.parquet",
        published="published/published.csv",
        protocols="published/protocols.csv",
        ratios="published/ratios.csv",
    output:
        svg=report(
            "<results>/figures/{experiment}/epoch_time.svg",
            caption="report/epoch_time.rst",
            category=title,
            labels={"figure": "epoch time"},
        ),
        pdf="<results>/figures/{experiment}/epoch_time.pdf",
        png="<results>/figures/{experiment}/epoch_time.png",
        points="<results>/figures/{experiment}/epoch_time.csv",
    log:
        "<results>/logs/figures/{experiment}/epoch_time.log",
    priority: 1
    conda:
        "../envs/workflow.yaml"
    params:
        published=published_of,
        palette=palette,
        labels=labels,
        title=title,
    message:
        "Drawing epoch times of {wildcards.experiment}"
    shell:
        r"""
        python {input.code[0]:q} \
            --runs {input.runs:q} \
            --epochs {input.epochs:q} \
            --published {input.published:q} \
            --protocols {input.protocols:q} \
            --ratios {input.ratios:q} \
            --published-experiment {params.published:q} \
            --palette {params.palette:q} \
            --labels {params.labels:q} \
            --title {params.title:q} \
            --output {output.svg:q} {output.pdf:q} {output.png:q} \
            --sidecar {output.points:q} \
            >{log:q} 2>&1
        """


rule batch_size_throughput:
    input:
        code=sources("scripts/plot_batch_size_throughput.py"),
        runs="<results>/tables/{experiment}/runs.parquet",
        published="published/published.csv",
        protocols="published/protocols.csv",
    output:
        svg=report(
            "<results>/figures/{experiment}/batch_size_throughput.svg",
            caption="report/batch_size_throughput.rst",
            category=title,
            labels={"figure": "throughput by batch size"},
        ),
        pdf="<results>/figures/{experiment}/batch_size_throughput.pdf",
        png="<results>/figures/{experiment}/batch_size_throughput.png",
        points="<results>/figures/{experiment}/batch_size_throughput.csv",
    log:
        "<results>/logs/figures/{experiment}/batch_size_throughput.log",
    priority: 1
    conda:
        "../envs/workflow.yaml"
    params:
        published=published_of,
        palette=palette,
        labels=labels,
        title=title,
    message:
        "Drawing throughput by batch size of {wildcards.experiment}"
    shell:
        r"""
        python {input.code[0]:q} \
            --runs {input.runs:q} \
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


rule time_to_target:
    input:
        code=sources("scripts/plot_time_to_target.py"),
        runs="<results>/tables/{experiment}/runs.parquet",
        epochs="<results>/tables/{experiment}/epochs.parquet",
    output:
        svg=report(
            "<results>/figures/{experiment}/time_to_target.svg",
            caption="report/time_to_target.rst",
            category=title,
            labels={"figure": "time to target"},
        ),
        pdf="<results>/figures/{experiment}/time_to_target.pdf",
        png="<results>/figures/{experiment}/time_to_target.png",
        points="<results>/figures/{experiment}/time_to_target.csv",
    log:
        "<results>/logs/figures/{experiment}/time_to_target.log",
    priority: 1
    conda:
        "../envs/workflow.yaml"
    params:
        palette=palette,
        labels=labels,
        title=title,
    message:
        "Drawing time to target of {wildcards.experiment}"
    shell:
        r"""
        python {input.code[0]:q} \
            --runs {input.runs:q} \
            --epochs {input.epochs:q} \
            --palette {params.palette:q} \
            --labels {params.labels:q} \
            --title {params.title:q} \
            --output {output.svg:q} {output.pdf:q} {output.png:q} \
            --sidecar {output.points:q} \
            >{log:q} 2>&1
        """
