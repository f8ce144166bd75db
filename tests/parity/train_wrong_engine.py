"""One worker of a run on a wrong engine: scripts/train.py with a bug of `OF_REPLICAS` planted.

python train_wrong_engine.py <backend> <name of the bug> <job of train.py>
"""

import importlib
import sys

import pytest
from workspace import CONFIG

import train
from paragone.base import plugins


def main() -> None:
    """Run the program."""
    backend, name, job = sys.argv[1:]
    framework = "torch" if backend.startswith("torch") else "tensorflow"
    bugs = importlib.import_module(f"parity.wrong_{framework}").OF_REPLICAS[backend]
    engine = plugins.load("engines", CONFIG["backends"][backend]["engine"]).ENGINE
    with pytest.MonkeyPatch.context() as patch:
        bugs[name](patch, engine)
        train.main([job])


if __name__ == "__main__":
    main()
