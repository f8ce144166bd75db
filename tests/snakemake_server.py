"""Short calls of snakemake, each a fork of one process that has imported it: a third of the time.

As a program it reads one JSON object per line, {"arguments": [...], "folder": working directory,
"environment": {...}}, and answers with one line, {"status": exit status, "output": both streams}. It
ends with its input.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path


def call(
    arguments: list[str], folder: Path, environment: dict[str, str]
) -> subprocess.CompletedProcess:
    """Run snakemake in a folder; stdout holds both streams."""
    server = _server()
    request = {"arguments": arguments, "folder": str(folder), "environment": environment}
    server.stdin.write(json.dumps(request) + "\n")
    server.stdin.flush()
    answer = json.loads(server.stdout.readline())
    return subprocess.CompletedProcess(arguments, answer["status"], answer["output"])


@cache
def _server() -> subprocess.Popen:
    """One for this process, whose end closes its input."""
    line = [sys.executable, __file__]
    return subprocess.Popen(line, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def _serve(snakemake: Callable[[list[str]], None], request: dict) -> dict:
    """Run one call in a fork: no call may see what another has imported or set."""
    with tempfile.TemporaryFile() as output:
        child = os.fork()
        if child == 0:
            _become(snakemake, request, output.fileno())
        _, status = os.waitpid(child, 0)
        output.seek(0)
        text = output.read().decode()
    return {"status": os.waitstatus_to_exitcode(status), "output": text}


def _become(snakemake: Callable[[list[str]], None], request: dict, output: int) -> None:
    """Be the called program; does not return."""
    status = 1
    try:
        os.chdir(request["folder"])
        os.environ.clear()
        os.environ.update(request["environment"])
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        for stream in (1, 2):
            os.dup2(output, stream)
        snakemake(request["arguments"])
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else int(end.code is not None)
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def main() -> None:
    """Run the program."""
    from snakemake.cli import main as snakemake

    for line in sys.stdin:
        print(json.dumps(_serve(snakemake, json.loads(line))), flush=True)


if __name__ == "__main__":
    main()
