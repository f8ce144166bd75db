# Training: what each backend computes for the parity gate, then every run of every experiment.
#
# A run asks for all of `machine` and so trains alone. scripts/launch.py starts its workers, on several
# nodes of a Slurm job if `nodes` is more than one. Its checkpoints are no declared outputs, because
# Snakemake deletes those when a job fails; an interrupted run continues from them.
# Timed jobs have unique priorities (PLAN.turns): experiment after experiment, in an order that paragone.config.questions
# draws. All are negative, so that what is not timed goes before: nothing delays one run of a pair and not the other.


# One for each backend that has versions or an environment of its own; those with the same pins share it.
rule environment:
    output:
        python="<results>/environments/{backend}.json",
    log:
        "<results>/logs/environments/{backend}.log",
    priority: 3  # as data: probes and runs wait for it
    conda:
        lambda wildcards: PLAN.environment(wildcards.backend)
    params:
        code=PLAN.code("make_environment.py", "environments"),
        job=lambda wildcards: document(**PLAN.environment_job(wildcards.backend)),
        files=lambda wildcards, input, output: files_with(
            input, output, environments=PLAN.config.pathvars.environments
        ),
    message:
        "Making the environment of {wildcards.backend}"
    shell:
        SHOWN


rule train:
    input:
        manifest=lambda wildcards: PLAN.manifest(PLAN.runs[wildcards.run]),
        weights=lambda wildcards: PLAN.weights(PLAN.runs[wildcards.run]),
        first_steps=lambda wildcards: PLAN.first_steps(PLAN.runs[wildcards.run]),
        probes=lambda wildcards: PLAN.probes_of(PLAN.runs[wildcards.run]),
        pythons=lambda wildcards: PLAN.pythons(PLAN.runs[wildcards.run].backend),
    output:
        record="<results>/runs/{run}/record.json",
        predictions="<results>/runs/{run}/predictions.npz",
    log:
        "<results>/logs/runs/{run}.log",
    priority: lambda wildcards: -PLAN.turns[wildcards.run]
    conda:
        lambda wildcards: PLAN.environment(PLAN.runs[wildcards.run].backend.name)
    threads: lambda wildcards: workflow.cores
    resources:
        machine=100,
        gpu=lambda wildcards: PLAN.runs[wildcards.run].gpus,
        # One node a worker. A profile for which that is too many says `nodes: 1`.
        nodes=lambda wildcards: PLAN.runs[wildcards.run].workers,
        tasks=lambda wildcards: PLAN.runs[wildcards.run].tasks,
        mpi=lambda wildcards: PLAN.runs[wildcards.run].tasks and "srun",
    params:
        code=lambda wildcards: PLAN.code("launch.py", "training", PLAN.runs[wildcards.run]),
        job=lambda wildcards: document(
            spec=PLAN.runs[wildcards.run], data_folder=config["data"]["folder"]
        ),
        files=lambda wildcards, input, output, threads, resources: files_with(
            input,
            output,
            threads=threads,
            nodes=resources.nodes,
            checkpoints=os.path.join(os.path.dirname(output.record), "checkpoints"),
        ),
    message:
        "Training {wildcards.run}"
    shell:
        RESUMED


rule probe:
    input:
        manifest=lambda wildcards: PLAN.manifest(PLAN.probed(wildcards)),
        weights=lambda wildcards: PLAN.weights(PLAN.probed(wildcards)),
        pythons=lambda wildcards: PLAN.pythons(PLAN.probed(wildcards).backend),
    output:
        output="<results>/parity/{workload}/{backend}.npz",
    log:
        "<results>/logs/parity/{workload}/{backend}.log",
    conda:
        lambda wildcards: PLAN.environment_of(PLAN.probed(wildcards))
    resources:
        # An accelerator belongs to one process: a probe must not meet another one, nor a run.
        machine=lambda wildcards: 1 if PLAN.probed(wildcards).backend.device == "cpu" else 100,
        gpu=lambda wildcards: PLAN.probed(wildcards).gpus,
        mem_mb=8000,  # the parity gate computes in double precision
    params:
        code=lambda wildcards: PLAN.code("probe.py", "training", PLAN.probed(wildcards)),
        job=lambda wildcards: document(
            spec=PLAN.probed(wildcards), data_folder=config["data"]["folder"]
        ),
        files=files,
    message:
        "Probing {wildcards.backend} on {wildcards.workload}"
    shell:
        PROGRESS


# One job per reference: another experiment or repeat adds files and does not change those of old runs.
use rule probe as first_steps with:
    output:
        output="<results>/parity/first_steps/{name}.npz",
    log:
        "<results>/logs/parity/first_steps/{name}.log",
    params:
        job=lambda wildcards: document(
            spec=PLAN.probed(wildcards),
            data_folder=config["data"]["folder"],
            first_steps=True,
        ),
    message:
        "Computing the first steps of {wildcards.name}"
