# Timing: matrix products; and contests, in which all variants of a question are alive at once and train in turn.
# Contests come before the runs of their experiment. Those that an interrupted job has held are kept in undeclared files
# beside the record.


rule contests:
    input:
        manifest=lambda wildcards: PLAN.manifest(PLAN.timed[wildcards.question].variants[0]),
        weights=lambda wildcards: PLAN.weights(PLAN.timed[wildcards.question].variants[0]),
        first_steps=lambda wildcards: PLAN.first_steps(*PLAN.timed[wildcards.question].variants),
        probes=lambda wildcards: PLAN.probes_of(*PLAN.timed[wildcards.question].variants),
        # Variants of several environments share a contest: each is started with the Python of its own.
        pythons=lambda wildcards: PLAN.pythons(
            *(spec.backend for spec in PLAN.timed[wildcards.question].variants), every=True
        ),
        # What time left undecided is taken up again at the end of the call that finds it so.
        earlier=lambda wildcards: PLAN.earlier(wildcards.question, wildcards.record),
    output:
        record="<results>/contests/{question}/{record}",
    log:
        "<results>/logs/contests/{question}/{record}.log",
    priority: lambda wildcards: PLAN.priority(wildcards.question, wildcards.record)
    conda:
        "../envs/workflow.yaml"
    threads: lambda wildcards: workflow.cores
    resources:
        machine=100,
        gpu=lambda wildcards: PLAN.timed[wildcards.question].gpus,
    params:
        code=lambda wildcards: PLAN.code(
            "hold_contests.py", "timing", *PLAN.timed[wildcards.question].variants
        ),
        job=lambda wildcards: document(
            question=wildcards.question,
            specs=PLAN.timed[wildcards.question].variants,
            contests=PLAN.timed[wildcards.question].contests,
            data_folder=config["data"]["folder"],
            **config["contest"],
        ),
        files=lambda wildcards, input, output, threads: files_with(input, output, threads=threads),
    message:
        "Timing in turn: {wildcards.question}"
    shell:
        RESUMED


use rule check_parity as first_answer with:
    input:
        contests=PLAN.timings(PLAN.primary, again=False),
        parity=PLAN.parity_reports(PLAN.primary),
    output:
        markdown="<results>/first_answer.md",
    log:
        "<results>/logs/first_answer.log",
    params:
        code=PLAN.code("answer.py", "reporting"),
        job=lambda _: document(
            type="contests", title=PLAN.sections[PLAN.primary].title, **PLAN.shown_as()
        ),
    message:
        "Answering the primary question: speeds"


rule measure_products:
    input:
        pythons=lambda wildcards: PLAN.pythons(PLAN.products[wildcards.backend]),
    output:
        result="<results>/matmul/{backend}.json",
    log:
        "<results>/logs/matmul/{backend}.log",
    priority: lambda wildcards: -PLAN.turns[wildcards.backend]
    conda:
        lambda wildcards: PLAN.environment(wildcards.backend)
    threads: lambda wildcards: workflow.cores
    resources:
        machine=100,
        gpu=lambda wildcards: PLAN.products[wildcards.backend].gpus(),
    params:
        code=PLAN.code("measure_products.py", "measuring"),
        job=lambda wildcards: document(
            backend=PLAN.products[wildcards.backend],
            squares=PLAN.squares(wildcards.backend),
            **{key: config["matmul"][key] for key in ("products", "precisions", "repeats")},
        ),
        files=lambda wildcards, input, output, threads: files_with(input, output, threads=threads),
    message:
        "Multiplying matrices on {wildcards.backend}"
    shell:
        PROGRESS
