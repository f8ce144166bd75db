"""JAX: the engine's own step, lowered for a mesh of devices that are described and not there."""

from typing import Any

import jax
import numpy as np
from jax.sharding import AbstractMesh, AxisType, NamedSharding, PartitionSpec
from msgspec.structs import replace

from ahead_of_time.exports import flop_per_example
from ahead_of_time.records import Exported
from paragone.config.run_spec import Spec
from paragone.data import Dataset
from paragone.data.batches import train_dtype
from paragone.engines.jax import Jax

# Of the platforms that JAX lowers for, one whose modules call no library: every compiler takes them.
PLATFORM = "tpu"


class StepOfJax(Jax):
    """The engine, with its compilable training step."""

    def arguments(self, spec: Spec, dataset: Dataset) -> tuple:
        """The arguments of one training step, with a batch and an example number, of zeros."""
        inputs = np.zeros(
            (spec.global_batch, *dataset.train_inputs.shape[1:]), train_dtype(dataset, spec)
        )
        batch = self._put((inputs, np.zeros(spec.global_batch, np.int32)))
        scalars = np.uint32(0), np.uint32(0), np.dtype(spec.weights_precision).type(1e-3)
        return self._state, self._totals(), self._squares, batch, *scalars

    def exported(self, spec: Spec, dataset: Dataset) -> Exported:
        """What is known of the step over the devices of `spec`."""
        return Exported(
            replicas=1,
            partitions=spec.replicas,
            parameters=sum(leaf.size for leaf in jax.tree.leaves(self._state["params"])),
            flop_per_example=flop_per_example(spec, dataset),
        )

    @property
    def train_step(self) -> Any:
        """The step: of `arguments` the new state and totals."""
        return self._train_step


def export(spec: Spec, dataset: Dataset) -> tuple[str, Exported]:
    """See `exports.export`; the batch is split over the axis "data", all else is on every device."""
    engine = StepOfJax()
    alone = replace(
        spec,
        replicas=1,
        per_replica_batch=spec.global_batch,
        backend=replace(spec.backend, device="cpu"),
        workers=1,
    )
    engine.build(alone, dataset, threads=1)
    mesh = AbstractMesh((spec.replicas,), ("data",), axis_types=(AxisType.Auto,))
    whole, split = (NamedSharding(mesh, PartitionSpec(*axes)) for axes in ((), ("data",)))

    def described(where: NamedSharding) -> Any:
        return lambda array: jax.ShapeDtypeStruct(array.shape, array.dtype, sharding=where)

    *state, batch, seed, step, rate = engine.arguments(alone, dataset)
    traced = engine.train_step.trace(
        *jax.tree.map(described(whole), state),
        jax.tree.map(described(split), batch),
        *map(described(whole), (seed, step, rate)),
    )
    lowered = traced.lower(lowering_platforms=(PLATFORM,))
    return lowered.as_text(dialect="stablehlo"), engine.exported(spec, dataset)
