"""What people see: figures, tables, footnotes."""
