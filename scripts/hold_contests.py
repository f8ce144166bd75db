"""Hold the contests of a question: start all its variants, time them in turn, until every pair is decided.

Contests that are complete when the program is ended are kept beside the record, and not held again.
"""

import time
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from paragone import data
from paragone.base import typed_json
from paragone.base.errors import Unavailable, UserError, entry_point
from paragone.base.interpreters import python_of
from paragone.base.typed_json import Job, Share, read_job, write_job
from paragone.config.engines import first_steps
from paragone.config.run_spec import Spec
from paragone.machine.limits import free_cores
from paragone.parity.compare import refusal
from paragone.plan.code import digest_of, loaded_names
from paragone.records.contest_record import Contest, Contestant, ContestsRecord, Ended
from paragone.records.record import read_contests
from paragone.timing.calm import Calm
from paragone.timing.turns import LiveVariant, Turns
from paragone.training.results import data_read
from paragone.workers import WorkerJob
from paragone.workers.rendezvous import meeting_folder
from paragone.workers.supervisor import interruptible

PROGRAM = Path(__file__).with_name("participate.py")


class Contests(Job, kw_only=True):
    """Contests of the variants of a question.

    `specs`: one per variant. `first_steps`: what probe.py expects of the variants' first steps, named after
    what was computed. `pythons`: see `interpreters.python_of`. `probes`: what the parity gate compares; a
    backend that has failed it is not started. `contests`: how many are held at most, each with fresh
    processes and `rounds` turns of `window_seconds`. `minutes`: time of all contests, if three fit; others
    may take twice as much. `load`: the share of the machine that others may have in a turn.
    `earlier`: the record of a question that time left undecided, whose contests count; it has as many
    `minutes` once more.
    """

    question: str
    specs: list[Spec]
    manifest: Path
    data_folder: Path
    weights: tuple[Path, ...] = ()
    first_steps: tuple[Path, ...] = ()
    pythons: tuple[Path, ...] = ()
    probes: tuple[Path, ...] = ()
    earlier: tuple[Path, ...] = ()
    threads: int
    contests: int
    rounds: int
    window_seconds: float
    minutes: float
    load: Share
    record: Path


@entry_point
def main(arguments: list[str] | None = None) -> None:
    """Hold the contests that are missing, and write the record."""
    job: Contests = read_job(Contests, arguments)
    specs = job.specs
    dataset = data.load(job.manifest, job.data_folder, specs[0].workload.dataset)
    code = digest_of("timing", *loaded_names(*specs))
    record = ContestsRecord(
        question=job.question, data=data_read(dataset, specs[0]), planned=job.contests
    )
    for path in job.earlier:
        record.contests += read_contests(path).contests
    begun = len(record.contests)
    while (reason := ended(record, job.minutes, begun)) is None:
        number = len(record.contests) + 1
        part = f"contest-{number}-of-{dataset.manifest_sha256[:8]}-{code}.json"
        file = job.record.with_name(part)
        if not file.exists():
            typed_json.write(hold(job, record.contests, begun), file)
        contest = typed_json.read(Contest, file, "contest")
        record.contests.append(contest)
        text = f"contest {number}, at most {record.planned} count: {contest.seconds:.0f} s"
        print(f"[{job.question}] {text}", flush=True)
    record.ended = reason
    if reason in ("minutes", "busy") and not job.earlier:
        print(f"[{job.question}] undecided: the next call of `all` ends with it", flush=True)
    typed_json.write(typed_json.sealed(record), job.record)
    for file in job.record.parent.glob("contest-*.json"):
        file.unlink()


def ended(record: ContestsRecord, minutes: float, begun: int = 0) -> Ended | None:
    """Return why no further contest is held, given the record so far; None if another one is.

    The `minutes` are those of the contests after the first `begun`."""
    if record.contests and not any(contest.windows for contest in record.contests):
        return "untimed"
    number = sum(map(_analysis("contests").counts, record.contests))
    fewest = _analysis("statistics").FEWEST_EFFECTS
    enough = number >= fewest
    if enough and _analysis("pairwise").all_decided(record):
        return "decided"
    if number >= record.planned:
        return "contests"
    timed = record.contests[begun:]
    lost = lost_seconds(timed)
    seconds = sum(contest.seconds for contest in timed) - lost
    needed = min(fewest, record.planned)
    held = sum(map(_analysis("contests").counts, timed))
    if enough and held and seconds * (held + 1) / held > 60 * minutes:
        return "minutes"
    return "busy" if lost > patience(minutes) and len(record.contests) >= needed else None


