"""Does training on this machine's accelerator keep what is promised of it? `make test-accelerator`.

Runs by itself where a CUDA device or a TPU is; everything here goes through the programs of the workflow.
"""

import pytest
from accelerator.conftest import KIND, config_on, lacking, replicas_on, spec_on
from faults.killing import started
from parity.probing import judge, observe
from workspace import CONFIG, changed, command, succeed, train_command

from paragone.config.engines import first_steps
from paragone.machine import accelerators

pytestmark = pytest.mark.skipif(
    KIND is None,
    reason="no CUDA device and no TPU on this machine (PARAGONE_ACCELERATOR=auto makes this a failure)",
)
FEEDS = ["batches", "pinned", "resident"]


def test_a_run_learns_takes_the_steps_of_the_reference_and_resumes_to_the_same_bits(
    run, small, tmp_path, backend
):
    spec = spec_on(backend, epochs=6, steps_per_epoch=10)
    output = tmp_path / "steps.npz"
    keys = {"manifest": small.manifest, "data_folder": small.folder, "first_steps": True}
    succeed(command("probe", spec=first_steps(spec), output=output, **keys))
    whole = run(spec, first_steps=[output])
    assert whole.status == "completed", whole.reason
    assert whole.first_steps.passed, whole.first_steps.reason
    assert whole.spec.backend.device == KIND
    assert whole.epochs[-1].test_accuracy > 0.3
    (process,) = whole.processes
    assert process.modes.math_mode == "ieee"
    assert process.modes.deterministic
    if KIND == "gpu":
        assert process.machine.accelerators
        assert process.peak_device_bytes > 0

    with started(train_command(spec, small, tmp_path / "killed", "launch"), tmp_path / "killed"):
        pass  # killed after its first checkpoint
    resumed = run(spec, "killed")
    assert len(resumed.processes) == 2
    assert resumed.model == whole.model
    assert [e.train_loss for e in resumed.epochs] == [e.train_loss for e in whole.epochs]


@pytest.mark.parametrize("workload", ["fashion-cnn", "fashion-conv", "reuters-cnn"])
def test_it_passes_the_parity_gate(data_of, tmp_path, backend, workload):
    arrays = [data_of[CONFIG["workloads"][workload]["dataset"]]]
    observe("reference", [workload], arrays, tmp_path, config_on())
    observe(backend, [workload], arrays, tmp_path, config_on(), replicas=replicas_on(backend))
    probes = [tmp_path / workload / f"{backend}.npz"]
    reference = tmp_path / workload / "reference.npz"
    verdict = judge(workload, reference, probes)[backend]
    if verdict["passed"] is None and not (KIND == "gpu" and "torch" in backend):
        pytest.skip(lacking(backend, verdict["reason"]))
    assert verdict["passed"], verdict


def test_energy_is_that_of_the_work(run, cuda):
    made = run(spec_on("torch", epochs=1, steps_per_epoch=400))
    (process,) = made.processes
    seconds = sum(part.seconds for part in process.epochs)
    joules = sum(part.accelerator_joules for part in process.epochs)
    assert 1 < joules / seconds < 2000 * len(accelerators.names())  # watts


def test_all_feeds_train_to_the_same_bits(run, cuda):
    """unit/test_torch_engine.py tests on a CPU that no step waits for the device."""
    spec = spec_on("torch", epochs=1, steps_per_epoch=4)
    models = [run(changed(spec, backend={"feed": feed}), feed).model for feed in FEEDS]
    assert models == [models[0]] * len(FEEDS)


@pytest.mark.parametrize("name", ["torch-ddp", "torch-fsdp"])
def test_workers_on_gpus_add_up_by_nccl(run, cuda, name):
    """Over two GPUs where there are as many; over one, the group is of one."""
    workers = min(2, len(accelerators.names()))
    spec = spec_on(name, workers, epochs=1, steps_per_epoch=10)
    made = run(spec)
    assert made.status == "completed", made.reason
    assert {process.modes.collectives for process in made.processes} == {"nccl"}
    assert len(made.processes) == workers
