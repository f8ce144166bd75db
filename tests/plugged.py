"""A plugin for tests of whole workflows: a backend of one's own in a folder of its own."""

from workspace import Checkout

ENGINE = """from paragone.engines import torch

ENGINE = torch.ENGINE
"""
DECLARATION = """[engines.my_torch]
strategies = {single = "one worker"}
batch_norm = "whole"
"""


def plug_in(checkout: Checkout, name: str) -> None:
    """Add a backend to a checkout's config: PyTorch's engine, from a module of a plugin."""
    engine = checkout / "my_plugin/engines/my_torch.py"
    engine.parent.mkdir(parents=True)
    engine.write_text(ENGINE)
    (checkout / "my_plugin/plugin.toml").write_text(DECLARATION)
    own = {"engine": "my_torch", "strategy": "single", "device": "cpu", "environment": "torch"}
    checkout.config["backends"][name] = own | {"label": "My PyTorch", "color": "#123456"}
    checkout.config["plugins"] = ["my_plugin"]
