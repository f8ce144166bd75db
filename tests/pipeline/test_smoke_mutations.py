"""Fields of real records changed at random: the rules see it, and the test says which only by the digest."""

import shutil

import pytest
from mutations import Mutations, determined


@pytest.mark.parametrize(
    ("count", "seed"), [(30, 1), pytest.param(200, 2, marks=pytest.mark.nightly)]
)
def test_a_changed_field_is_seen(results, completed, tmp_path, count, seed):
    """Of at least 95 %; what is not seen without the digest is what nothing else determines."""
    paths = []
    for made in completed:
        if made.spec.workload["name"] == "fashion-conv":
            paths.append(tmp_path / "runs" / made.run / "record.json")
            shutil.copytree(results / "runs" / made.run, paths[-1].parent)
    parity = [results / "parity/fashion-conv.json"]
    manifests = [results / "data/fashion_mnist/manifest.json"]
    changes = list(Mutations(paths, parity, manifests).run(count, seed))
    unseen = [name for name, found, _ in changes if not found]
    by_digest = sorted(name for name, _, otherwise in changes if not otherwise)
    print(
        f"{count - len(unseen)} of {count} changes are seen, {count - len(by_digest)} without the digest; "
        f"by the digest alone: {', '.join(by_digest)}"
    )
    assert len(unseen) <= 0.05 * count, unseen
    assert [name for name in by_digest if determined(name)] == []
    assert len(by_digest) < 0.5 * count
