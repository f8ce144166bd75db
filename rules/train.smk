# Training: what each backend computes for the parity gate, then every run of every experiment.
#
# in:  <results>/data/{dataset}/manifest.json, and the arrays it names
#      <results>/weights/{model}.json           where a workload starts from published weights
# out: <results>/parity/{workload}/{backend}.npz   what a backend computes for the parity gate
#      <results>/parity/first_steps/{name}.npz     what the first steps of some runs should change
#      <results>/runs/{run}/record.json        the result of one run
#      <results>/runs/{run}/predictions.npz    its predictions of the first test examples
#
# A run asks for all of `machine` and so trains alone. scripts/launch.py starts its workers, on several
# nodes of a Slurm job if `nodes` is more than one. Its checkpoints are no declared outputs, because
# Snakemake deletes those when a job fails; an interrupted run continues from them.
# Runs have unique priorities, in the order that paragone.config.schedule draws. All are negative, so that
# whatever is not a run goes before: nothing delays one run of a pair and not the other.

PLACES = {name: place for place, name in enumerate(schedule(EXPERIMENTS, config["seed"]), start=1)}
# What the first steps of each run are compared with; None where draws of the framework decide them.
EXPECTED = {spec.name: first_steps(spec) for spec in RUNS.values()}
# What the reference computes of first steps, by name; runs that must agree share it.
REFERENCES = {spec.name: spec for spec in EXPECTED.values() if spec}


rule train:
    input:
        schema=project("rules/schemas/record.schema.json"),
        manifest=lambda wildcards: manifest_of(RUNS[wildcards.run]),
        weights=lambda wildcards: pretrained_of(RUNS[wildcards.run]),
        first_steps=lambda wildcards: reference_of(RUNS[wildcards.run]),
    output:
        record="<results>/runs/{run}/record.json",
        predictions="<results>/runs/{run}/predictions.npz",
    log:
        "<results>/logs/runs/{run}.log",
    priority: lambda wildcards: -PLACES[wildcards.run]
    conda:
        lambda wildcards: environment(RUNS[wildcards.run].backend["name"])
    threads: lambda wildcards: workflow.cores
    resources:
        machine=100,
        gpu=lambda wildcards: gpus(RUNS[wildcards.run].backend, RUNS[wildcards.run].replicas),
        # One node a worker. A profile for which that is too many says `nodes: 1`.
        nodes=lambda wildcards: RUNS[wildcards.run].workers,
        tasks=lambda wildcards: several(RUNS[wildcards.run].workers),
        mpi=lambda wildcards: several(RUNS[wildcards.run].workers) and "srun",
    params:
        code=lambda wildcards: engine_code("launch.py", RUNS[wildcards.run], "train"),
        spec=lambda wildcards: RUNS[wildcards.run].to_json(),
        data_folder=config["data"]["folder"],
        weights=lambda _, input: [f"--weights={path}" for path in input.weights],
        first_steps=lambda _, input: [f"--first-steps={path}" for path in input.first_steps],
        checkpoints=subpath(output.record, parent=True),
        window=config["speed_window"],
        # Depends on `input` in form alone: another place in the order is no reason to train again.
        place=lambda wildcards, input: PLACES[wildcards.run],
        places=lambda wildcards, input: len(PLACES),
    message:
        "Training {wildcards.run}"
    shell:
        r"""
        python {params.code[0]:q} \
            --spec {params.spec:q} \
            --manifest {input.manifest:q} \
            --data-folder {params.data_folder:q} \
            {params.weights:q} \
            {params.first_steps:q} \
            --checkpoints {params.checkpoints:q}/checkpoints \
            --threads {threads} \
            --window-seconds {params.window[seconds]} \
            --window-limit {params.window[limit_seconds]} \
            --place {params.place} \
            --places {params.places} \
            --nodes {resources.nodes} \
            --record {output.record:q} \
            --predictions {output.predictions:q} \
            2>>{log:q} | {{ tee -a {log:q} || true; }} # a full disk of logs must not cost the run
        """


for name in dict.fromkeys(["reference", *(spec.backend["name"] for spec in RUNS.values())]):

    rule:
        name:
            f"probe_{name}"
        input:
            manifests=sorted({manifest_of(spec) for spec in probes(name)}),
            weights=sorted({path for spec in probes(name) for path in pretrained_of(spec)}),
        output:
            probes=[f"<results>/parity/{spec.workload['name']}/{name}.npz" for spec in probes(name)],
        log:
            f"<results>/logs/parity/{name}.log",
        conda:
            environment(name)
        resources:
            # An accelerator belongs to one process: a probe must not meet another one, nor a run.
            machine=1 if probes(name)[0].backend["device"] == "cpu" else 100,
            gpu=gpus(probes(name)[0].backend, probes(name)[0].replicas),
            mem_mb=8000,  # the parity gate computes in double precision
        params:
            code=engine_code("probe.py", probes(name)[0]),
            specs=lambda _, name=name: [spec.to_json() for spec in probes(name)],
            data_folder=config["data"]["folder"],
            weights=lambda _, input: [f"--weights={path}" for path in input.weights],
        message:
            f"Probing {name}"
        shell:
            r"""
            python {params.code[0]:q} \
                --specs {params.specs:q} \
                --manifests {input.manifests:q} \
                --data-folder {params.data_folder:q} \
                {params.weights:q} \
                --outputs {output.probes:q} \
                2>{log:q} | tee -a {log:q}
            """


rule first_steps:
    # One job per reference: another experiment or repeat adds files and does not change those of old runs.
    input:
        manifest=lambda wildcards: manifest_of(REFERENCES[wildcards.name]),
        weights=lambda wildcards: pretrained_of(REFERENCES[wildcards.name]),
    output:
        "<results>/parity/first_steps/{name}.npz",
    log:
        "<results>/logs/parity/first_steps/{name}.log",
    conda:
        environment("reference")
    resources:
        mem_mb=8000,
    params:
        code=lambda wildcards: engine_code("take_first_steps.py", REFERENCES[wildcards.name]),
        spec=lambda wildcards: REFERENCES[wildcards.name].to_json(),
        data_folder=config["data"]["folder"],
        weights=lambda _, input: [f"--weights={path}" for path in input.weights],
    message:
        "Computing the first steps of {wildcards.name}"
    shell:
        r"""
        python {params.code[0]:q} \
            --spec {params.spec:q} \
            --manifest {input.manifest:q} \
            --data-folder {params.data_folder:q} \
            {params.weights:q} \
            --output {output:q} \
            2>{log:q} | tee -a {log:q}
        """
