"""One module per table: `table(inputs: Inputs) -> Table`; scripts/write_table.py loads it by name."""
