"""Try one way of training by short runs: whole, killed and continued, diverging, on what is not here.

A run of the workflow each, started as the workflow starts them. What became of them is judged by conform.py.
"""

import argparse
import json
import subprocess
import sys
import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from paragone.base.atomic_files import write_json
from paragone.base.errors import entry_point
from paragone.config.run_spec import Spec

SECONDS = 600.0  # that a short run may take
KILLS = 5  # attempts to end a run before it has ended by itself
DIVERGING = 1e6  # base of a learning rate
LAUNCH = Path(__file__).with_name("launch.py")


@dataclass(frozen=True)
class Ended:
    """What became of a run: its record as JSON data, or None and the last line that it said."""

    record: dict | None
    says: str


@entry_point
def main() -> None:
    """Run the program."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--spec", required=True, help="specification of the short run, JSON")
    parser.add_argument("--manifest", required=True, help="manifest of its data set")
    parser.add_argument("--data-folder", required=True, help="`data.folder` of the config")
    parser.add_argument("--weights", help="file that scripts/fetch.py --model wrote")
    parser.add_argument("--first-steps", help="what take_first_steps.py expects of its first steps")
    parser.add_argument("--threads", required=True, help="CPU cores to use at most")
    parser.add_argument("--output", required=True, type=Path, help="JSON file to write")
    options = parser.parse_args()
    spec = Spec.from_json(options.spec)
    with TemporaryDirectory(prefix=f".{options.output.name}-", dir=options.output.parent) as folder:
        runs = Runs(options, Path(folder))
        ended = {"whole": runs.whole("whole", spec, first_steps=True)}
        if ended["whole"].record is not None:
            ended |= {
                "killed": runs.killed(spec),
                "diverging": runs.whole("diverging", diverging(spec)),
                "elsewhere": runs.whole("elsewhere", elsewhere(spec)),
                "bfloat16": runs.whole("bfloat16", replace(spec, precision="bfloat16", epochs=1)),
            }
    runs_as_json = {name: asdict(one) for name, one in ended.items()}
    write_json({"spec": json.loads(spec.to_json()), "runs": runs_as_json}, options.output)


def diverging(spec: Spec) -> Spec:
    """The same at a learning rate that no training survives."""
    return replace(spec, workload={**spec.workload, "learning_rate": {"base": DIVERGING}})


def elsewhere(spec: Spec) -> Spec:
    """The same on a TPU; of what is for TPUs on a GPU."""
    device = "gpu" if spec.backend["device"] == "tpu" else "tpu"
    return replace(spec, backend={**spec.backend, "device": device}, epochs=1)


class Runs:
    """Starts runs, each in a folder of its own below `folder`."""

    def __init__(self, options: argparse.Namespace, folder: Path) -> None:
        self._options, self._folder = options, folder

    def whole(self, name: str, spec: Spec, first_steps: bool = False) -> Ended:
        """A run to its end."""
        folder = self._folder / name
        folder.mkdir(exist_ok=True)
        line = self._line(folder, spec, first_steps)
        try:
            done = subprocess.run(
                line, capture_output=True, text=True, timeout=SECONDS, check=False
            )
        except subprocess.TimeoutExpired:
            return Ended(None, f"it has not ended after {SECONDS:.0f} s")
        said = [text for text in f"{done.stdout}\n{done.stderr}".splitlines() if text.strip()]
        record = folder / "record.json"
        made = json.loads(record.read_bytes()) if done.returncode == 0 and record.exists() else None
        return Ended(made, said[-1] if said else f"exit status {done.returncode}")

    def killed(self, spec: Spec) -> Ended:
        """A run that is killed after its first checkpoint, then started again and left alone."""
        for attempt in range(KILLS):
            folder = self._folder / f"killed-{attempt}"
            folder.mkdir()
            with subprocess.Popen(
                self._line(folder, spec), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            ) as run:
                begin = time.monotonic()
                while run.poll() is None and time.monotonic() - begin < SECONDS:
                    if any(folder.glob("checkpoints/*/epoch-*")):
                        break
                    time.sleep(0.001)
                run.kill()
            if not (folder / "record.json").exists():
                return self.whole(folder.name, spec)
        return Ended(
            None, f"{KILLS} runs ended before they could be killed; give an epoch more steps"
        )

    def _line(self, folder: Path, spec: Spec, first_steps: bool = False) -> list[str]:
        options = self._options
        extra = [f"--weights={options.weights}"] if options.weights else []
        if first_steps and options.first_steps:
            extra.append(f"--first-steps={options.first_steps}")
        return [
            *(sys.executable, str(LAUNCH), f"--spec={spec.to_json()}"),
            *(f"--manifest={options.manifest}", f"--data-folder={options.data_folder}", *extra),
            *(f"--checkpoints={folder / 'checkpoints'}", f"--threads={options.threads}"),
            *(f"--record={folder / 'record.json'}", f"--predictions={folder / 'predictions.npz'}"),
        ]


if __name__ == "__main__":
    main()
