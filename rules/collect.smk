# Collecting: what was measured is checked and becomes tidy tables, which all figures and tables read.
# Whether that waits for the last run, `reading` in common.smk says.


rule check_parity:
    input:
        reference="<results>/parity/{workload}/reference.npz",
        probes=lambda wildcards: [
            f"<results>/parity/{wildcards.workload}/{backend}.npz"
            for backend in PLAN.backends_of(wildcards.workload)
        ],
    output:
        report="<results>/parity/{workload}.json",
    log:
        "<results>/logs/parity/{workload}.log",
    priority: 1
    conda:
        "../envs/workflow.yaml"
    params:
        code=PLAN.code("check_parity.py"),
    message:
        "Comparing what the backends compute for {wildcards.workload}"
    shell:
        r"""
        python {params.code[0]:q} \
            --workload {wildcards.workload:q} \
            --reference {input.reference:q} \
            --probes {input.probes:q} \
            --output {output.report:q} \
            2>&1 | tee {log:q}
        """


rule collect_runs:
    input:
        rules=PLAN.path("rules/schemas/compliance.csv"),
        records=lambda wildcards: PLAN.records(wildcards.experiment),
        parity=lambda wildcards: PLAN.parity_reports(wildcards.experiment),
        contests=lambda wildcards: PLAN.timings(wildcards.experiment),
        products="<results>/tables/device_matmul/matmul.parquet",
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
    priority: reading
    conda:
        "../envs/workflow.yaml"
    params:
        code=PLAN.code("collect.py"),
    message:
        "Checking the records of {wildcards.experiment}"
    shell:
        r"""
        python {params.code[0]:q} runs \
            --experiment {wildcards.experiment:q} \
            --records {input.records:q} \
            --parity {input.parity:q} \
            --contests {input.contests:q} \
            --products {input.products:q} \
            --violations {output.violations:q} \
            --runs {output.runs:q} \
            --epochs {output.epochs:q} \
            --rounds {output.rounds:q} \
            >{log:q} 2>&1
        """


rule collect_products:
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
    priority: 1
    conda:
        "../envs/workflow.yaml"
    params:
        code=PLAN.code("collect.py"),
    message:
        "Collecting matrix products"
    shell:
        r"""
        python {params.code[0]:q} products \
            --results {input.results:q} \
            --output {output.csv:q} {output.parquet:q} \
            >{log:q} 2>&1
        """


rule join:
    input:
        runs=collect("<results>/tables/{experiment}/runs.parquet", experiment=PLAN.experiments),
        epochs=collect("<results>/tables/{experiment}/epochs.parquet", experiment=PLAN.experiments),
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
        code=PLAN.code("collect.py"),
    message:
        "Joining the tables of all experiments"
    shell:
        r"""
        python {params.code[0]:q} join \
            --tables {input.runs:q} --output {output.runs:q} {output.runs_parquet:q} >{log:q} 2>&1
        python {params.code[0]:q} join \
            --tables {input.epochs:q} --output {output.epochs:q} >>{log:q} 2>&1
        """
