"""The messages between the coordinator of a contest and a worker, over the worker's standard input.

That is a socket, so that nobody else can speak on it, and either end learns at once that the other has ended.
"""

import os
from multiprocessing.connection import Connection
from typing import Any

import msgspec

from paragone.base.engine_reports import Devices, Modes
from paragone.base.typed_json import Count, Part, Whole
from paragone.records.run_record import FirstSteps, Positive, Process, TrainedModel


class Turn(Part, frozen=True):
    """The coordinator's order: train an epoch of one step, then one of `steps` more; 0 ends the contest."""

    steps: Whole


class Ready(Part, frozen=True, tag=True):
    """A worker's reply: it is built, warm, and has taken its first steps."""

    process: Process
    model: TrainedModel
    devices: Devices
    modes: Modes
    first_steps: FirstSteps | None


class Trained(Part, frozen=True, tag=True):
    """A worker's reply: seconds of the epoch of one step (`first`), and of the epoch of `steps` more.

    `updates`, `batches`: in both epochs, see `contest_record.Window`.
    """

    steps: Count
    first: Positive
    seconds: Positive
    updates: Whole
    batches: Whole


class Ended(Part, frozen=True, tag=True):
    """A worker's reply: its state is restored; the process has what it has used."""

    process: Process
    restored: bool


class Failed(Part, frozen=True, tag=True):
    """A worker's reply: it cannot go on, for a reason that is a result."""

    status: str
    reason: str


Reply = Ready | Trained | Ended | Failed


def link() -> Connection:
    """Return a worker's end of the socket; standard input is then empty for all else."""
    connection = Connection(os.dup(0))
    empty = os.open(os.devnull, os.O_RDONLY)
    os.dup2(empty, 0)
    os.close(empty)
    return connection


def send(link: Connection, message: msgspec.Struct) -> None:
    """Send a message; `BrokenPipeError` where the other end is gone."""
    link.send_bytes(msgspec.json.encode(message))


def receive(link: Connection, kind: Any) -> Any:
    """Wait for a message, a `Turn` or a `Reply`; `EOFError` where the other end is gone."""
    return msgspec.json.decode(link.recv_bytes(), type=kind)
