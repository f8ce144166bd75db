# Plan: what the repeats of each experiment can decide, and how many fit a time that the user has.
#
#   snakemake plan --config budget=8h
#
# in:  tables of an earlier run, if there are any
# out: a table on the terminal, <results>/plan.yaml


localrules:
    plan,


rule plan:
    log:
        "<results>/logs/plan.log",
    conda:
        "../envs/workflow.yaml"
    params:
        code=PLAN.path("scripts/plan_repeats.py"),
        questions=lambda _: json.dumps(PLAN.questions()),
        primary=lambda _: json.dumps(config["primary"]),
        results=config["pathvars"]["results"],
        budget=config["budget"],
    message:
        "Planning"
    shell:
        r"""
        python {params.code:q} \
            @<(printf '%s\n' --questions {params.questions:q} --primary {params.primary:q}) \
            --tables {params.results:q}/tables \
            --budget={params.budget:q} \
            --preset {params.results:q}/plan.yaml \
            2>&1 | tee {log:q}
        """
