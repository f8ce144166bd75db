# Ahead of time: training steps compiled for machines that are not there. Nothing of it reads data, and nothing
# runs but what validates the method on this machine.
#
#   snakemake ahead_of_time --cores 2
#
# in:  the `ahead_of_time` block of the config
# out: <results>/ahead_of_time/programs/{program}.mlir, .json   a step as StableHLO, and what it is
#      <results>/ahead_of_time/{program}.{target}.json          what a compiler says of it
#      <results>/ahead_of_time/largest/{program}.{target}.json  how large a batch fits
#      <results>/ahead_of_time/measured/{program}.json          a step that this machine's CPU ran: validation

# The environment of each compiler.
COMPILERS = {"tpu": "jax-tpu", "cuda": "jax-cuda", "cpu": "jax"}


rule export_step:
    output:
        stablehlo="<results>/ahead_of_time/programs/{program}.mlir",
        description="<results>/ahead_of_time/programs/{program}.json",
    log:
        "<results>/logs/ahead_of_time/{program}.log",
    conda:
        lambda wildcards: environment(PROGRAMS[wildcards.program].spec.backend["name"])
    resources:
        mem_mb=6000,
    params:
        code=lambda wildcards: code_of(
            "export_step.py", exporter_of(PROGRAMS[wildcards.program].spec.backend["engine"])
        ),
        program=lambda wildcards: PROGRAMS[wildcards.program].to_json(),
    message:
        "Exporting {wildcards.program}"
    shell:
        r"""
        python {params.code[0]:q} \
            --program {params.program:q} \
            --stablehlo {output.stablehlo:q} \
            --description {output.description:q} \
            2>{log:q} | tee -a {log:q}
        """


rule compile_step:
    input:
        schema=project("rules/schemas/compilation.schema.json"),
        stablehlo="<results>/ahead_of_time/programs/{program}.mlir",
        description="<results>/ahead_of_time/programs/{program}.json",
    output:
        record="<results>/ahead_of_time/{program}.{target}.json",
    log:
        "<results>/logs/ahead_of_time/{program}.{target}.log",
    conda:
        lambda wildcards: f"../envs/{COMPILERS[TARGETS[wildcards.target]['compiler']]}.yaml"
    resources:
        mem_mb=6000,
    params:
        code=lambda wildcards: code_of(
            "compile_step.py", compiler_of(TARGETS[wildcards.target]["compiler"])
        ),
        target=lambda wildcards: json.dumps(TARGETS[wildcards.target]),
    message:
        "Compiling {wildcards.program} for {wildcards.target}"
    shell:
        r"""
        python {params.code[0]:q} \
            --stablehlo {input.stablehlo:q} \
            --description {input.description:q} \
            --target {params.target:q} \
            --record {output.record:q} \
            2>{log:q} | tee -a {log:q}
        """


rule find_largest_batch:
    input:
        schema=project("rules/schemas/largest_batch.schema.json"),
    output:
        record="<results>/ahead_of_time/largest/{program}.{target}.json",
    log:
        "<results>/logs/ahead_of_time/largest/{program}.{target}.log",
    conda:
        lambda wildcards: f"../envs/{COMPILERS[TARGETS[wildcards.target]['compiler']]}.yaml"
    resources:
        mem_mb=6000,
    params:
        code=lambda wildcards: code_of(
            "find_largest_batch.py",
            exporter_of(PROGRAMS[wildcards.program].spec.backend["engine"]),
            compiler_of(TARGETS[wildcards.target]["compiler"]),
        ),
        program=lambda wildcards: PROGRAMS[wildcards.program].to_json(),
        target=lambda wildcards: json.dumps(TARGETS[wildcards.target]),
    message:
        "Searching the largest batch of {wildcards.program} for {wildcards.target}"
    shell:
        r"""
        python {params.code[0]:q} \
            --program {params.program:q} \
            --target {params.target:q} \
            --record {output.record:q} \
            2>{log:q} | tee -a {log:q}
        """


rule measure_step:
    input:
        schema=project("rules/schemas/measured_step.schema.json"),
        stablehlo="<results>/ahead_of_time/programs/{program}.mlir",
        description="<results>/ahead_of_time/programs/{program}.json",
    output:
        result="<results>/ahead_of_time/measured/{program}.json",
    log:
        "<results>/logs/ahead_of_time/measured/{program}.log",
    priority: 1  # no training run is delayed by it
    conda:
        "../envs/jax.yaml"
    threads: lambda wildcards: workflow.cores
    resources:
        machine=100,
        mem_mb=6000,
    params:
        code=code_of("measure_step.py"),
    message:
        "Measuring {wildcards.program}"
    shell:
        r"""
        python {params.code[0]:q} \
            --stablehlo {input.stablehlo:q} \
            --description {input.description:q} \
            --threads {threads} \
            --output {output.result:q} \
            2>{log:q} | tee -a {log:q}
        """


rule ahead_of_time:
    input:
        declared("figures", FIGURES, STUDIES),
        declared("tables", TABLES, STUDIES),
