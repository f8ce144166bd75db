"""JAX: the engine's own step, lowered for a mesh of devices that are described and not there."""

from dataclasses import replace
from typing import Any

import jax
import numpy as np
from jax.sharding import AbstractMesh, AxisType, NamedSharding, PartitionSpec

from paragone.ahead_of_time.examples import dataset_of
from paragone.ahead_of_time.exports import Exported
from paragone.config.compilations import Program
from paragone.data.batches import train_dtype
from paragone.engines.jax import Jax

# Of the platforms that JAX lowers for, one whose modules call no library: every compiler takes them.
PLATFORM = "tpu"


def export(program: Program) -> Exported:
    """See `exports.export`; the batch is split over the axis "data", all else is on every device."""
    spec, dataset = program.spec, dataset_of(program)
    engine = Jax()
    engine.build(
        replace(
            spec,
            replicas=1,
            per_replica_batch=spec.global_batch,
            backend={**spec.backend, "device": "cpu"},
            workers=1,
        ),
        dataset,
        threads=1,
    )
    axis = (AxisType.Auto,)
    mesh = AbstractMesh((spec.replicas,), ("data",), axis_types=axis)
    whole, split = (NamedSharding(mesh, PartitionSpec(*axes)) for axes in ((), ("data",)))

    def described(shape: tuple[int, ...], dtype: Any, where: NamedSharding) -> object:
        return jax.ShapeDtypeStruct(shape, dtype, sharding=where)

    train = program.step == "train"
    step, state = engine.step(program.step)
    inputs = train_dtype(dataset, spec) if train else dataset.test_inputs.dtype
    batch = [
        described((program.global_batch, *program.shape), inputs, split),
        described((program.global_batch,), np.int32, split),
    ]
    if not train:
        batch.append(described((program.global_batch,), np.float32, split))
    scalars = [np.uint32, np.uint32, spec.weights_precision] if train else []
    traced = step.trace(
        *jax.tree.map(lambda array: described(array.shape, array.dtype, whole), state),
        tuple(batch),
        *(described((), kind, whole) for kind in scalars),
    )
    lowered = traced.lower(lowering_platforms=(PLATFORM,))
    return Exported(
        stablehlo=lowered.as_text(dialect="stablehlo"),
        replicas=1,
        partitions=spec.replicas,
        parameters=sum(leaf.size for leaf in jax.tree.leaves(state[0]["params"])),
        flop=engine.count_flop(spec, dataset),
    )
