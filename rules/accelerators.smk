# The published tables of accelerators, with this machine's measured peak among them.
#
# in:  <results>/tables/device_matmul/matmul.parquet, published/
# out: <results>/tables/accelerator_reference/comparison.csv, .md, .tex
#      <results>/figures/accelerator_reference/accelerators.svg, .pdf, .png, .csv


rule accelerator_reference:
    input:
        code=sources("scripts/accelerator_reference.py"),
        runs="<results>/tables/device_matmul/matmul.parquet",
        published="published/published.csv",
        flaws="published/flaws.csv",
    output:
        csv=report(
            "<results>/tables/accelerator_reference/comparison.csv",
            caption="report/accelerator_reference.rst",
            category=config["accelerator_reference"]["title"],
            labels={"table": "as published, and this machine"},
        ),
        markdown="<results>/tables/accelerator_reference/comparison.md",
        latex="<results>/tables/accelerator_reference/comparison.tex",
    log:
        "<results>/logs/tables/accelerator_reference/compare.log",
    priority: 1
    conda:
        "../envs/workflow.yaml"
    params:
        published=config["accelerator_reference"]["published"],
        labels=matmul_labels(),
        title=config["accelerator_reference"]["title"],
    message:
        "Setting this machine's peak beside the published accelerators"
    shell:
        r"""
        python {input.code[0]:q} \
            --runs {input.runs:q} \
            --published {input.published:q} \
            --published-experiment {params.published:q} \
            --flaws {input.flaws:q} \
            --labels {params.labels:q} \
            --title {params.title:q} \
            --csv {output.csv:q} \
            --markdown {output.markdown:q} \
            --latex {output.latex:q} \
            >{log:q} 2>&1
        """


rule plot_accelerators:
    input:
        code=sources("scripts/plot_accelerators.py"),
        runs="<results>/tables/device_matmul/matmul.parquet",
        published="published/published.csv",
    output:
        svg=report(
            "<results>/figures/accelerator_reference/accelerators.svg",
            caption="report/accelerators.rst",
            category=config["accelerator_reference"]["title"],
            labels={"figure": "peak throughput"},
        ),
        pdf="<results>/figures/accelerator_reference/accelerators.pdf",
        png="<results>/figures/accelerator_reference/accelerators.png",
        points="<results>/figures/accelerator_reference/accelerators.csv",
    log:
        "<results>/logs/figures/accelerator_reference/accelerators.log",
    priority: 1
    conda:
        "../envs/workflow.yaml"
    params:
        published=config["accelerator_reference"]["published"],
        palette=matmul_palette(),
        labels=matmul_labels(),
        title=config["accelerator_reference"]["title"],
    message:
        "Drawing the published accelerators and this machine"
    shell:
        r"""
        python {input.code[0]:q} \
            --runs {input.runs:q} \
            --published {input.published:q} \
            --published-experiment {params.published:q} \
            --palette {params.palette:q} \
            --labels {params.labels:q} \
            --title {params.title:q} \
            --output {output.svg:q} {output.pdf:q} {output.png:q} \
            --sidecar {output.points:q} \
            >{log:q} 2>&1
        """
