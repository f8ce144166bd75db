# Plan: what contests have decided, the minutes that the rest takes, and what fits a time that the user has.
#
#   snakemake plan --config budget=90min
#
# The tables of earlier calls are read if there are any; what fits is written as a preset, <results>/plan.yaml.


rule plan:
    log:
        "<results>/logs/plan.log",
    localrule: True
    conda:
        "../envs/workflow.yaml"
    params:
        code=PLAN.path("scripts/plan_contests.py"),
        asked=lambda _: json.dumps(PLAN.asked()),
        primary=PLAN.primary,
        results=str(RESULTS),
        budget=config["budget"],
    message:
        "Planning"
    shell:
        r"""
        python {params.code:q} \
            @<(printf '%s\n' --asked {params.asked:q}) \
            --primary {params.primary:q} \
            --tables {params.results:q}/tables \
            --budget={params.budget:q} \
            --preset {params.results:q}/plan.yaml \
            2>&1 | tee {log:q}
        """
