"""The rules that one record must obey, one function each: what it yields is what breaks them.

`specification` expects a record that is valid against the schema, the others a valid specification too.
"""

import hashlib
import json
import math
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import jsonschema

from paragone.clocks import COLD, PARTS
from paragone.compliance.rules import Checks, Finding, Record, limit
from paragone.outcomes import DIVERGED, steady, time_to_target
from paragone.spec import Spec, canonical

SCHEMA = Path(__file__).parents[3] / "rules" / "schemas" / "record.schema.json"
CHECKS = Checks()
LOSSES = ("train_loss", "test_loss")


@CHECKS.rule("schema")
def schema(record: Record) -> Iterator[Finding]:
    """Shape, types and ranges."""
    for error in sorted(_validator().iter_errors(record), key=lambda error: list(error.path)):
        yield Finding(error.json_path, error.message)


@CHECKS.rule("specification")
def specification(record: Record) -> Iterator[Finding]:
    """The keys that identity, schedule and cell are made of."""
    try:
        spec = Spec(**record["spec"])
        needed = [spec.name, spec.learning_rate(1), spec.workload["dataset"]]
        needed += [spec.batch["per_replica"]]
        needed += [spec.backend[key] for key in ("engine", "strategy", "device")]
    except (TypeError, KeyError) as error:
        yield Finding("spec", f"not the specification of a run: {error}")
    else:
        if None in needed:
            yield Finding("spec", "not the specification of a run: a null in it")


@CHECKS.rule("name")
def name(record: Record) -> Iterator[Finding]:
    """The run's identity."""
    expected = Spec(**record["spec"]).name
    if record["run"] != expected:
        yield Finding("run", f"{record['run']}, its specification's name is {expected}")


@CHECKS.rule("status")
def status(record: Record) -> Iterator[Finding]:
    """What each status implies."""
    ended, epochs, model = record["status"], record["epochs"], record["model"]
    if (ended == "completed") == (record["reason"] is not None):
        yield Finding("reason", f"{record['reason']!r} of a run that is {ended}")
    if ended == "unavailable" and (epochs or record["devices"]["observed"]):
        yield Finding("status", "unavailable, but with epochs or devices")
    if ended == "completed":
        for key in ("data", "model", "clocks"):
            if record[key] is None:
                yield Finding(key, "null in a completed run")
        if not epochs:
            yield Finding("epochs", "none in a completed run")
        if model and model["final_weights"] is None:
            yield Finding("model.final_weights", "null in a completed run")
    lost = [(row["epoch"], key) for row in epochs for key in LOSSES if row[key] is None]
    for epoch, key in lost:
        if key == "train_loss" and (ended != "diverged" or epoch != len(epochs)):
            yield Finding(f"epochs[{epoch - 1}].{key}", f"not finite in a run that is {ended}")
    last = epochs[-1]["train_loss"] if epochs else None
    if ended == "diverged" and last is not None and last <= DIVERGED:
        yield Finding("status", f"diverged, but the last training loss is {last}")


@CHECKS.rule("data")
def data(record: Record) -> Iterator[Finding]:
    """The data that were read."""
    read, workload = record["data"], record["spec"]["workload"]
    if read is None:
        return
    if read["dataset"] != workload["dataset"]:
        yield Finding("data.dataset", f"{read['dataset']}, the workload's is {workload['dataset']}")
    if (read["source"] == "synthetic") != (read["edition"] == "synthetic"):
        yield Finding("data.source", f"{read['source']}, of edition {read['edition']}")


@CHECKS.rule("devices")
def devices(record: Record) -> Iterator[Finding]:
    """Requested = specified, observed = requested."""
    spec, requested = record["spec"], record["devices"]["requested"]
    planned = {"kind": spec["backend"]["device"], "replicas": spec["replicas"]}
    for key, value in planned.items():
        if requested[key] != value:
            yield Finding(f"devices.requested.{key}", f"{requested[key]}, specified {value}")
    observed = record["devices"]["observed"]
    if record["status"] == "completed" and observed != requested:
        yield Finding("devices.observed", f"{observed}, requested {requested}")


@CHECKS.rule("threads")
def threads(record: Record) -> Iterator[Finding]:
    """Threads within the cores of the process."""
    for at, process in enumerate(record["processes"]):
        given, cores = process["threads"], process["machine"]["cores"]
        if given > cores:
            yield Finding(f"processes[{at}].threads", f"{given} on {cores} cores")


@CHECKS.rule("clock-sum")
def clock_sum(record: Record) -> Iterator[Finding]:
    """Cold parts, train, evaluate, checkpoint and other add up."""
    if clocks := record["clocks"]:
        parts = (clocks["cold"][part] if part in COLD else clocks[part] for part in PARTS)
        yield from _unequal("clocks.end_to_end", clocks["end_to_end"], math.fsum(parts))


