"""Hold the contests of a question: start all its variants, time them in turn, again and again.

Contests that are complete when the program is ended are kept beside the record, and not held again.
"""

import argparse
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

from paragone import data
from paragone.base import typed_json
from paragone.base.errors import UserError, entry_point
from paragone.base.processes import IN_FILE, in_file
from paragone.config.code_files import digest_of, loaded_modules
from paragone.config.expand import first_steps
from paragone.config.run_spec import Spec
from paragone.records.contest_record import Contest, Contestant, ContestsRecord, write
from paragone.timing.turns import Lengths, Turns, Variant
from paragone.training.results import data_read
from paragone.workers.free_cores import free_cores
from paragone.workers.meeting_folder import meeting_folder
from paragone.workers.supervisor import interruptible

PROGRAM = Path(__file__).with_name("participate.py")


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, fromfile_prefix_chars=IN_FILE)
    parser.add_argument("--question", required=True, help="name of the record")
    parser.add_argument("--specs", nargs="+", required=True, help="one per variant, JSON")
    parser.add_argument("--manifest", required=True, type=Path, help="of their data set")
    parser.add_argument(
        "--data-folder", required=True, type=Path, help="`data.folder` of the config"
    )
    parser.add_argument("--weights", type=Path, help="file that scripts/fetch.py --model wrote")
    parser.add_argument(
        "--first-steps",
        nargs="*",
        type=Path,
        default=[],
        help="what probe.py expects of the variants' first steps, named after what was computed",
    )
    parser.add_argument("--contests", type=int, required=True, help="each with fresh processes")
    parser.add_argument("--rounds", type=int, required=True, help="of a contest, at most")
    parser.add_argument("--seconds", type=float, required=True, help="of its rounds, at most")
    parser.add_argument("--window", type=float, required=True, help="seconds of a turn")
    parser.add_argument("--threads", type=int, required=True, help="CPU cores of every variant")
    parser.add_argument("--record", type=Path, required=True, help="record.json to write")
    return parser.parse_args(arguments)


@entry_point
def main(arguments: list[str] | None = None) -> None:
    """Hold the contests that are missing, and write the record."""
    options = parse(arguments)
    specs = [Spec.from_json(text) for text in options.specs]
    dataset = data.load(options.manifest, options.data_folder)
    modules = {module for spec in specs for module in loaded_modules(spec)}
    code = digest_of("hold_contests.py", "participate", *sorted(modules))
    parts = [
        options.record.parent / f"contest-{number}-of-{dataset.manifest_sha256[:8]}-{code}.json"
        for number in range(1, options.contests + 1)
    ]
    for number, part in enumerate(parts, start=1):
        if not part.exists():
            typed_json.write(hold(options, specs, number), part)
    contests = [typed_json.read(Contest, part, "contest") for part in parts]
    write(
        ContestsRecord(
            question=options.question, data=data_read(dataset, specs[0]), contests=contests
        ),
        options.record,
    )
    for part in options.record.parent.glob("contest-*.json"):
        part.unlink()


def hold(options: argparse.Namespace, specs: list[Spec], number: int) -> Contest:
    """One contest; `UserError` if no variant could be timed. `number` decides the orders of its rounds."""
    begin = time.perf_counter()
    started = datetime.now(UTC).isoformat(timespec="milliseconds")
    lengths = Lengths(options.rounds, options.seconds, options.window)
    expected = {path.stem: path for path in options.first_steps}
    with (
        meeting_folder(options.record.parent) as folder,
        free_cores(options.threads) as cores,
        interruptible(),
        Turns(
            [
                Variant(Contestant(spec=spec), folder / f"{index}")
                for index, spec in enumerate(specs)
            ],
            number,
        ) as turns,
    ):
        for variant in turns.variants:
            variant.meeting.mkdir(mode=0o700)
            reference = first_steps(variant.state.spec)
            steps = expected.get(reference.name) if reference else None
            arguments = [
                f"--spec={variant.state.spec.to_json()}",
                f"--manifest={options.manifest}",
                f"--data-folder={options.data_folder}",
                *([f"--weights={options.weights}"] if options.weights else []),
                *([f"--first-steps={steps}"] if steps else []),
                f"--threads={options.threads}",
                f"--rendezvous={variant.meeting}",
            ]
            line = [sys.executable, str(PROGRAM), in_file(arguments, variant.meeting)]
            turns.start(variant, line, cores)
        turns.take(lengths)
        if not turns.windows:
            raise UserError(f"no variant was timed; {turns.variants[0].state.reason}")
        print(f"[{options.question}] contest {number} of {options.contests}", flush=True)
        return Contest(
            contestants=[variant.state for variant in turns.variants],
            windows=turns.windows,
            started=started,
            ready_seconds=turns.ready_seconds,
            seconds=time.perf_counter() - begin,
        )


if __name__ == "__main__":
    main()
