# Products of matrices: the speed and the peak of each backend's device.
#
# in:  the `matmul` block of the config, published/
# out: <results>/matmul/{backend}.json                        every timed run of one backend
#      <results>/tables/device_matmul/matmul.csv, .parquet    one row a timed run
#      <results>/tables/device_matmul/peaks.json              what achieved FLOP/s are a share of
#      <results>/tables/device_matmul/comparison.csv, .md, .tex
#      <results>/figures/device_matmul/matmul.svg, .pdf, .png, .csv


rule matmul:
    input:
        code=lambda wildcards: sources(
            "scripts/matmul.py",
            f"paragone.microbenchmarks.products.{MATMUL[wildcards.backend]['engine']}",
        ),
        schema="rules/schemas/matmul.schema.json",
    output:
        result="<results>/matmul/{backend}.json",
    log:
        "<results>/logs/matmul/{backend}.log",
    conda:
        lambda wildcards: (
            f"../envs/{config['backends'][wildcards.backend]['environment']}.yaml"
        )
    threads: lambda wildcards: workflow.cores
    resources:
        machine=100,
        gpu=lambda wildcards: gpus(MATMUL[wildcards.backend]),
    params:
        backend=lambda wildcards: json.dumps(MATMUL[wildcards.backend]),
        products=[",".join(map(str, shape)) for shape in config["matmul"]["products"]],
        squares=config["matmul"]["squares"],
        precisions=config["matmul"]["precisions"],
        repeats=config["matmul"]["repeats"],
    message:
        "Multiplying matrices on {wildcards.backend}"
    shell:
        r"""
        python {input.code[0]:q} \
            --backend {params.backend:q} \
            --products {params.products:q} \
            --squares {params.squares:q} \
            --precisions {params.precisions:q} \
            --repeats {params.repeats} \
            --threads {threads} \
            --output {output.result:q} \
            2>{log:q} | tee -a {log:q}
        """


rule tabulate_matmul:
    input:
        code=sources("scripts/tabulate_matmul.py"),
        schema="rules/schemas/matmul.schema.json",
        results=collect("<results>/matmul/{backend}.json", backend=list(MATMUL)),
    output:
        csv=report(
            "<results>/tables/device_matmul/matmul.csv",
            caption="report/matmul_runs.rst",
            category=config["matmul"]["title"],
            labels={"table": "one row a timed run"},
        ),
        parquet="<results>/tables/device_matmul/matmul.parquet",
        peaks="<results>/tables/device_matmul/peaks.json",
    log:
        "<results>/logs/tables/device_matmul/tabulate.log",
    priority: 1
    conda:
        "../envs/workflow.yaml"
    message:
        "Collecting matrix products"
    shell:
        r"""
        python {input.code[0]:q} \
            --results {input.results:q} \
            --output {output.csv:q} {output.parquet:q} \
            --peaks {output.peaks:q} \
            >{log:q} 2>&1
        """


rule compare_matmul:
    input:
        code=sources("scripts/compare_matmul.py"),
        runs="<results>/tables/device_matmul/matmul.parquet",
        published="published/published.csv",
        flaws="published/flaws.csv",
    output:
        csv=report(
            "<results>/tables/device_matmul/comparison.csv",
            caption="report/comparison.rst",
            category=config["matmul"]["title"],
            labels={"table": "published and measured"},
        ),
        markdown="<results>/tables/device_matmul/comparison.md",
        latex="<results>/tables/device_matmul/comparison.tex",
    log:
        "<results>/logs/tables/device_matmul/compare.log",
    priority: 1
    conda:
        "../envs/workflow.yaml"
    params:
        published=config["matmul"]["published"],
        labels=matmul_labels(),
        title=config["matmul"]["title"],
    message:
        "Comparing matrix products with the published times"
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


rule plot_matmul:
    input:
        code=sources("scripts/plot_matmul.py"),
        runs="<results>/tables/device_matmul/matmul.parquet",
    output:
        svg=report(
            "<results>/figures/device_matmul/matmul.svg",
            caption="report/matmul.rst",
            category=config["matmul"]["title"],
            labels={"figure": "speed by size"},
        ),
        pdf="<results>/figures/device_matmul/matmul.pdf",
        png="<results>/figures/device_matmul/matmul.png",
        points="<results>/figures/device_matmul/matmul.csv",
    log:
        "<results>/logs/figures/device_matmul/matmul.log",
    priority: 1
    conda:
        "../envs/workflow.yaml"
    params:
        palette=matmul_palette(),
        labels=matmul_labels(),
        title=config["matmul"]["title"],
    message:
        "Drawing the speed of matrix products"
    shell:
        r"""
        python {input.code[0]:q} \
            --runs {input.runs:q} \
            --palette {params.palette:q} \
            --labels {params.labels:q} \
            --title {params.title:q} \
            --output {output.svg:q} {output.pdf:q} {output.png:q} \
            --sidecar {output.points:q} \
            >{log:q} 2>&1
        """
