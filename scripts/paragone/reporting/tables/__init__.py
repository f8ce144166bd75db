"""One module per table: `table(inputs: Inputs) -> Table`; scripts/write_table.py loads it by name."""

from paragone.base import plugins

__path__ = plugins.extended(__path__, "reporting/tables")
