"""PyTorch/XLA: the engine's own step as traced over virtual CPU devices, taken before it is compiled."""

from dataclasses import replace

from torch_xla.core import xla_model

from paragone.ahead_of_time.examples import dataset_of
from paragone.ahead_of_time.exports import Exported
from paragone.config.compilations import Program
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


def export(program: Program) -> Exported:
    """See `exports.export`; the engine marks the shardings, the compiler divides the program."""
    spec, dataset = program.spec, dataset_of(program)
    engine = _Tracer()
    here = replace(spec, backend={**spec.backend, "device": "cpu"})
    engine.build(here, dataset, threads=1)
    TorchXLA.end_of_step(engine)  # the initial state is an argument of the step, not made in it
    train, test = noise_batches(dataset, spec)
    engine.tracing = True
    try:
        if program.step == "train":
            engine.train_epoch(0, _RATE, [train], 1)
        else:
            engine.evaluate([test], 1)
    except _Traced:
        pass
    return Exported(
        stablehlo=engine.stablehlo,
        replicas=1,
        partitions=spec.replicas,
        parameters=sum(weight.numel() for weight in engine.model.parameters()),
        flop=engine.count_flop(spec, dataset),
    )
