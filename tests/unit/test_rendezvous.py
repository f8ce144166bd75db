"""A worker among those of its run."""

from paragone.base.ranks import ALONE
from paragone.workers.rendezvous import Rendezvous


def test_a_worker_alone_has_a_time_limit_too():
    """NCCL applies it to a group of one: at 0 s its first operation would end the process."""
    assert Rendezvous(None, workers=1, timeout=7).join().timeout == 7
    assert ALONE.timeout > 0
