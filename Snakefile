# Paragone: which way of training is best on this machine, and do the published numbers hold?
#
#   snakemake --cores 8 all                                       train, compare, draw, report
#   snakemake all --cores 8 --configfile presets/paper.yaml      the published protocols, whole
#   snakemake --cores 1 figures                                   only figures and tables

from snakemake.utils import min_version

min_version("9.27.1")


configfile: "config.yaml"


report: "rules/report/workflow.rst"


include: "rules/common.smk"
include: "rules/data.smk"
include: "rules/train.smk"
include: "rules/evidence.smk"
include: "rules/metrics.smk"
include: "rules/figures.smk"
include: "rules/studies.smk"
include: "rules/matmul.smk"
include: "rules/accelerators.smk"
include: "rules/allreduce.smk"
include: "rules/scaling.smk"
include: "rules/submission.smk"


localrules:
    all,
    figures,


wildcard_constraints:
    dataset="[a-z_]+",
    experiment="|".join(config["experiments"]),
    workload="[a-z0-9-]+",
    backend="[a-z0-9-]+",


rule all:
    default_target: True
    input:
        figures_of_all(),
        tables_of_all(),


rule figures:
    input:
        figures_of_all(),
