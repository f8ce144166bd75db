# Bundle: what was measured on this machine, and all that drawing needs, in one archive that checks itself.
#
# in:  <results>/runs/, <results>/data/*/manifest.json, <results>/parity/{workload}.json,
#      <results>/matmul/, <results>/allreduce/; the config
# out: <results>/bundle.zip


rule bundle:
    input:
        schemas=[project(f"rules/schemas/{name}.schema.json") for name in ("bundle", "record")],
        runs="<results>/tables/runs.parquet",
        records=all_records,
        files=measured_beside,
    output:
        bundle="<results>/bundle.zip",
    log:
        "<results>/logs/bundle.log",
    conda:
        "../envs/workflow.yaml"
    params:
        code=code_of("bundle.py"),
        results=subpath(output.bundle, parent=True),
        config=lambda _: json.dumps(shared_config()),
        license="https://creativecommons.org/licenses/by/4.0/",
    message:
        "Bundling what was measured"
    shell:
        r"""
        python {params.code[0]:q} write \
            --results {params.results:q} \
            --runs {input.runs:q} \
            --files {input.files:q} \
            --config {params.config:q} \
            --license {params.license:q} \
            --output {output.bundle:q} \
            2>&1 | tee {log:q}
        """
