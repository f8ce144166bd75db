"""TensorFlow: the engine's own step of one replica, as XLA gets it, with the sums over all replicas in it.

So does `TPUStrategy`: every core runs one program on its part of the batch, and gradients are added by an
operation of that program. A sparse gradient is made dense for that.
"""

from dataclasses import replace
from typing import Any

from paragone.ahead_of_time.examples import dataset_of
from paragone.ahead_of_time.exports import Exported
from paragone.base.ranks import World
from paragone.base.tensorflow import tf
from paragone.config.compilations import Program
from paragone.config.run_spec import Spec
from paragone.data.batches import train_dtype
from paragone.engines.tensorflow import TensorFlow

# isort: split
from tensorflow.compiler.tf2xla.ops.gen_xla_ops import xla_all_reduce


class _Replica(TensorFlow):
    """The engine, whose gradients are added over so many replicas before the optimizer has them."""

    replicas = 1

    def open_strategy(self, spec: Spec, world: World) -> tf.distribute.Strategy:
        """See `TensorFlow.open_strategy`: one replica, whose variables are plain ones."""
        return tf.distribute.OneDeviceStrategy("/cpu:0")

    def step(self, name: str) -> Any:
        """The step "train" or "evaluate" of one replica, as a Python function."""
        return {"train": self._train_step, "evaluate": self._test_step}[name]

    def parameters(self) -> int:
        """How many trainable parameters there are."""
        return sum(int(tf.size(one)) for one in self._model.trainable_variables)

    def _gradients(self, inputs: tf.Tensor, labels: tf.Tensor) -> tuple:
        logits, losses, gradients = super()._gradients(inputs, labels)
        groups = tf.constant([list(range(self.replicas))], tf.int32)
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


def export(program: Program) -> Exported:
    """See `exports.export`."""
    spec, dataset = program.spec, dataset_of(program)
    engine = _Replica()
    engine.build(
        replace(
            spec,
            replicas=1,
            per_replica_batch=spec.global_batch,
            # With it the gradient of a max pool has no form in XLA.
            deterministic=False,
        ),
        dataset,
        threads=1,
    )
    engine.replicas = spec.replicas
    each = program.global_batch // spec.replicas
    train = program.step == "train"
    inputs = train_dtype(dataset, spec) if train else dataset.test_inputs.dtype
    signature = [
        tf.TensorSpec((each, *program.shape), inputs),
        tf.TensorSpec((each,), tf.int32),
        *([] if train else [tf.TensorSpec((each,), tf.float32)]),
    ]
    step: Any = tf.function(engine.step(program.step), jit_compile=True, input_signature=signature)
    text = step.experimental_get_compiler_ir(*signature)(stage="stablehlo")
    return Exported(
        # A copy has no operation in StableHLO; a barrier of one operand is one, too.
        stablehlo=text.replace(" = mhlo.copy ", " = stablehlo.optimization_barrier "),
        replicas=spec.replicas,
        partitions=1,
        parameters=engine.parameters(),
        flop=engine.count_flop(spec, dataset),
    )
