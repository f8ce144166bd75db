"""Turn the raw files of one data set into plain arrays, once; write their manifest."""

import json
import os
from pathlib import Path

import msgspec

from paragone.base.atomic_files import write_bytes
from paragone.base.errors import entry_point
from paragone.base.processes import end_process, take_environment
from paragone.base.typed_json import Job, read_job
from paragone.config.datasets import SPLITS
from paragone.data import serializer
from paragone.data.summary import DataSummary
from paragone.models import check_shape


class Serialization(Job, kw_only=True):
    """A data set that scripts/fetch.py has described in `source`.

    `folder`: `data.folder` of the config. `models`: the names of those that are trained on it.
    """

    source: Path
    folder: Path
    models: tuple[str, ...] = ()
    manifest: Path


@entry_point
def main() -> None:
    """Write manifest.json for one source.json; see paragone/data/serializer.py."""
    job: Serialization = read_job(Serialization)
    # Decoding needs no GPU and must not take one from a training job; TensorFlow's start-up notes
    # are no news to the reader of this log.
    os.environ["CUDA_VISIBLE_DEVICES"] = "-1"
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    source = json.loads(job.source.read_bytes())
    content = serializer.serialize(source, job.folder).read_bytes()
    manifest = json.loads(content)
    summary = msgspec.convert(manifest["summary"], DataSummary)
    for model in job.models:
        check_shape(model, source["dataset"], summary.shape, summary.vocabulary)
    write_bytes(content, job.manifest)
    train, test = (manifest["arrays"][f"{split}_labels"]["shape"][0] for split in SPLITS)
    print(f"{source['dataset']}: {train:,} training and {test:,} test examples of {summary.what}")
    print(*(f"  {name} {train:,} + {test:,}" for name, train, test in summary.rows), sep=";")
    for fact in summary.facts:
        print(f"  {fact}")
    for notice in summary.notices:
        print(f"notice: {source['dataset']}: {notice}")


if __name__ == "__main__":
    take_environment(network=True)
    main()
    end_process()
