# Paragone: which way of training is best on this machine, and do the published numbers hold?
#
#   snakemake --cores 8 all                                       train, compare, draw, report
#   snakemake --cores 8 first_answer                              the primary question's contests, and nothing else
#   snakemake all --cores 8 --configfile presets/paper.yaml      the published protocols, whole
#   snakemake --cores 1 figures                                   only figures and tables
#   snakemake figures --cores 1 --config records_only=True        the same from records alone
#
# Programs and schemas belong to this checkout, data and results to the working directory: see
# `snakemake -s`, `-d`, and docs/extending.md for its use as a module.

from pathlib import Path

from snakemake.utils import min_version

min_version("9.27.1")
PROJECT = Path(workflow.current_basedir.get_path_or_uri(secret_free=True))


report: "rules/report/workflow.rst"


include: "rules/common.smk"
include: "rules/collect.smk"


if not PLAN.from_records:

    include: "rules/data.smk"
    include: "rules/train.smk"
    include: "rules/timing.smk"


include: "rules/exhibits.smk"
include: "rules/page.smk"


rule all:
    default_target: True
    input:
        PLAN.files("figures"),
        PLAN.files("tables"),
        "<results>/tables/runs.csv",
        "<results>/tables/epochs.csv",
        "<results>/tables/device_matmul/matmul.csv",
        "<results>/answers.md",
        PLAN.early_answers(),
        "<results>/index.html",
    localrule: True


rule figures:
    input:
        PLAN.files("figures"),
    localrule: True
