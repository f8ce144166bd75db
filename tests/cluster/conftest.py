"""The cluster, once a session, and checkouts whose Slurm profile is edited for it as a user would."""

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml
from cluster.slurm import CPUS, PARTITION, Cluster, missing
from workspace import Checkout

REQUIRED = "PARAGONE_SLURM_REQUIRED"  # set by .ci/run, which installs Slurm


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    """A running cluster; gone when the session ends."""
    if lacking := missing():
        reason = (
            f"a Slurm cluster needs Debian's {' and '.join(lacking)}, which are not installed: "
            f"apt-get install --no-install-recommends {' '.join(lacking)} ({REQUIRED} makes this a failure)"
        )
        if os.environ.get(REQUIRED):
            pytest.fail(f"{REQUIRED} is set, but {reason}")
        pytest.skip(reason)
    made = Cluster()
    # As Ctrl-C does it: pytest then ends its fixtures, and no job outlives a test that ran out of time.
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        made.start()
        yield made
    finally:
        made.stop()
        signal.signal(signal.SIGTERM, before)


@pytest.fixture(scope="session")
def slurm_checkout(fashion) -> Callable[[Path], Checkout]:
    """Make a checkout in a folder whose profiles/slurm fits the cluster, Fashion-MNIST at hand."""

    def make(folder: Path) -> Checkout:
        made = Checkout(folder)
        made.config["data"]["folder"] = str(fashion.folder)
        path = made / "profiles/slurm/profile.yaml"
        profile = yaml.safe_load(path.read_text())
        fitted = {"slurm_partition": PARTITION, "slurm_account": "anybody", "mem_mb": 1500}
        profile["default-resources"] |= fitted | {"runtime": 30}
        profile["set-threads"] = dict.fromkeys(profile["set-threads"], CPUS)
        for resources in profile["set-resources"].values():
            resources |= {"mem_mb": 5000, "runtime": 30}
        profile |= {
            "slurm-status-command": "squeue",
            "slurm-init-seconds-before-status-checks": 1,
            "latency-wait": 5,
        }
        path.write_text(yaml.safe_dump(profile))
        return made

    return make
