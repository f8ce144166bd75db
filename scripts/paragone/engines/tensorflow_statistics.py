"""Batch norm's running statistics over the replicas of TensorFlow's strategies."""

from paragone.base.tensorflow import keras, tf


class Statistics:
    """Those of a model under a strategy; each replica has its own until they are united."""

    def __init__(self, strategy: tf.distribute.Strategy, model: keras.Model) -> None:
        self._strategy, self._model = strategy, model

    def unite(self) -> None:
        """Give every replica the mean over replicas of the batch-norm statistics.

        Otherwise each would evaluate with its own, and a resumed run would start from others than it
        stopped with: Keras reads and saves only those of the first replica of a worker.
        """
        if statistics := self._each():
            means = tf.split(self._means(), [int(tf.size(one)) for one in statistics])
            for variable, mean in zip(statistics, means, strict=True):
                variable.assign(tf.reshape(mean, variable.shape))

    def _each(self) -> list[keras.Variable]:
        variables = self._model.non_trainable_variables
        return [one for one in variables if tf.as_dtype(one.dtype).is_floating]  # no random states

    @tf.function
    def _means(self) -> tf.Tensor:
        """Of `_each`, over the replicas of all workers, as one vector and so in one reduction.

        Of many at once TensorFlow runs each on a thread of its own and keeps it: over a hundred threads an
        epoch, until no more can be started.
        """

        def of_replica() -> tf.Tensor:
            return tf.concat([tf.reshape(one.value, [-1]) for one in self._each()], axis=0)

        each = self._strategy.run(of_replica)
        return self._strategy.reduce(tf.distribute.ReduceOp.MEAN, each, axis=None)
