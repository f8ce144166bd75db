# Collecting: what was measured is checked and becomes tidy tables, which all figures and tables read. That and what
# follows has a positive priority: the tables of an experiment that is done come before the next run.


rule check_parity:
    input:
        probes=lambda wildcards: PLAN.probes_of(*PLAN.runs_on(wildcards.workload)),
    output:
        report="<results>/parity/{workload}.json",
    log:
        "<results>/logs/parity/{workload}.log",
    priority: 1
    conda:
        "../envs/workflow.yaml"
    params:
        code=PLAN.code("check_parity.py", "gate"),
        job=lambda wildcards: document(workload=wildcards.workload),
        files=files,
    message:
        "Comparing what the backends compute for {wildcards.workload}"
    shell:
        SHOWN


rule join:
    input:
        runs=collect("<results>/tables/{experiment}/runs.parquet", experiment=PLAN.experiments),
        epochs=collect("<results>/tables/{experiment}/epochs.parquet", experiment=PLAN.experiments),
        products="<results>/tables/device_matmul/matmul.parquet",
    output:
        all_runs=report(
            "<results>/tables/runs.csv",
            caption="report/runs.rst",
            category="All experiments",
            labels={"table": "one row per run"},
        ),
        all_runs_parquet="<results>/tables/runs.parquet",
        all_epochs="<results>/tables/epochs.csv",
    log:
        "<results>/logs/tables/join.log",
    priority: 1
    conda:
        "../envs/workflow.yaml"
    params:
        code=PLAN.code("collect.py", "analysis"),
        job=lambda _: document(type="join"),
        files=files,
    message:
        "Joining the tables of all experiments"
    shell:
        QUIET


use rule join as collect_products with:
    input:
        results=collect("<results>/matmul/{backend}.json", backend=list(PLAN.products)),
    output:
        csv=report(
            "<results>/tables/device_matmul/matmul.csv",
            caption="report/matmul_runs.rst",
            category=lambda _: PLAN.title("device_matmul"),
            labels={"table": "one row per timed run"},
        ),
        parquet="<results>/tables/device_matmul/matmul.parquet",
    log:
        "<results>/logs/tables/device_matmul/collect.log",
    params:
        job=lambda _: document(type="products"),
    message:
        "Collecting matrix products"


use rule join as collect_runs with:
    input:
        records=lambda wildcards: PLAN.records(wildcards.experiment),
        parity=lambda wildcards: PLAN.parity_reports(wildcards.experiment),
        contests=lambda wildcards: PLAN.timings(wildcards.experiment),
    output:
        violations=report(
            "<results>/tables/{experiment}/compliance.csv",
            caption="report/compliance.rst",
            category=lambda wildcards: PLAN.title(wildcards.experiment),
            labels={"table": "measurement rules broken"},
        ),
        runs="<results>/tables/{experiment}/runs.parquet",
        epochs="<results>/tables/{experiment}/epochs.parquet",
        rounds="<results>/tables/{experiment}/rounds.parquet",
    log:
        "<results>/logs/tables/{experiment}/collect.log",
    params:
        job=lambda wildcards: document(type="runs", experiment=wildcards.experiment),
        content=content_of(PLAN.path("rules/schemas/compliance.csv")),
    message:
        "Checking the records of {wildcards.experiment}"
