# Metrics: from records to tidy tables, and the published numbers beside the measured ones.
#
# in:  <results>/runs/{run}/record.json, <results>/parity/{workload}.json, published/,
#      <results>/tables/device_matmul/peaks.json, <results>/tables/{experiment}/compliance.csv
# out: <results>/tables/{experiment}/runs.parquet, epochs.parquet
#      <results>/tables/{experiment}/comparison.csv, .md, .tex; epochs.csv, .md, .tex
#      <results>/tables/runs.csv, runs.parquet, epochs.csv
#
# What only reads results has priority over training: a figure appears as soon as its runs are done.


rule collect:
    input:
        code=sources("scripts/collect.py"),
        records=records_of,
        parity=parity_of,
        peaks="<results>/tables/device_matmul/peaks.json",
        violations="<results>/tables/{experiment}/compliance.csv",
    output:
        runs="<results>/tables/{experiment}/runs.parquet",
        epochs="<results>/tables/{experiment}/epochs.parquet",
    log:
        "<results>/logs/tables/{experiment}/collect.log",
    priority: 1
    conda:
        "../envs/workflow.yaml"
    message:
        "Collecting {wildcards.experiment}"
    shell:
        r"""
        python {input.code[0]:q} \
            --experiment {wildcards.experiment:q} \
            --records {input.records:q} \
            --parity {input.parity:q} \
            --peaks {input.peaks:q} \
            --compliance {input.violations:q} \
            --runs {output.runs:q} \
            --epochs {output.epochs:q} \
            >{log:q} 2>&1
        """


rule collect_all:
    input:
        code=sources("scripts/collect_all.py"),
        runs=collect(
            "<results>/tables/{experiment}/runs.parquet",
            experiment=config["experiments"],
        ),
        epochs=collect(
            "<results>/tables/{experiment}/epochs.parquet",
            experiment=config["experiments"],
        ),
    output:
        runs=report(
            "<results>/tables/runs.csv",
            caption="report/runs.rst",
            category="All experiments",
            labels={"table": "one row a run"},
        ),
        runs_parquet="<results>/tables/runs.parquet",
        epochs="<results>/tables/epochs.csv",
    log:
        "<results>/logs/tables/collect_all.log",
    priority: 1
    conda:
        "../envs/workflow.yaml"
    message:
        "Joining the tables of all experiments"
    shell:
        r"""
        python {input.code[0]:q} \
            --tables {input.runs:q} \
            --output {output.runs:q} {output.runs_parquet:q} \
            >{log:q} 2>&1
        python {input.code[0]:q} \
            --tables {input.epochs:q} \
            --output {output.epochs:q} \
            >>{log:q} 2>&1
        """


rule compare:
    input:
        code=sources("scripts/compare_published.py"),
        runs="<results>/tables/{experiment}/runs.parquet",
        epochs="<results>/tables/{experiment}/epochs.parquet",
        published="published/published.csv",
        protocols="published/protocols.csv",
        ratios="published/ratios.csv",
        flaws="published/flaws.csv",
    output:
        csv=report(
            "<results>/tables/{experiment}/comparison.csv",
            caption="report/comparison.rst",
            category=title,
            labels={"table": "published and measured"},
        ),
        markdown="<results>/tables/{experiment}/comparison.md",
        latex="<results>/tables/{experiment}/comparison.tex",
    log:
        "<results>/logs/tables/{experiment}/compare.log",
    priority: 1
    conda:
        "../envs/workflow.yaml"
    params:
        published=published_of,
        labels=labels,
        title=title,
    message:
        "Comparing {wildcards.experiment} with the published numbers"
    shell:
        r"""
        python {input.code[0]:q} \
            --runs {input.runs:q} \
            --epochs {input.epochs:q} \
            --published {input.published:q} \
            --protocols {input.protocols:q} \
            --ratios {input.ratios:q} \
            --published-experiment {params.published:q} \
            --flaws {input.flaws:q} \
            --labels {params.labels:q} \
            --title {params.title:q} \
            --csv {output.csv:q} \
            --markdown {output.markdown:q} \
            --latex {output.latex:q} \
            >{log:q} 2>&1
        """


rule tabulate_epochs:
    input:
        code=sources("scripts/tabulate_epochs.py"),
        runs="<results>/tables/{experiment}/runs.parquet",
        epochs="<results>/tables/{experiment}/epochs.parquet",
        published="published/published.csv",
        protocols="published/protocols.csv",
    output:
        csv=report(
            "<results>/tables/{experiment}/epochs.csv",
            caption="report/epochs.rst",
            category=title,
            labels={"table": "epoch by epoch"},
        ),
        markdown="<results>/tables/{experiment}/epochs.md",
        latex="<results>/tables/{experiment}/epochs.tex",
    log:
        "<results>/logs/tables/{experiment}/epochs.log",
    priority: 1
    conda:
        "../envs/workflow.yaml"
    params:
        published=published_of,
        labels=labels,
        title=title,
    message:
        "Setting the epochs of {wildcards.experiment} beside the published ones"
    shell:
        r"""
        python {input.code[0]:q} \
            --runs {input.runs:q} \
            --epochs {input.epochs:q} \
            --published {input.published:q} \
            --protocols {input.protocols:q} \
            --published-experiment {params.published:q} \
            --labels {params.labels:q} \
            --title {params.title:q} \
            --csv {output.csv:q} \
            --markdown {output.markdown:q} \
            --latex {output.latex:q} \
            >{log:q} 2>&1
        """
