"""Turn the raw files of one data set into plain arrays, once; write their manifest."""

import argparse
import json
import os
from pathlib import Path

from paragone.base.atomic_files import write_bytes
from paragone.base.errors import entry_point
from paragone.base.processes import end_process, take_environment
from paragone.data import serializer
from paragone.models import check_shape
from paragone.records import data_summary


@entry_point
def main() -> None:
    """Write manifest.json for one source.json; see paragone/data/serializer.py."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--source", required=True, type=Path, help="what scripts/fetch.py wrote")
    parser.add_argument("--folder", required=True, type=Path, help="`data.folder` of the config")
    parser.add_argument("--models", nargs="*", default=[], help="that are trained on it")
    parser.add_argument("--output", required=True, type=Path)
    options = parser.parse_args()
    # Decoding needs no GPU and must not take one from a training job; TensorFlow's start-up notes
    # are no news to the reader of this log.
    os.environ["CUDA_VISIBLE_DEVICES"] = "-1"
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    source = json.loads(options.source.read_bytes())
    manifest = serializer.serialize(source, options.folder)
    (summary,) = data_summary.read([manifest]).values()
    for model in options.models:
        check_shape(model, source["dataset"], summary.shape, summary.vocabulary)
    write_bytes(manifest.read_bytes(), options.output)
    print(f"{source['dataset']}: {summary.what}")
    print(*(f"  {name} {train:,} + {test:,}" for name, train, test, _ in summary.rows), sep=";")
    for fact in summary.facts:
        print(f"  {fact}")
    for notice in summary.notices:
        print(f"notice: {source['dataset']}: {notice}")


if __name__ == "__main__":
    take_environment(network=True)
    main()
    end_process()
