"""Train as a worker of one variant in a contest, whenever the coordinator on standard input says so."""

import time
from multiprocessing.connection import Connection

from msgspec.structs import replace

from paragone.base.errors import entry_point
from paragone.base.processes import end_process
from paragone.base.typed_json import read_job
from paragone.data.batches import train_batches
from paragone.data.random_streams import framework_seed
from paragone.engines import keep_programs, learning_rates
from paragone.machine import limits
from paragone.records.contest_record import Contestant
from paragone.timing.turns import State, Trained, link, receive, send
from paragone.training.counts import Counts
from paragone.training.loop import Ledger, Worker, build, failure_of, warm_up
from paragone.training.worker import blaming_own_model, join, used
from paragone.workers import WorkerJob
from paragone.workers.rendezvous import Rendezvous


@entry_point
def main(arguments: list[str] | None = None) -> None:
    """Run the program."""
    ledger = Ledger()
    coordinator = link()
    job: WorkerJob = read_job(WorkerJob, arguments)
    limits.end_first()  # rather than the coordinator: the others go on
    meeting = Rendezvous(job.rendezvous, job.spec.workers, job.join_timeout)
    keep_programs()
    with meeting.reporting():
        worker = join(job, meeting, ledger)
        with blaming_own_model(job.spec):
            try:
                take_turns(worker, coordinator)
            except Exception as error:
                if (failure := failure_of(worker.engine, error)) is None:
                    raise
                status, reason = failure
                failed = Contestant(spec=job.spec, status=status, reason=reason)
                send(coordinator, State(failed))  # a result


def take_turns(worker: Worker, coordinator: Connection) -> None:
    """Get ready and train the steps of every turn, until a turn of none."""
    engine, spec, dataset = worker.engine, worker.spec, worker.dataset
    process = worker.processes[worker.world.rank]
    model, modes = build(worker)
    state = Contestant(
        spec=spec, model=model, modes=modes, first_steps=warm_up(worker), processes=[process]
    )
    send(coordinator, State(state))
    epoch = 0  # epochs of their own order and augmentation, at the rate of the first step
    while steps := receive(coordinator, int):
        seconds, totals = [], []
        for length in (1, 1 + steps):
            epoch += 1
            counts = Counts(engine, spec, dataset, epoch, length)
            batches = counts.over(train_batches(dataset, spec, epoch, engine.shard, length))
            rates = learning_rates(spec, 1, 1) * length
            begin = time.perf_counter()
            engine.train_epoch(framework_seed(spec.seed, epoch), rates, batches, length)
            seconds.append(time.perf_counter() - begin)
            totals.append((counts.updates, counts.batches))
        updates, drawn = map(sum, zip(*totals, strict=True))
        first, second = seconds
        send(coordinator, Trained(steps, first, second, updates, drawn))
    process = used(worker, process, engine.peak_device_memory())
    send(coordinator, State(replace(state, processes=[process])))


if __name__ == "__main__":
    main()
    end_process()
