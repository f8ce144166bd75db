# Evidence: do the records obey the measurement rules, and which backend is really better?
#
# in:  <results>/runs/{run}/record.json, <results>/parity/{workload}.json, rules/schemas/
#      <results>/tables/{experiment}/runs.parquet
# out: <results>/tables/{experiment}/compliance.csv              what breaks the rules; all else needs it
#      <results>/tables/{experiment}/differences.csv, .md, .tex  backends two by two


rule check_records:
    input:
        code=sources("scripts/check_records.py"),
        rules="rules/schemas/compliance.csv",
        schema="rules/schemas/record.schema.json",
        records=records_of,
        parity=parity_of,
    output:
        violations=report(
            "<results>/tables/{experiment}/compliance.csv",
            caption="report/compliance.rst",
            category=title,
            labels={"table": "measurement rules broken"},
        ),
    log:
        "<results>/logs/tables/{experiment}/check_records.log",
    priority: 1
    conda:
        "../envs/workflow.yaml"
    message:
        "Checking the records of {wildcards.experiment}"
    shell:
        r"""
        python {input.code[0]:q} \
            --experiment {wildcards.experiment:q} \
            --parity {input.parity:q} \
            --output {output.violations:q} \
            -- {input.records:q} \
            >{log:q} 2>&1
        """


rule compare_backends:
    input:
        code=sources("scripts/compare_backends.py"),
        runs="<results>/tables/{experiment}/runs.parquet",
    output:
        csv=report(
            "<results>/tables/{experiment}/differences.csv",
            caption="report/differences.rst",
            category=title,
            labels={"table": "which backend is faster, more accurate"},
        ),
        markdown="<results>/tables/{experiment}/differences.md",
        latex="<results>/tables/{experiment}/differences.tex",
    log:
        "<results>/logs/tables/{experiment}/compare_backends.log",
    priority: 1
    conda:
        "../envs/workflow.yaml"
    params:
        labels=labels,
        title=title,
    message:
        "Comparing the backends of {wildcards.experiment} with each other"
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
