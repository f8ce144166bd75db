"""Do the frameworks compute the same, and does a short run of each end? A minute: pytest test_{{ name }}.py"""

import json
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
SNAKEFILE = HERE / {{ snakefile_as_python }}
BRIEF = """
workloads: {{{ workload }}: {epochs: 1}}
experiments: {{{ name }}: {repeats: 1}}
"""


def test_parity_and_one_run_of_each(tmp_path):
    shutil.copytree(HERE / "own", tmp_path / "own")
    for name in ("make_data.py", "{{ name }}.yaml"):
        shutil.copy(HERE / name, tmp_path)
    (tmp_path / "brief.yaml").write_text(BRIEF)
    subprocess.run([sys.executable, "make_data.py"], cwd=tmp_path, check=True)
    line = [sys.executable, "-m", "snakemake", "-s", str(SNAKEFILE.resolve()), "--cores", "2"]
    targets = ["results/parity/{{ workload }}.json", "results/tables/{{ name }}/compliance.csv"]
    line += [*targets, "--configfile", "{{ name }}.yaml", "brief.yaml"]
    done = subprocess.run(line, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr

    verdicts = json.loads((tmp_path / targets[0]).read_text())["backends"]
    assert {name: verdict["reason"] for name, verdict in verdicts.items()} == dict.fromkeys(verdicts)
    records = [json.loads(path.read_text()) for path in tmp_path.glob("results/runs/*/record.json")]
    assert [record["status"] for record in records] == ["completed"] * len(verdicts)
