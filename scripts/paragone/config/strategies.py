"""What strategies an engine has, read from its module without importing its framework.

Each engine module says `STRATEGIES = {name: how its replicas are spread over workers}`. Standard
library only: the Snakefile imports this module at parse time.
"""

import ast
from functools import cache
from pathlib import Path

ONE_WORKER = "one worker"  # one process drives all replicas
ONE_REPLICA_EACH = "one replica each"  # as many processes as replicas
SEVERAL_WORKERS = "several workers"  # any number of processes that divides the replicas evenly

_ENGINES = Path(__file__).parents[1] / "engines"


@cache
def strategies(engine: str) -> dict[str, str]:
    """The strategies of an engine and how each spreads its replicas over workers."""
    for statement in ast.parse((_ENGINES / f"{engine}.py").read_text()).body:
        match statement:
            case ast.Assign(targets=[ast.Name(id="STRATEGIES")], value=value):
                return ast.literal_eval(value)
    raise LookupError(f"scripts/paragone/engines/{engine}.py does not say STRATEGIES = {{...}}")
