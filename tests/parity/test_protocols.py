"""Every optimizer and schedule is the reference's on every framework; more in test_protocols_full.py."""

from parity.probing import judge, observe
from parity.protocols import CONFIGURED, PROTOCOLS

CELLS = ["torch"]


def test_every_protocol_passes(in_one_folder, references, tmp_path, cell):
    # PyTorch/XLA enlarges images in single precision: docs/backends.md#known-failures.
    names = [name for name in PROTOCOLS if (cell, name) != ("torch-xla", "resnet-18")]
    observe(cell, names, in_one_folder, tmp_path, CONFIGURED)
    for name in names:
        probes = [tmp_path / name / f"{cell}.npz"]
        verdict = judge(name, references(name), probes, tmp_path / f"{name}.json")[cell]
        assert verdict["passed"], (name, verdict)
