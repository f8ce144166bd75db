"""Fields of real records changed at random: the rules see it, and the test says which only by the digest."""

import shutil

from mutations import Mutations, determined

COUNT = 30


def test_a_changed_field_is_seen(results, completed, tmp_path):
    """At least 95 % are seen; what is not seen without the digest is what nothing else determines."""
    paths = []
    for made in completed:
        if made.spec.workload.name == "fashion-conv":
            paths.append(tmp_path / "runs" / made.run / "record.json")
            shutil.copytree(results / "runs" / made.run, paths[-1].parent)
    parity = [results / "parity/fashion-conv.json"]
    manifests = [results / "data/fashion_mnist/manifest.json"]
    changes = list(Mutations(paths, parity, manifests).run(COUNT, seed=1))
    unseen = [name for name, seen, _ in changes if not seen]
    by_digest = sorted(name for name, _, otherwise in changes if not otherwise)
    print(f"by the digest alone: {', '.join(by_digest)}")
    assert len(unseen) <= 0.05 * COUNT, unseen
    assert [name for name in by_digest if determined(name)] == []
    assert len(by_digest) < 0.5 * COUNT
