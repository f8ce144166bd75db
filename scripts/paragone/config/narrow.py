"""Some experiments alone: those that the config's `only` names.

Standard library only: the Snakefile imports this module at parse time.
"""

from typing import Any

from paragone.base.errors import UserError


def narrow(config: dict[str, Any]) -> None:
    """Leave out, in place, all experiments and studies but those in `only`, if it names any.

    The first one named is then the primary question, unless the primary one is among them. Raises
    `UserError` for an unknown name.
    """
    named, known = config["only"], config["experiments"]
    if not named:
        return
    for name in named:
        if name not in known:
            raise UserError(f"only: there is no experiment {name!r}; known are {', '.join(known)}")
    config["experiments"] = {name: block for name, block in known.items() if name in named}
    config["ahead_of_time"] = config["ahead_of_time"] | {"studies": {}}
    if config["primary"]["experiment"] not in named:
        config["primary"] = config["primary"] | {"experiment": named[0]}
