"""A worker's side of a contest: it gets ready, trains when it is told to, and sleeps otherwise."""

import time
from multiprocessing.connection import Connection

from paragone.data.batches import train_batches
from paragone.data.random_streams import framework_seed
from paragone.models.weights import digest
from paragone.timing.messages import Ended, Failed, Ready, Trained, Turn, receive, send
from paragone.training.counts import Counts
from paragone.training.loop import Worker, build, failure_of, warm_up
from paragone.training.worker import used


def take_turns(worker: Worker, link: Connection) -> None:
    """Get ready and train the steps of every turn, until a turn of none; the state is then restored.

    A failure that is a result is a message to the coordinator. Raises other errors.
    """
    try:
        _take_turns(worker, link)
    except Exception as error:
        if (failure := failure_of(worker.engine, error)) is None:
            raise
        send(link, Failed(*failure))


def _take_turns(worker: Worker, link: Connection) -> None:
    engine, spec, dataset = worker.engine, worker.spec, worker.dataset
    process = worker.processes[worker.world.rank]
    model, modes = build(worker)
    first_steps = warm_up(worker)
    before = engine.snapshot()
    send(link, Ready(process, model, engine.devices, modes, first_steps))
    epoch = 0  # epochs of their own order and augmentation, at the rates of the first
    while steps := receive(link, Turn).steps:
        seconds, counted = [], []
        for length in (1, 1 + steps):
            epoch += 1
            counts = Counts(engine, spec, dataset, epoch, length)
            batches = counts.over(train_batches(dataset, spec, epoch, engine.shard, length))
            rates = spec.learning_rates(1, length)
            begin = time.perf_counter()
            engine.train_epoch(framework_seed(spec.seed, epoch), rates, batches, length)
            seconds.append(time.perf_counter() - begin)
            counted.append((counts.updates, counts.batches))
        updates, drawn = map(sum, zip(*counted, strict=True))
        first, second = seconds
        send(link, Trained(steps, first, second, updates, drawn))
    engine.restore(before)
    restored = digest(engine.weights()) == model.initial_weights
    process = used(worker, process, engine.peak_device_memory())
    send(link, Ended(process, restored))
