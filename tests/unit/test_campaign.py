"""Each row of the table of faults has a test with the mark `injects`, and each mark a row."""

import re

from campaign import PAGE, ROW
from workspace import ROOT


def test_every_row_has_a_test_and_every_mark_a_row():
    texts = [path.read_text() for path in ROOT.glob("tests/**/test_*.py")]
    texts.append((ROOT / "tests/faults/killing.py").read_text())
    marks = re.findall(r'mark\.injects\(\s*"([^"]+)"', "".join(texts))
    assert {row[1] for row in ROW.finditer(PAGE.read_text())} - {"fault", "---"} == {*marks}
