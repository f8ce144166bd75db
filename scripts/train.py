"""Train one run and write its record and its sample predictions."""

import argparse
import hashlib
from pathlib import Path

import numpy as np

from paragone import data, engines, fingerprint, record
from paragone.checkpoints import Checkpoints
from paragone.clocks import Ledger
from paragone.errors import entry_point
from paragone.initial_weights import Pretrained, read
from paragone.loop import SAMPLES, Outcome, train
from paragone.sources import sources
from paragone.spec import Spec
from paragone.summary import assemble
from paragone.usage import Usage, of_run

THUMBNAIL = 4096  # bytes; larger images are not kept with the predictions


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--spec", required=True, help="specification of the run, JSON")
    parser.add_argument("--manifest", required=True, type=Path, help="manifest of its data set")
    parser.add_argument("--data-folder", required=True, type=Path, help="where the arrays lie")
    parser.add_argument("--weights", type=Path, help="what scripts/fetch_weights.py wrote")
    parser.add_argument("--checkpoints", required=True, type=Path, help="folder to resume from")
    parser.add_argument("--threads", required=True, type=int, help="CPU cores to use at most")
    parser.add_argument("--record", required=True, type=Path, help="record.json to write")
    parser.add_argument("--predictions", required=True, type=Path, help="predictions.npz to write")
    return parser.parse_args(arguments)


@entry_point
def main(arguments: list[str] | None = None) -> None:
    """Run the program."""
    ledger = Ledger()
    options = parse(arguments)
    spec = Spec.from_json(options.spec)
    usage = Usage()
    if spec.backend["device"] == "cpu":
        fingerprint.limit_memory()
    threads = fingerprint.claim_cores(options.threads)
    process = fingerprint.process_entry(rank=0, threads=threads)
    engine = engines.create(spec)
    ledger.switch("data")
    dataset = data.load(options.manifest, options.data_folder)
    process |= of_run(spec, dataset)
    pretrained = read(options.weights, options.data_folder)
    checkpoints = Checkpoints(options.checkpoints, context(spec, dataset, pretrained))
    try:
        outcome = train(engine, spec, dataset, threads, ledger, checkpoints, process, pretrained)
        observed = getattr(engine, "devices", None)  # the memory may be full before they are known
        process["machine"]["devices"] = getattr(engine, "device_names", [])
    except engines.Unavailable as error:
        outcome = Outcome([process], status="unavailable", reason=str(error))
        observed = None
    if outcome.status != "completed":
        print(f"[{spec.name}] {outcome.status}: {outcome.reason}", flush=True)
    usage.stop(process, engine)
    write_predictions(options.predictions, dataset, outcome.probabilities)
    ledger.switch("other")
    record.write(assemble(spec, dataset, outcome, observed, ledger.seconds), options.record)
    checkpoints.remove()


def context(spec: Spec, dataset: data.Dataset, pretrained: Pretrained | None) -> str:
    """A hash of all that a checkpoint must agree with: specification, data, weights, code at work."""
    start = pretrained.sha256 if pretrained else "random"
    sha = hashlib.sha256(f"{spec.to_json()} {dataset.manifest_sha256} {start}".encode())
    for module in sources(__file__, f"paragone.engines.{spec.backend['engine']}"):
        sha.update(Path(module).read_bytes())
    return sha.hexdigest()[:12]


def write_predictions(path: Path, dataset: data.Dataset, probabilities: np.ndarray | None) -> None:
    """Write the first test examples with their labels and predictions; no rows if there are none.

    Arrays: images (n, height, width, channels) uint8 if they are small; labels and
    predictions (n,) int32; probabilities (n,) float32, those of the predicted classes.
    """
    if probabilities is None:
        probabilities = np.empty((0, len(dataset.class_names)), np.float32)
    count = min(SAMPLES, len(probabilities))
    arrays = {
        "labels": np.asarray(dataset.test_labels[:count]),
        "predictions": probabilities.argmax(1).astype(np.int32),
        "probabilities": probabilities.max(1, initial=0),
    }
    if dataset.test_inputs.ndim == 4 and dataset.test_inputs[0].nbytes <= THUMBNAIL:
        arrays["images"] = np.asarray(dataset.test_inputs[:count])
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f"{path.name}.unfinished")
    with unfinished.open("wb") as file:
        np.savez_compressed(file, **arrays)
    unfinished.rename(path)


if __name__ == "__main__":
    main()
