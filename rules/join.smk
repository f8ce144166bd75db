# Joining: the tidy tables of all experiments as one.
#
# in:  <results>/tables/{experiment}/runs.parquet, epochs.parquet
# out: <results>/tables/runs.csv, runs.parquet, epochs.csv


rule join:
    input:
        runs=collect("<results>/tables/{experiment}/runs.parquet", experiment=EXPERIMENTS),
        epochs=collect("<results>/tables/{experiment}/epochs.parquet", experiment=EXPERIMENTS),
    output:
        runs=report(
            "<results>/tables/runs.csv",
            caption="report/runs.rst",
            category="All experiments",
            labels={"table": "one row per run"},
        ),
        runs_parquet="<results>/tables/runs.parquet",
        epochs="<results>/tables/epochs.csv",
    log:
        "<results>/logs/tables/join.log",
    priority: reading
    conda:
        "../envs/workflow.yaml"
    params:
        code=code_of("collect.py"),
    message:
        "Joining the tables of all experiments"
    shell:
        r"""
        python {params.code[0]:q} join \
            --tables {input.runs:q} \
            --output {output.runs:q} {output.runs_parquet:q} \
            >{log:q} 2>&1
        python {params.code[0]:q} join \
            --tables {input.epochs:q} \
            --output {output.epochs:q} \
            >>{log:q} 2>&1
        """
