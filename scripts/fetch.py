"""Find and check the files of a data set, or the published weights of a model; describe them as JSON."""

from pathlib import Path
from typing import Any

import msgspec

from paragone.base import plugins
from paragone.base.atomic_files import write_json
from paragone.base.errors import entry_point
from paragone.base.processes import take_environment
from paragone.base.typed_json import Job, read_job
from paragone.config.datasets import STATES
from paragone.data import locate


class Search(Job, kw_only=True):
    """A data set, with its `block` of `datasets`, or a model whose published weights are looked for.

    `data`: the config's `data` block. `path`: that of the block. `state`: of the user's files; another one
    has them looked at again.
    """

    dataset: str = ""
    block: dict[str, Any] = msgspec.field(default_factory=dict)
    path: str | dict[str, str] | None = None
    model: str = ""
    data: dict[str, Any]
    state: str = ""
    source: Path


@entry_point
def main() -> None:
    """Run the program; for the content of its output see `locate.find` and the paper's `provide`."""
    job: Search = read_job(Search)
    if job.dataset:
        block = job.block if job.path is None else job.block | {"path": job.path}
        source = locate.find(job.dataset, block, job.data)
        if job.path is not None:
            write_json([job.state], job.source.with_name(STATES))
        print(
            f"{source['dataset']}: {source['source']}, edition {source['edition']} ({source['origin']})"
        )
    else:
        source = plugins.load("models", "pretrained", "provide").provide(job.model, job.data)
        origin = f" ({source['origin']})" if source["origin"] else ""
        print(f"{source['model']}: initial weights {source['initializer']}{origin}")
    write_json(source, job.source)


if __name__ == "__main__":
    take_environment(network=True)
    main()
