"""The record of contests: all variants of a question alive at once, timed in turn. Times are in seconds."""

from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType, field

from paragone.base.engine_reports import Modes
from paragone.base.typed_json import Count, Part, Share, Whole
from paragone.config.run_spec import Spec
from paragone.records.run_record import (
    Activity,
    DataRead,
    FirstSteps,
    Number,
    Positive,
    Process,
    Sha256,
    Status,
    Time,
    TrainedModel,
)

# decided: every pair is decided, or there is none. minutes: another contest would have gone past the time of
# the question. contests: all that were allowed are held. untimed: no variant could be timed. busy: others had
# the machine for too long.
Ended = Literal["decided", "minutes", "contests", "untimed", "busy"]


class Contestant(Part, frozen=True, kw_only=True):
    """One variant in a contest.

    `reason`: one sentence where it was not timed to the end. `steps`: number in a window, as calibrated; None
    where it was not. `model`, `modes`, `first_steps`: as in the record of a run. `processes`:
    one per rank; empty where the workers did not meet.
    """

    spec: Spec
    status: Status = "completed"
    reason: str | None = None
    steps: Count | None = None
    model: TrainedModel | None = None
    modes: Modes | None = None
    first_steps: FirstSteps | None = None
    processes: list[Process] = field(default_factory=list)


class Window(Part, frozen=True):
    """One variant training while the others sleep.

    `contestant`: its index. It trained an epoch of one step in `first` seconds, then one of `steps` more in
    `seconds`, by the clock of its first worker: the difference is `steps` without the start of an epoch.
    `sleeping`: CPU seconds of the workers of all other variants meanwhile, by the kernel's clocks of the
    processes; `host.run` is that of all variants. `updates`, `batches`: updates that the optimizer counted in
    both epochs, and batches that the engine drew in the protocol's order; those of the worker that did least.
    """

    round: Count
    contestant: Whole
    steps: Count
    first: Positive
    seconds: Positive
    sleeping: Number
    host: Activity
    updates: Whole
    batches: Whole


class Contest(Part, frozen=True, kw_only=True):
    """All variants of a question, timed in turn.

    `together`: whether all were alive at once; else they do not fit into memory together, and each had its
    windows of all rounds before the next one started. `windows`: in the order of time. `seconds`: length of
    the contest, with the attempt to hold it together. `load`: the share of the machine that others could have
    in a window, which is disturbed otherwise. `lost`: those of them that others took, in disturbed
    windows and in waiting. `busiest`: the largest share of the machine that was seen of the busiest programs.
    """

    together: bool = True
    contestants: Annotated[list[Contestant], Meta(min_length=1)]
    windows: list[Window] = field(default_factory=list)
    started: Time
    seconds: Number
    load: Share | UnsetType = UNSET
    lost: Number | UnsetType = UNSET
    busiest: dict[str, float] | UnsetType = UNSET


class ContestsRecord(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """The contests of one question.

    `planned`: how many were allowed. `ended`: why no further one was held, None while they go on. `digest`:
    SHA-256 of all other fields.
    """

    schema: Literal[1] = 1
    question: Annotated[str, Meta(pattern="^[a-z0-9.-]+$")]
    data: DataRead
    planned: Count
    ended: Ended | None = None
    contests: Annotated[list[Contest], Meta(min_length=1)] = field(default_factory=list)
    digest: Sha256 | None = None


def variables(spec: Spec) -> dict[str, str]:
    """Return the tuning variables of a variant's processes.

    Where variants share the memory of a GPU, JAX must not take most of it when it starts. PyTorch and the
    project's TensorFlow do not.
    """
    shared = {"XLA_PYTHON_CLIENT_PREALLOCATE": "false"} if spec.backend.device == "gpu" else {}
    return shared | spec.tuning.variables
