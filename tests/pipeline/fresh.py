"""The whole workflow with each rule in an environment of its own, where no data can be reached."""

import os
from dataclasses import dataclass
from pathlib import Path

from plugged import plug_in
from workspace import ROOT, UNREACHABLE, Checkout

# Backend -> its environment.
BACKENDS = {
    "tensorflow-mirrored": "tensorflow",
    "torch": "torch",
    "torch-xla": "torch-xla",
    "jax": "jax",
    "my-torch": "torch",  # of a plugin
}
CONDA = ROOT / "tests/pipeline/conda/bin"
NO_DATA = {
    "PARAGONE_MIRRORS": "",
    "HTTP_PROXY": UNREACHABLE,
    "HTTPS_PROXY": UNREACHABLE,
    "http_proxy": UNREACHABLE,
    "https_proxy": UNREACHABLE,
    "NO_PROXY": "",
    "no_proxy": "",
}


@dataclass(frozen=True)
class Fresh:
    """The finished checkout, and what snakemake printed while it trained."""

    checkout: Checkout
    output: str

    @property
    def results(self) -> Path:
        """Where the results are."""
        return self.checkout / "results"


def run(folder: Path) -> Fresh:
    """Install the environments, then run all without mirror and network, two steps an epoch."""
    checkout = Checkout(folder)
    plug_in(checkout, "my-torch")
    checkout.only("tpu_fashion_conv", [*BACKENDS], {"steps_per_epoch": 2, "epochs": 2}, epochs=2)
    line = ["all", "so_far", "--cores", "2", "--software-deployment-method", "conda"]
    path = f"{CONDA}{os.pathsep}{os.environ['PATH']}"
    installed = checkout.snakemake(*line, "--conda-create-envs-only", PATH=path)
    assert installed.returncode == 0, installed.stdout
    done = checkout.snakemake(*line, PATH=path, **NO_DATA)
    assert done.returncode == 0, done.stdout
    return Fresh(checkout, done.stdout)
