"""The cluster, once a session."""

import os
import signal
from collections.abc import Iterator

import pytest
from cluster.slurm import Cluster, missing

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
