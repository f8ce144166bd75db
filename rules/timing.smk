# Timing: contests, in which all variants of a question are alive at once and train in turn.
#
# in:  as for runs (rules/train.smk)
# out: <results>/contests/{question}/{session}/record.json   the contests of a question in one call
#
# Contests come before the runs: they answer the question that people ask first. Those that an interrupted job has
# held are kept in undeclared files beside the record.


rule contests:
    input:
        manifest=lambda wildcards: PLAN.manifest(PLAN.timed[wildcards.question].variants[0]),
        weights=lambda wildcards: PLAN.weights(PLAN.timed[wildcards.question].variants[0]),
        first_steps=lambda wildcards: sorted(
            {
                path
                for spec in PLAN.timed[wildcards.question].variants
                for path in PLAN.first_steps(spec.name)
            }
        ),
    output:
        record="<results>/contests/{question}/{session}/record.json",
    log:
        "<results>/logs/contests/{question}.{session}.log",
    priority: lambda wildcards: -PLAN.turns[wildcards.question]
    conda:
        lambda wildcards: PLAN.environment_of_contests(wildcards.question)
    threads: lambda wildcards: workflow.cores
    resources:
        machine=100,
        # Variants take turns on the same devices.
        gpu=lambda wildcards: max(
            gpus(spec.backend, spec.replicas) or 0
            for spec in PLAN.timed[wildcards.question].variants
        )
        or None,
    params:
        code=lambda wildcards: PLAN.code_of_contests(wildcards.question),
        specs=lambda wildcards: [spec.to_json() for spec in PLAN.timed[wildcards.question].variants],
        data_folder=config["data"]["folder"],
        weights=lambda _, input: [f"--weights={path}" for path in input.weights],
        contests=lambda wildcards: PLAN.timed[wildcards.question].contests,
        lengths=config["contest"],
    message:
        "Timing in turn: {wildcards.question}"
    shell:
        r"""
        python {params.code[0]:q} \
            --question {wildcards.question:q} \
            @<(printf '%s\n' --specs {params.specs:q}) \
            --manifest {input.manifest:q} \
            --data-folder {params.data_folder:q} \
            {params.weights:q} \
            --first-steps {input.first_steps:q} \
            --threads {threads} \
            --contests {params.contests} \
            --rounds {params.lengths[rounds]} \
            --seconds {params.lengths[seconds]} \
            --window {params.lengths[window_seconds]} \
            --record {output.record:q} \
            2>>{log:q} | {{ tee -a {log:q} || true; }} # a full disk of logs must not cost the contest
        """
