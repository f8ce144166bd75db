"""PyTorch/XLA: the engine's own step as traced over virtual CPU devices, taken before it is compiled."""

from contextlib import suppress

from msgspec.structs import replace
from torch_xla.core import xla_model

from ahead_of_time.exports import flop_per_example
from ahead_of_time.records import Exported
from paragone.config.run_spec import Spec
from paragone.data import Dataset
from paragone.data.batches import noise_batches
from paragone.engines.torch_xla import TorchXLA

_RATE = 1e-3  # a constant of the traced program; no other rate makes another program


class _Traced(Exception):
    """The step was traced: the engine goes no further."""


class _Tracer(TorchXLA):
    """The engine, which stops where it would have its traced step compiled."""

    stablehlo = ""
    tracing = False

    def end_of_step(self) -> None:
        """Take the module of all tensors that the step has changed."""
        if not self.tracing:
            return super().end_of_step()
        self.stablehlo = xla_model.get_stablehlo()
        raise _Traced


def export(spec: Spec, dataset: Dataset) -> tuple[str, Exported]:
    """See `exports.export`; the engine marks the shardings, the compiler divides the program."""
    engine = _Tracer()
    engine.build(replace(spec, backend=replace(spec.backend, device="cpu")), dataset, threads=1)
    TorchXLA.end_of_step(engine)  # the initial state is an argument of the step, not made in it
    batch, _ = noise_batches(dataset, spec)
    engine.tracing = True
    with suppress(_Traced):
        engine.train_epoch(0, [_RATE], [batch], 1)
    return engine.stablehlo, Exported(
        replicas=1,
        partitions=spec.replicas,
        parameters=sum(weight.numel() for weight in engine.model.parameters()),
        flop_per_example=flop_per_example(spec, dataset),
    )
