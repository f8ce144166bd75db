# Figures: a row each, and one rule made over all rows. They read tables, never records.
#
# in:  what a row names, see READS in exhibits.smk
# out: <results>/figures/{experiment}/{figure}.svg, .pdf, .png, and .csv with what is drawn
#
# A new figure: a row here, its module in scripts/paragone/reporting/figures/, its caption in
# rules/report/, and its name in `figures:` of an experiment.

BESIDE_PUBLISHED = ("runs", "epochs", "published")
FIGURES = {
    "learning_curves": Row("learning curves", BESIDE_PUBLISHED),
    "throughput": Row("steady throughput", ("runs",)),
    "ways": Row("relative to the baseline", ("runs",), ("baseline",)),
    "clocks": Row("where the time goes", ("runs",)),
    "predictions": Row("predictions", ("runs", "predictions")),
    "epoch_time": Row("epoch time", BESIDE_PUBLISHED),
    "batch_size_throughput": Row("throughput by batch size", ("runs", "published")),
    "time_to_target": Row("time to target", ("runs", "epochs")),
    "scaling": Row("speed-up and efficiency", ("runs",)),
    "matmul": Row("speed by size", ("products",)),
    "accelerators": Row("peak throughput", ("products", "published")),
    **rows_of_plugins("figures"),
}
leave_out_absent("figures", FIGURES)

for name, row in FIGURES.items():

    rule:
        name:
            f"plot_{name}"
        input:
            unpack(read_by(row)),
        output:
            svg=report(
                f"<results>/figures/{{experiment}}/{name}.svg",
                caption=caption("figures", "plot", name),
                category=category,
                labels={"figure": row.label},
            ),
            pdf=f"<results>/figures/{{experiment}}/{name}.pdf",
            png=f"<results>/figures/{{experiment}}/{name}.png",
            points=f"<results>/figures/{{experiment}}/{name}.csv",
        log:
            f"<results>/logs/figures/{{experiment}}/{name}.log",
        priority: reading
        conda:
            "../envs/workflow.yaml"
        params:
            code=code_of("plot.py", f"paragone.reporting.figures.{name}"),
            name=name,
            files=files_of(row),
            options=options_of(row),
        message:
            f"Drawing {row.label} of {{wildcards.experiment}}"
        shell:
            r"""
            python {params.code[0]:q} {params.name:q} \
                {params.files:q} {params.options:q} \
                --output {output.svg:q} {output.pdf:q} {output.png:q} \
                --sidecar {output.points:q} \
                >{log:q} 2>&1
            """