@CHECKS.rule("epoch-sum")
def epoch_sum(record: Record) -> Iterator[Finding]:
    """The clocks of training and evaluation, and the running sum."""
    epochs, clocks = record["epochs"], record["clocks"]
    # A full memory ends a run in the middle of an epoch.
    if epochs and clocks and record["status"] != "out_of_memory":
        for part in ("train", "evaluate"):
            total = math.fsum(row[f"{part}_seconds"] for row in epochs)
            yield from _unequal(f"clocks.{part}", clocks[part], total)
    elapsed = 0.0
    for at, row in enumerate(epochs):
        elapsed += row["train_seconds"]
        yield from _unequal(f"epochs[{at}].elapsed", row["elapsed"], elapsed)


@CHECKS.rule("throughput")
def throughput(record: Record) -> Iterator[Finding]:
    """Examples over seconds."""
    if found := record["steady"]:
        speed = found["examples"] / found["seconds"] if found["seconds"] else math.inf
        yield from _unequal("steady.examples_per_second", found["examples_per_second"], speed)


@CHECKS.rule("steady")
def steady_epochs(record: Record) -> Iterator[Finding]:
    """Which epochs are counted."""
    found, expected = record["steady"], steady(record["epochs"])
    if (found is None) != (expected is None):
        yield Finding("steady", f"{found}, by the epochs it is {expected}")
    elif found and expected:
        for key in ("epochs", "examples", "seconds"):
            yield from _unequal(f"steady.{key}", found[key], expected[key])


@CHECKS.rule("epochs")
def epochs(record: Record) -> Iterator[Finding]:
    """No hole, none twice."""
    numbers = [row["epoch"] for row in record["epochs"]]
    if numbers != list(range(1, len(numbers) + 1)):
        yield Finding("epochs", f"not every epoch from the first on is there once: {numbers}")


@CHECKS.rule("planned-epochs")
def planned_epochs(record: Record) -> Iterator[Finding]:
    """No end too early or too late."""
    count = len(record["epochs"])
    planned, target = record["spec"]["epochs"], record["spec"]["workload"].get("target") or {}
    stopped = target.get("stop") and (record["target"] or {}).get("reached")
    whole = count == planned or (stopped and count < planned)
    if count > planned or (record["status"] == "completed" and not whole):
        yield Finding("epochs", f"{count} of {planned} planned")


@CHECKS.rule("processes")
def processes(record: Record) -> Iterator[Finding]:
    """Starts and resumptions in order."""
    entries, rows = record["processes"], record["epochs"]
    starts = [entry["started"] for entry in entries if entry["rank"] == 0]
    if starts != sorted(starts):
        yield Finding("processes.started", f"not in order: {', '.join(starts)}")
    firsts = [entry["first_epoch"] for entry in entries]
    if firsts[0] != 1 or firsts != sorted(firsts):
        yield Finding("processes.first_epoch", f"{firsts}, not from 1 on upwards")
    flagged = [row["epoch"] for row in rows if row["first_of_process"]]
    expected = sorted({first for first in firsts if first <= len(rows)})
    if flagged != expected:
        told = f"first epochs of a process are {flagged}, the processes began with {expected}"
        yield Finding("epochs.first_of_process", told)


@CHECKS.rule("ranks")
def ranks(record: Record) -> Iterator[Finding]:
    """One process a worker and start."""
    workers = record["devices"]["requested"]["workers"]
    groups = defaultdict(list)
    for entry in record["processes"]:
        groups[entry["first_epoch"]].append(entry["rank"])
    for first, found in groups.items():
        if record["status"] == "completed" and sorted(found) != list(range(workers)):
            told = f"{sorted(found)} from epoch {first} on, of {workers} worker(s)"
            yield Finding("processes.rank", told)


@CHECKS.rule("work")
def work(record: Record) -> Iterator[Finding]:
    """Steps and examples; each replica counted once."""
    spec = record["spec"]
    batch = spec["batch"]
    if batch["global"] != batch["per_replica"] * spec["replicas"]:
        told = f"{batch['global']}, {spec['replicas']} replicas of {batch['per_replica']}"
        yield Finding("spec.batch.global", told)
    if record["data"] is None:
        return
    there = record["data"]["train_examples"]
    used = min(spec["workload"].get("train_examples", there), there)
    steps = spec["steps_per_epoch"] or used // batch["global"]
    for at, row in enumerate(record["epochs"]):
        if row["steps"] != steps:
            yield Finding(f"epochs[{at}].steps", f"{row['steps']}, planned {steps}")
        if row["examples"] != row["steps"] * batch["global"]:
            told = f"{row['examples']}, {row['steps']} steps of {batch['global']}"
            yield Finding(f"epochs[{at}].examples", told)


