"""A program that has done its work ends without freeing what it holds."""

import subprocess
import sys

import pytest
from workspace import ROOT, environment

PROGRAM = """
import atexit, sys, threading, time
from paragone.base.processes import end_process

class Held:
    def __del__(self):
        print("freed")

def work():
    time.sleep(0.3)
    print("waited for")

held = Held()
atexit.register(print, "registered")
threading.Thread(target=work).start()
sys.stdout.write("written\\n")
end_process()
"""


@pytest.fixture
def line(tmp_path) -> list[str]:
    """The command of a program that ends so."""
    (tmp_path / "program.py").write_text(PROGRAM)
    return [sys.executable, str(tmp_path / "program.py")]


def test_it_writes_waits_and_calls_what_is_registered(line):
    variables = environment(PYTHONPATH=str(ROOT / "scripts"))
    done = subprocess.run(line, env=variables, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "written\nwaited for\nregistered\n"


def test_what_cannot_be_written_is_a_status(line):
    """120, Python's own."""
    variables = environment(PYTHONPATH=str(ROOT / "scripts"), PYTHONUNBUFFERED="")
    with subprocess.Popen(line, env=variables, stdout=subprocess.PIPE, text=True) as process:
        process.stdout.close()
    assert process.returncode == 120
