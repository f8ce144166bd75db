"""TensorFlow: the engine's own step of one replica, as XLA gets it, with the sums over all replicas in it.

So does `TPUStrategy`: every core runs one program on its part of the batch, and gradients are added by an
operation of that program. A sparse gradient is made dense for that.
"""

from typing import Any

from msgspec.structs import replace

from ahead_of_time.exports import flop_per_example
from ahead_of_time.records import Exported
from paragone.base.engine_reports import World
from paragone.base.tensorflow import tf
from paragone.config.run_spec import Spec
from paragone.data import Dataset
from paragone.data.batches import Shard, train_dtype
from paragone.engines.tensorflow import TensorFlow

# isort: split
from tensorflow.compiler.tf2xla.ops.gen_xla_ops import xla_all_reduce


class _Replica(TensorFlow):
    """The engine, whose gradients are added over the replicas of `shard` before the optimizer has them."""

    def open_strategy(self, spec: Spec, world: World) -> tf.distribute.Strategy:
        """Open the strategy of one replica, whose variables are plain ones."""
        return tf.distribute.OneDeviceStrategy("/cpu:0")

    def stablehlo(self, signature: list[tf.TensorSpec]) -> str:
        """The training step of one replica as a module."""
        step: Any = tf.function(self._train_step, jit_compile=True, input_signature=signature)
        text = step.experimental_get_compiler_ir(*signature)(stage="stablehlo")
        # A copy has no operation in StableHLO; a barrier of one operand is one, too.
        return text.replace(" = mhlo.copy ", " = stablehlo.optimization_barrier ")

    def parameters(self) -> int:
        """How many trainable weights there are."""
        return sum(int(tf.size(weights)) for weights in self.model.trainable_variables)

    def _gradients(self, inputs: tf.Tensor, labels: tf.Tensor) -> tuple:
        logits, losses, gradients = super()._gradients(inputs, labels)
        groups = tf.constant([list(range(self.shard.replicas))], tf.int32)
        summed = [
            xla_all_reduce(
                input=tf.convert_to_tensor(gradient),
                group_assignment=groups,
                reduce_op="Add",
                mode="CrossReplica",
            )
            for gradient in gradients
        ]
        return logits, losses, summed


def export(spec: Spec, dataset: Dataset) -> tuple[str, Exported]:
    """See `exports.export`."""
    engine = _Replica()
    # With determinism the gradient of a max pool has no form in XLA.
    here = replace(spec, replicas=1, per_replica_batch=spec.global_batch, deterministic=False)
    engine.build(here, dataset, threads=1)
    engine.shard = Shard(0, 1, spec.replicas)
    per_replica = spec.global_batch // spec.replicas
    signature = [
        tf.TensorSpec((per_replica, *dataset.train_inputs.shape[1:]), train_dtype(dataset, spec)),
        tf.TensorSpec((per_replica,), tf.int32),
    ]
    return engine.stablehlo(signature), Exported(
        replicas=spec.replicas,
        partitions=1,
        parameters=engine.parameters(),
        flop_per_example=flop_per_example(spec, dataset),
    )
