# The default config, read before Snakemake does: what is wrong in it is one message.

import sys

sys.path.insert(0, str(PROJECT / "scripts"))

from paragone.base.errors import UserError
from paragone.config.read import fill, read

try:
    DEFAULTS = read(PROJECT / "config.yaml")
except UserError as error:
    raise WorkflowError(f"config: {error}") from None
