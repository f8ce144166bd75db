# Measurements beside training: matrix products.
#
# in:  the section `device_matmul` of the config
# out: <results>/matmul/{backend}.json   every timed product of one backend


rule measure_products:
    input:
        schema=project("rules/schemas/matmul.schema.json"),
    output:
        result="<results>/matmul/{backend}.json",
    log:
        "<results>/logs/matmul/{backend}.log",
    priority: 1  # every experiment's tables need the peaks
    conda:
        lambda wildcards: environment(wildcards.backend)
    threads: lambda wildcards: workflow.cores
    resources:
        machine=100,
        gpu=lambda wildcards: gpus(PRODUCTS[wildcards.backend]),
    params:
        code=lambda wildcards: code_of(
            "measure_products.py",
            f"paragone.microbenchmarks.products.{PRODUCTS[wildcards.backend]['engine']}",
        ),
        backend=lambda wildcards: json.dumps(PRODUCTS[wildcards.backend]),
        products=[",".join(map(str, shape)) for shape in config["matmul"]["products"]],
        squares=lambda wildcards: squares(config, PRODUCTS[wildcards.backend]),
        precisions=config["matmul"]["precisions"],
        repeats=config["matmul"]["repeats"],
    message:
        "Multiplying matrices on {wildcards.backend}"
    shell:
        r"""
        python {params.code[0]:q} \
            --backend {params.backend:q} \
            --products {params.products:q} \
            --squares {params.squares:q} \
            --precisions {params.precisions:q} \
            --repeats {params.repeats} \
            --threads {threads} \
            --output {output.result:q} \
            2>{log:q} | tee -a {log:q}
        """
