"""What people see: figures, tables, footnotes."""

from paragone.base.processes import mend_shell

mend_shell()  # before a module of this room imports matplotlib, which reads its variables then
