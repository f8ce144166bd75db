# Exports, on request: runs as neighbours' tools read them.
#
#   snakemake mllog tensorboard
#
# in:  <results>/runs/{run}/record.json, <results>/tables/runs.parquet
# out: <results>/mllog/{run}.txt              MLPerf's log lines
#      <results>/tensorboard/{run}/           TensorBoard's event files

for name in ("mllog", "tensorboard"):

    rule:
        name:
            name
        input:
            runs="<results>/tables/runs.parquet",
            records=all_records,
        output:
            folder=directory(f"<results>/{name}"),
        log:
            f"<results>/logs/{name}.log",
        conda:
            "../envs/workflow.yaml"
        params:
            code=code_of("export_runs.py"),
            format=name,
            results=subpath(output.folder, parent=True),
        message:
            f"Exporting runs: {name}"
        shell:
            r"""
            python {params.code[0]:q} {params.format} \
                --results {params.results:q} --runs {input.runs:q} --output {output.folder:q} \
                2>&1 | tee {log:q}
            """