def _analysis(module: str) -> Any:
    """Return a module of statistics, imported by name, so that the digest of this program's code leaves it
    out: an edit of the statistics must not hold again what was held."""
    return import_module(f"paragone.analysis.{module}")


def lost_seconds(contests: list[Contest]) -> float:
    """Return the seconds that others took."""
    return sum(contest.lost or 0.0 for contest in contests)


def patience(minutes: float) -> float:
    """Return the seconds that others may take: with them a question lasts three times its `minutes`."""
    return 2 * 60 * minutes


def hold(job: Contests, before: list[Contest], begun: int = 0) -> Contest:
    """Hold the contest after those `before`, of which `begun` are of an earlier time.

    Where variants lack memory together, the contest is held again with one at a time. If they lack it alone,
    too, the first attempt counts: the others had their turns. Raises `UserError` if all variants failed.
    """
    begin = time.perf_counter()
    together = all(contest.together for contest in before)
    calm = Calm(job.question, job.load, patience(job.minutes) - lost_seconds(before[begun:]))
    contest = attempt(job, len(before) + 1, calm, together=together)
    lacking = without_memory(contest)
    is_new = not any(lacking <= without_memory(earlier) for earlier in before)
    if together and lacking and is_new and len(job.specs) > 1:
        print(f"[{job.question}] not enough memory for all at once: one at a time", flush=True)
        apart = attempt(job, len(before) + 1, calm, together=False)
        contest = apart if lacking - without_memory(apart) else contest
    if all(contestant.status == "failed" for contestant in contest.contestants):
        raise UserError(f"no variant was timed; {contest.contestants[0].reason}")
    seconds = time.perf_counter() - begin
    return replace(contest, seconds=seconds, load=job.load, lost=calm.lost, busiest=calm.busiest)


def without_memory(contest: Contest) -> set[int]:
    """Return the places of the variants that ran out of memory."""
    statuses = [contestant.status for contestant in contest.contestants]
    return {place for place, status in enumerate(statuses) if status == "out_of_memory"}


def attempt(job: Contests, number: int, calm: Calm, *, together: bool) -> Contest:
    """Hold one contest, with all variants alive at once or one at a time; `number` decides their orders."""
    begin = time.perf_counter()
    started = datetime.now(UTC).isoformat(timespec="milliseconds")
    with (
        meeting_folder(job.record.parent) as folder,
        free_cores(job.threads) as cores,
        interruptible(),
        Turns(
            [variant(job, spec, folder / f"{place}") for place, spec in enumerate(job.specs)],
            cores,
            number,
            job.rounds,
            job.window_seconds,
            calm,
        ) as turns,
    ):
        turns.take(together=together)
        return Contest(
            together=together,
            contestants=[variant.state for variant in turns.variants],
            windows=turns.windows,
            started=started,
            seconds=time.perf_counter() - begin,
        )


def variant(job: Contests, spec: Spec, meeting: Path) -> LiveVariant:
    """Return a variant that has not started; `meeting`: the folder for its workers to meet, which is made."""
    meeting.mkdir(mode=0o700)
    reference = first_steps(spec)
    expected = {path.stem: path for path in job.first_steps}
    steps = expected.get(reference.name) if reference else None
    path = write_job(
        WorkerJob(
            spec=spec,
            manifest=job.manifest,
            data_folder=job.data_folder,
            weights=job.weights,
            first_steps=(steps,) if steps else (),
            threads=job.threads,
            rendezvous=meeting,
        ),
        meeting,
    )
    line, reason, status = [], refusal(job.probes, spec.backend.name), "refused"
    try:
        line = [python_of(job.pythons, spec.backend.name), str(PROGRAM), str(path)]
    except Unavailable as error:
        reason, status = str(error), "unavailable"
    state = Contestant(spec=spec, status=status if reason else "completed", reason=reason)
    return LiveVariant(state, meeting, line)


if __name__ == "__main__":
    main()
