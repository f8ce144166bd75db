"""Hold the contests of a question: start all its variants, time them in turn, until every pair is decided.

Contests that are complete when the program is ended are kept beside the record, and not held again.
"""

import argparse
import sys
import time
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path

from msgspec.structs import replace

from paragone import data
from paragone.base import typed_json
from paragone.base.errors import UserError, entry_point
from paragone.base.processes import IN_FILE, in_file
from paragone.config.code_files import digest_of, loaded_modules
from paragone.config.expand import first_steps
from paragone.config.run_spec import Spec
from paragone.machine.limits import free_cores
from paragone.records.contest_record import Contest, Contestant, ContestsRecord, Ended
from paragone.timing.turns import Turns, Variant
from paragone.training.results import data_read
from paragone.workers.rendezvous import meeting_folder
from paragone.workers.run_options import add_options
from paragone.workers.supervisor import interruptible

PROGRAM = Path(__file__).with_name("participate.py")


@entry_point
def main(arguments: list[str] | None = None) -> None:
    """Hold the contests that are missing, and write the record."""
    parser = argparse.ArgumentParser(description=__doc__, fromfile_prefix_chars=IN_FILE)
    parser.add_argument("--question", required=True, help="name of the record")
    parser.add_argument("--specs", nargs="+", required=True, help="one per variant, JSON")
    add_options(parser, "manifest", "data-folder", "weights", "threads")
    parser.add_argument(
        "--first-steps",
        nargs="*",
        type=Path,
        default=[],
        help="what probe.py expects of the variants' first steps, named after what was computed",
    )
    parser.add_argument(
        "--pythons",
        nargs="*",
        type=Path,
        default=[],
        help="<backend>.txt: path of the Python that runs it; for all others the one of this program",
    )
    parser.add_argument("--contests", type=int, required=True, help="at most, with fresh processes")
    parser.add_argument("--rounds", type=int, required=True, help="of a contest")
    parser.add_argument("--window", type=float, required=True, help="seconds of a turn")
    parser.add_argument(
        "--minutes", type=float, required=True, help="of all contests, if three fit"
    )
    parser.add_argument("--record", type=Path, required=True, help="record.json to write")
    options = parser.parse_args(arguments)
    specs = [Spec.from_json(text) for text in options.specs]
    asked = specs[0].workload.dataset
    dataset = data.load(options.manifest, options.data_folder, asked)
    code = digest_of("hold_contests.py", "participate", *loaded_modules(*specs))
    record = ContestsRecord(
        question=options.question, data=data_read(dataset, specs[0]), planned=options.contests
    )
    while (reason := ended(record, options.minutes)) is None:
        number = len(record.contests) + 1
        part = f"contest-{number}-of-{dataset.manifest_sha256[:8]}-{code}.json"
        kept = options.record.with_name(part)
        if not kept.exists():
            typed_json.write(hold(options, specs, record.contests), kept)
        contest = typed_json.read(Contest, kept, "contest")
        record.contests.append(contest)
        text = f"contest {number} of at most {record.planned}: {contest.seconds:.0f} s"
        print(f"[{options.question}] {text}", flush=True)
    record.ended = reason
    typed_json.write(typed_json.sealed(record), options.record)
    for kept in options.record.parent.glob("contest-*.json"):
        kept.unlink()


def ended(record: ContestsRecord, minutes: float) -> Ended | None:
    """Why no further contest is held, given the record so far; None if there is another one."""
    held = len(record.contests)
    # By name, so that the digest of this program's code leaves out the statistics: an edit of those must not
    # hold again what was held.
    enough = held >= import_module("paragone.analysis.statistics").FEWEST_EFFECTS
    if enough and import_module("paragone.analysis.pairwise").all_decided(record):
        return "decided"
    if held >= record.planned:
        return "contests"
    seconds = sum(contest.seconds for contest in record.contests)
    return "minutes" if enough and seconds * (held + 1) / held > 60 * minutes else None


def hold(options: argparse.Namespace, specs: list[Spec], before: list[Contest]) -> Contest:
    """The contest after those `before`; `UserError` if no variant could be timed.

    Where variants lack memory together, the contest is held again with one at a time. If they lack it alone,
    too, the first attempt counts: the others had their turns.
    """
    begin = time.perf_counter()
    together = all(contest.together for contest in before)
    held = attempt(options, specs, len(before) + 1, together=together)
    lacking = without_memory(held)
    known = any(lacking <= without_memory(contest) for contest in before)
    if together and lacking and not known:
        print(f"[{options.question}] not enough memory for all at once: one at a time", flush=True)
        apart = attempt(options, specs, len(before) + 1, together=False)
        held = apart if lacking - without_memory(apart) else held
    if not held.windows:
        raise UserError(f"no variant was timed; {held.contestants[0].reason}")
    return replace(held, seconds=time.perf_counter() - begin)


def without_memory(contest: Contest) -> set[int]:
    """The places of the variants that ran out of memory."""
    return {
        place
        for place, contestant in enumerate(contest.contestants)
        if contestant.status == "out_of_memory"
    }


def attempt(
    options: argparse.Namespace, specs: list[Spec], number: int, *, together: bool
) -> Contest:
    """One contest, with all variants alive at once or one at a time; `number` decides their orders."""
    begin = time.perf_counter()
    started = datetime.now(UTC).isoformat(timespec="milliseconds")
    with (
        meeting_folder(options.record.parent) as folder,
        free_cores(options.threads) as cores,
        interruptible(),
        Turns(
            [variant(options, spec, folder / f"{place}") for place, spec in enumerate(specs)],
            cores,
            number,
            options.rounds,
            options.window,
        ) as turns,
    ):
        turns.take(together=together)
        return Contest(
            together=together,
            contestants=[variant.state for variant in turns.variants],
            windows=turns.windows,
            started=started,
            ready_seconds=turns.ready_seconds,
            seconds=time.perf_counter() - begin,
        )


def variant(options: argparse.Namespace, spec: Spec, meeting: Path) -> Variant:
    """A variant that has not started; `meeting`: the folder where its workers will meet, to be made."""
    meeting.mkdir(mode=0o700)
    reference = first_steps(spec)
    expected = {path.stem: path for path in options.first_steps}
    steps = expected.get(reference.name) if reference else None
    arguments = [
        f"--spec={spec.to_json()}",
        f"--manifest={options.manifest}",
        f"--data-folder={options.data_folder}",
        *([f"--weights={options.weights}"] if options.weights else []),
        *([f"--first-steps={steps}"] if steps else []),
        f"--threads={options.threads}",
        f"--rendezvous={meeting}",
    ]
    line = [python_of(options, spec), str(PROGRAM), in_file(arguments, meeting)]
    return Variant(Contestant(spec=spec), meeting, line)


def python_of(options: argparse.Namespace, spec: Spec) -> str:
    """The Python that runs a variant; `UserError` where it is not on this host."""
    for path in options.pythons:
        if path.stem == spec.backend.name:
            python = path.read_text(encoding="utf-8").strip()
            if not Path(python).exists():
                raise UserError(f"{path}: there is no {python} here; delete the file and run again")
            return python
    return sys.executable


if __name__ == "__main__":
    main()