@CHECKS.rule("learning-rate")
def learning_rate(record: Record) -> Iterator[Finding]:
    """The schedule was followed."""
    spec = Spec(**record["spec"])
    for at, row in enumerate(record["epochs"]):
        expected = spec.learning_rate(row["epoch"])
        yield from _unequal(f"epochs[{at}].learning_rate", row["learning_rate"], expected)


@CHECKS.rule("accuracy")
def accuracy(record: Record) -> Iterator[Finding]:
    """Whole test examples."""
    if record["data"] is None:
        return
    examples = record["data"]["test_examples"]
    for at, row in enumerate(record["epochs"]):
        right = row["test_accuracy"] * examples
        if abs(right - round(right)) > limit("accuracy") * examples:
            told = f"{row['test_accuracy']} is {right:.3f} of {examples} examples"
            yield Finding(f"epochs[{at}].test_accuracy", told)


@CHECKS.rule("target")
def target(record: Record) -> Iterator[Finding]:
    """First hit and last miss, by the epochs."""
    planned = record["spec"]["workload"].get("target")
    expected, found = time_to_target(planned, record["epochs"]), record["target"]
    if (found is None) != (expected is None):
        yield Finding("target", f"{found}, by the specification it is {expected}")
    elif found and expected:
        for key, value in expected.items():
            if found[key] != value:
                yield Finding(f"target.{key}", f"{found[key]}, by the epochs it is {value}")


@CHECKS.rule("weights")
def weights(record: Record) -> Iterator[Finding]:
    """Something was learned."""
    model = record["model"]
    if record["epochs"] and model and model["final_weights"] == model["initial_weights"]:
        yield Finding("model.final_weights", f"{model['final_weights']}, as before training")


@CHECKS.rule("efficiency")
def efficiency(record: Record) -> Iterator[Finding]:
    """FLOP/s of the steady epochs."""
    found, warm = record["efficiency"], record["steady"]
    if found is None:
        return
    speed = found["steady_flop_per_second"]
    if (speed is None) != (warm is None):
        yield Finding("efficiency.steady_flop_per_second", f"{speed}, steady is {warm}")
    elif warm:
        expected = found["train_flop_per_example"] * warm["examples_per_second"]
        yield from _unequal("efficiency.steady_flop_per_second", speed, expected)


@CHECKS.rule("read")
def read(record: Record) -> Iterator[Finding]:
    """Hashes of specification and manifest, of every process."""
    config = hashlib.sha256(canonical(record["spec"]).encode()).hexdigest()
    manifest = (record["data"] or {}).get("manifest_sha256")
    for at, process in enumerate(record["processes"]):
        if process["config_sha256"] != config:
            told = f"{process['config_sha256']}, the specification's is {config}"
            yield Finding(f"processes[{at}].config_sha256", told)
        if manifest and process["manifest_sha256"] != manifest:
            told = f"{process['manifest_sha256']}, the run's is {manifest}"
            yield Finding(f"processes[{at}].manifest_sha256", told)


@CHECKS.rule("busy-flag")
def busy_flag(record: Record) -> Iterator[Finding]:
    """The flag says what the share says."""
    for at, process in enumerate(record["processes"]):
        share, busy = process["load"]["other_cpu_share"], process["load"]["busy"]
        expected = None if share is None else share > limit("busy-flag")
        if busy != expected:
            yield Finding(f"processes[{at}].load.busy", f"{busy}, others used {share}")


@CHECKS.rule("isolation")
def isolation(record: Record) -> Iterator[Finding]:
    """Who else was busy."""
    for at, process in enumerate(record["processes"]):
        if process["load"]["busy"]:
            told = f"true, others used {process['load']['other_cpu_share']:.3f} of the machine"
            yield Finding(f"processes[{at}].load.busy", told)


@CHECKS.rule("throttling")
def throttling(record: Record) -> Iterator[Finding]:
    """Heat and power."""
    for at, process in enumerate(record["processes"]):
        for key in ("cpu_throttles", "accelerator_throttled"):
            if process["load"][key]:
                yield Finding(f"processes[{at}].load.{key}", str(process["load"][key]))


@CHECKS.rule("clean-code")
def clean_code(record: Record) -> Iterator[Finding]:
    """A commit that says what ran."""
    for at, process in enumerate(record["processes"]):
        if process["git"] is None:
            yield Finding(f"processes[{at}].git", "null: not a repository")
        elif process["git"]["dirty"]:
            yield Finding(f"processes[{at}].git.dirty", f"true, on {process['git']['commit']}")


def _unequal(where: str, found: float, expected: float) -> Iterator[Finding]:
    if not math.isclose(found, expected, rel_tol=1e-9, abs_tol=1e-6):
        yield Finding(where, f"{found} is not {expected}")


@cache
def _validator() -> jsonschema.Draft202012Validator:
    return jsonschema.Draft202012Validator(json.loads(SCHEMA.read_text()))
