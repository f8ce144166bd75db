# Joining: the tidy tables of all experiments as one, and the cost model made from those that scale.
#
# in:  <results>/tables/{experiment}/runs.parquet, epochs.parquet, <results>/tables/scaling_model/allreduce.parquet
# out: <results>/tables/runs.csv, runs.parquet, epochs.csv
#      <results>/tables/scaling_model/models.json, steps.parquet, allreduce_fit.csv, .parquet


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


rule calibrate:
    input:
        runs=collect("<results>/tables/{experiment}/runs.parquet", experiment=SCALING),
        all_reduces="<results>/tables/scaling_model/allreduce.parquet",
    output:
        models="<results>/tables/scaling_model/models.json",
        steps="<results>/tables/scaling_model/steps.parquet",
        fit=multiext("<results>/tables/scaling_model/allreduce_fit", ".csv", ".parquet"),
    log:
        "<results>/logs/tables/scaling_model/calibrate.log",
    priority: reading
    conda:
        "../envs/workflow.yaml"
    params:
        code=code_of("calibrate.py"),
    message:
        "Calibrating the cost model"
    shell:
        r"""
        python {params.code[0]:q} \
            --runs {input.runs:q} \
            --all-reduces {input.all_reduces:q} \
            --models {output.models:q} \
            --steps {output.steps:q} \
            --all-reduce-fit {output.fit:q} \
            >{log:q} 2>&1
        """
