"""What the coordinator of a contest and a worker say to each other, over the worker's standard input.

That is a socket, so that nobody else can speak on it, and either end learns at once that the other has ended.
"""

import os
from multiprocessing.connection import Connection
from typing import Any

import msgspec

from paragone.base.engine_reports import Devices, Modes
from paragone.base.typed_json import Count, Part, Whole
from paragone.records.run_record import FirstSteps, Model, Positive, Process


class Turn(Part, frozen=True):
    """Of the coordinator: train an epoch of one step, then one of so many more; 0 ends the contest."""

    steps: Whole


class Ready(Part, frozen=True, tag=True):
    """Of a worker: it is built, warm, and has taken its first steps."""

    process: Process
    model: Model
    devices: Devices
    modes: Modes
    first_steps: FirstSteps | None


class Trained(Part, frozen=True, tag=True):
    """Of a worker: what the epoch of one step took (`first`), and the epoch of so many more (`seconds`).

    `updates`, `batches`: in both, see `contest_record.Window`.
    """

    steps: Count
    first: Positive
    seconds: Positive
    updates: Whole
    batches: Whole


class Ended(Part, frozen=True, tag=True):
    """Of a worker: its state is restored; what it has used."""

    process: Process
    restored: bool


class Failed(Part, frozen=True, tag=True):
    """Of a worker: it cannot go on, for a reason that is a result."""

    status: str
    reason: str


Reply = Ready | Trained | Ended | Failed


def link() -> Connection:
    """A worker's end of the socket; what else reads standard input finds nothing."""
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
