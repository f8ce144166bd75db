# Training: the parity gate of each workload, then every run of every experiment.
#
# in:  <results>/data/{dataset}/manifest.json, and the arrays it names
#      <results>/weights/{model}.json           where a workload starts from published weights
# out: <results>/parity/{workload}.json        does each backend compute the same?
#      <results>/runs/{run}/record.json        the result of one run
#      <results>/runs/{run}/predictions.npz    its predictions of the first test examples
#
# A run asks for all of `machine` and so trains alone. Its workers are started by scripts/launch.py, on
# more than one of the nodes of a Slurm job if `nodes` says so. Its checkpoints lie beside the declared
# outputs, because Snakemake deletes those when a job fails; an interrupted run goes on from them.
# Later repeats have lower priority: all first ones run before any second one, so that a machine that
# slows down over the hours slows every backend alike.


rule train:
    input:
        code=lambda wildcards: engine_sources(
            "scripts/launch.py", RUNS[wildcards.run], "train"
        ),
        schema="rules/schemas/record.schema.json",
        manifest=lambda wildcards: (
            f"<results>/data/{RUNS[wildcards.run].workload['dataset']}/manifest.json"
        ),
        weights=lambda wildcards: pretrained_of(RUNS[wildcards.run]),
    output:
        record="<results>/runs/{run}/record.json",
        predictions="<results>/runs/{run}/predictions.npz",
    log:
        "<results>/logs/runs/{run}.log",
    priority: lambda wildcards: config["seed"] - RUNS[wildcards.run].seed
    conda:
        lambda wildcards: environment(RUNS[wildcards.run])
    threads: lambda wildcards: workflow.cores
    resources:
        machine=100,
        gpu=lambda wildcards: gpus(
            RUNS[wildcards.run].backend, RUNS[wildcards.run].replicas
        ),
        # One node a worker. A profile for which that is too many says `nodes: 1`.
        nodes=lambda wildcards: RUNS[wildcards.run].workers,
        tasks=lambda wildcards: several(RUNS[wildcards.run].workers),
        mpi=lambda wildcards: several(RUNS[wildcards.run].workers) and "srun",
    params:
        spec=lambda wildcards: RUNS[wildcards.run].to_json(),
        data_folder=config["data"]["folder"],
        weights=lambda _, input: [f"--weights={path}" for path in input.weights],
        checkpoints=subpath(output.record, parent=True),
    message:
        "Training {wildcards.run}"
    shell:
        r"""
        python {input.code[0]:q} \
            --spec {params.spec:q} \
            --manifest {input.manifest:q} \
            --data-folder {params.data_folder:q} \
            {params.weights:q} \
            --checkpoints {params.checkpoints:q}/checkpoints \
            --threads {threads} \
            --nodes {resources.nodes} \
            --record {output.record:q} \
            --predictions {output.predictions:q} \
            2>>{log:q} | tee -a {log:q}
        """


rule probe:
    input:
        code=lambda wildcards: engine_sources("scripts/probe.py", probe_spec(wildcards)),
        manifest=lambda wildcards: (
            f"<results>/data/{config['workloads'][wildcards.workload]['dataset']}/manifest.json"
        ),
        weights=lambda wildcards: pretrained_of(probe_spec(wildcards)),
    output:
        probe="<results>/parity/{workload}/{backend}.npz",
    log:
        "<results>/logs/parity/{workload}/{backend}.log",
    conda:
        lambda wildcards: environment(probe_spec(wildcards))
    resources:
        gpu=lambda wildcards: gpus(
            probe_spec(wildcards).backend, probe_spec(wildcards).replicas
        ),
    params:
        spec=lambda wildcards: probe_spec(wildcards).to_json(),
        data_folder=config["data"]["folder"],
        weights=lambda _, input: [f"--weights={path}" for path in input.weights],
    message:
        "Probing {wildcards.workload} on {wildcards.backend}"
    shell:
        r"""
        python {input.code[0]:q} \
            --spec {params.spec:q} \
            --manifest {input.manifest:q} \
            --data-folder {params.data_folder:q} \
            {params.weights:q} \
            --output {output.probe:q} \
            2>{log:q}
        """


rule check_parity:
    input:
        code=sources("scripts/check_parity.py"),
        reference="<results>/parity/{workload}/reference.npz",
        probes=lambda wildcards: [
            f"<results>/parity/{wildcards.workload}/{backend}.npz"
            for backend in backends_of_workload(wildcards.workload)
        ],
    output:
        report="<results>/parity/{workload}.json",
    log:
        "<results>/logs/parity/{workload}.log",
    priority: 1
    conda:
        "../envs/workflow.yaml"
    message:
        "Comparing what the backends compute for {wildcards.workload}"
    shell:
        r"""
        python {input.code[0]:q} \
            --workload {wildcards.workload:q} \
            --reference {input.reference:q} \
            --probes {input.probes:q} \
            --output {output.report:q} \
            2>&1 | tee {log:q}
        """
