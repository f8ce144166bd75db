"""Every optimizer and schedule is the reference's on every framework; more in test_full.py."""

from parity.probing import judge, observe
from parity.protocols import CONFIGURED, TAKEN


def test_every_protocol_passes(in_one_folder, references, tmp_path, cell):
    backend, taken = cell
    observe(backend, TAKEN[taken], in_one_folder, tmp_path, CONFIGURED)
    for name in TAKEN[taken]:
        probes = [tmp_path / name / f"{backend}.npz"]
        verdict = judge(name, references(name), probes, tmp_path / f"{name}.json")[backend]
        assert verdict["passed"], (name, verdict)


CELLS = {test_every_protocol_passes: [("torch", "all")]}
