# Bundles: tidy tables of machines that are elsewhere, each made apart and then put one below the other.
#
#   snakemake figures --config 'bundles=[a.zip, b.zip]'
#
# in:  the archives that `bundles` in the config names
# out: <results>/bundles/{label}/                             checked, unpacked, tabulated
#      <results>/tables/{experiment}/runs.parquet, epochs.parquet
#      <results>/tables/device_matmul/matmul.csv, .parquet
#      <results>/tables/scaling_model/allreduce.csv, .parquet

for label, path in BUNDLES.items():

    rule:
        name:
            f"unbundle_{label}"
        input:
            bundle=str(path),
        output:
            tables=tables_of_bundle(label),
            runs=files_of_bundle(label),
        log:
            f"<results>/logs/bundles/{label}.log",
        conda:
            "../envs/workflow.yaml"
        params:
            code=code_of("unbundle.py"),
            label=label,
            folder=lambda _, output: os.path.dirname(os.path.dirname(output.tables[0])),
        message:
            f"Unpacking bundle {label}"
        shell:
            r"""
            python {params.code[0]:q} \
                --bundle {input.bundle:q} --label {params.label:q} --output {params.folder:q} \
                2>&1 | tee {log:q}
            """


for name, suffixes, sources in gathered():

    rule:
        name:
            f"gather_{name.replace('/', '_')}"
        input:
            tables=sources,
        output:
            [f"<results>/tables/{name}.{suffix}" for suffix in suffixes],
        log:
            f"<results>/logs/tables/{name}.log",
        conda:
            "../envs/workflow.yaml"
        params:
            code=code_of("collect.py"),
        message:
            f"Gathering {name}"
        shell:
            r"""
            python {params.code[0]:q} gather --tables {input.tables:q} --output {output:q} \
                >{log:q} 2>&1
            """
