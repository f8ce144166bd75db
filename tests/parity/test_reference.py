"""Every task, optimizer and schedule is the reference's; the gate refuses every wrong engine for its reason.

On more frameworks: test_full.py and test_nightly.py.
"""

from parity.driving import last_of
from parity.probing import judge, observe
from parity.protocols import CONFIGURED, TAKEN
from parity.tasks import TASKS


def test_every_protocol_passes(in_one_folder, references, tmp_path, cell):
    backend, taken = cell
    observe(backend, TAKEN[taken], in_one_folder, tmp_path, CONFIGURED)
    for name in TAKEN[taken]:
        probes = [tmp_path / name / f"{backend}.npz"]
        verdict = judge(name, references(name), probes, tmp_path / f"{name}.json")[backend]
        assert verdict["passed"], (name, verdict)


def test_the_class_of_keras_2_passes(in_one_folder, references):
    """The reference's NAdam of Keras 2 is what Keras 2's own class computes."""
    (texts,) = (each for each in in_one_folder if "reuters" in each.manifest.parts)
    files = texts.folder, texts.manifest, references("nadam-keras-2")
    # Other constants than Keras', which it rounds to single precision, the protocol does not have.
    assert 0 < last_of("observe_keras_2.py", *files) < 1e-8


def test_every_task_passes_and_wrong_ones_are_refused_for_their_reason(tmp_path, cell):
    last_of("judge_tasks.py", "reference", tmp_path)
    judged = last_of("judge_tasks.py", cell, tmp_path)
    assert judged == {"reasons": dict.fromkeys(TASKS), "unexpected": {}}


def test_every_wrong_engine_is_refused_for_its_reason(in_one_folder, references, tmp_path, cell):
    backend, workload, precision = cell
    manifests = (each.manifest for each in in_one_folder)
    places = in_one_folder[0].folder, references(workload).parents[1], *manifests
    # What a bug leaves as it is JAX then compiles once: two fifths less time.
    cache = {
        "JAX_COMPILATION_CACHE_DIR": str(tmp_path),
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
        "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
    }
    judged = last_of("judge_wrong_engines.py", backend, precision, *places, **cache)
    assert judged["tried"] > 0
    assert judged["unexpected"] == {}


CELLS = {
    test_every_protocol_passes: [("torch", "all")],
    test_every_task_passes_and_wrong_ones_are_refused_for_their_reason: ["torch"],
    # Backend, a workload (with which others of its kind are tried), precision.
    test_every_wrong_engine_is_refused_for_its_reason: [("torch", "fashion-cnn", "float64")],
}
