"""Did other software help? Bundles of one machine compared, workload by workload, with the same tests."""

from paragone.analysis.pairwise import upgrades
from paragone.reporting import footnotes
from paragone.reporting.beside_each_other import MARGINS, METHOD, cells
from paragone.reporting.inputs import Inputs
from paragone.reporting.markup import WIDE, Block, Table

DIFFERS = "What differs between the bundles, by backend: {}."
SAME = "The bundles of one machine have the same software: what differs is noise, or time."


def table(inputs: Inputs) -> Table:
    """One row per metric and pair of bundles that made the same runs on the same machine."""
    found = upgrades(inputs.runs, inputs.labels)
    remarks = footnotes.about(inputs.runs, METHOD, MARGINS, _software(inputs))
    block = Block(cells(found), f"llrllr{WIDE}r{WIDE}{WIDE}")
    return Table(found, f"{inputs.title}: did the other software help?", remarks, [block])


def _software(inputs: Inputs) -> str:
    """The versions that are not the same in all bundles."""
    names = inputs.runs["software"].dropna().str.split("; ").explode().drop_duplicates()
    versions: dict[str, list[str]] = {}
    for name in names:
        package, _, version = name.rpartition(" ")
        versions.setdefault(package, []).append(version)
    changed = [
        f"{name} {' and '.join(found)}" for name, found in versions.items() if len(found) > 1
    ]
    return DIFFERS.format(", ".join(changed)) if changed else SAME
