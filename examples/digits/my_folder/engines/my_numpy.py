"""An engine for `my-mlp` in plain NumPy, with gradients by hand."""

from itertools import pairwise

import numpy as np

from paragone.base.engine_reports import ALONE, Devices, Metrics, Modes
from paragone.base.errors import Unavailable, require_devices
from paragone.data.batches import WHOLE
from paragone.engines import Probe, Reports


class NumPy(Reports):
    """See `paragone.engines.Engine`; the methods without a counterpart there are its own."""

    def build(self, spec, dataset, threads, world=ALONE):
        kind, workload = spec.backend.device, spec.workload
        require_devices("NumPy", kind, spec.replicas, int(kind == "cpu"))
        supported = workload.model_name == "my-mlp" and workload.optimizer_name == "sgd"
        if spec.mixed or not supported or {*workload.optimizer} != {"name", "momentum"}:
            raise Unavailable("this engine has my-mlp with sgd and momentum alone, and no bfloat16")
        self.devices, self.device_names, self.shard = Devices(kind, 1, 1), ["cpu"], WHOLE
        self.dtype = np.dtype(spec.weights_precision)
        self.scale = workload.input
        self.momentum = workload.optimizer["momentum"]
        inputs = int(np.prod(dataset.train_inputs.shape[1:]))
        sizes = [inputs, workload.model["hidden"], len(dataset.class_names)]
        shapes = {}
        for layer, (before, after) in enumerate(pairwise(sizes)):
            shapes |= {f"{layer}.dense.kernel": (before, after), f"{layer}.dense.bias": (after,)}
        self.state = {name: np.zeros(shape, self.dtype) for name, shape in shapes.items()}
        self.velocity = {name: np.zeros(shape, self.dtype) for name, shape in shapes.items()}
        self.taken = 0

    def forward(self, inputs):
        x = inputs.reshape(len(inputs), -1).astype(self.dtype) / self.scale.divide
        x = (x - self.scale.mean) / self.scale.std
        hidden = np.maximum(x @ self.state["0.dense.kernel"] + self.state["0.dense.bias"], 0)
        return x, hidden, hidden @ self.state["1.dense.kernel"] + self.state["1.dense.bias"]

    def losses(self, logits, labels):
        shifted = logits - logits.max(1, keepdims=True)
        sums = np.exp(shifted).sum(1)
        softmax = np.exp(shifted) / sums[:, None]
        return np.log(sums) - shifted[np.arange(len(labels)), labels], softmax

    def gradients(self, inputs, labels):
        x, hidden, logits = self.forward(inputs)
        losses, by_logits = self.losses(logits, labels)
        by_logits[np.arange(len(labels)), labels] -= 1
        by_logits /= len(labels)
        by_hidden = (by_logits @ self.state["1.dense.kernel"].T) * (hidden > 0)
        by_name = {
            "0.dense.kernel": x.T @ by_hidden,
            "0.dense.bias": by_hidden.sum(0),
            "1.dense.kernel": hidden.T @ by_logits,
            "1.dense.bias": by_logits.sum(0),
        }
        return by_name, logits, losses

    def train_epoch(self, seed, learning_rates, batches, steps):
        totals = np.zeros(3)
        for (inputs, labels), rate in zip(batches, learning_rates, strict=True):
            by_name, logits, losses = self.gradients(inputs, labels)
            for name, gradient in by_name.items():
                self.velocity[name] = self.momentum * self.velocity[name] + gradient
                self.state[name] = self.state[name] - rate * self.velocity[name]
            self.taken += 1
            totals += [losses.sum(), (logits.argmax(1) == labels).sum(), len(labels)]
        return Metrics(totals[0] / totals[2], (totals[1] / totals[2],), totals[2])

    def evaluate(self, batches, steps):
        totals = np.zeros(3)
        for inputs, labels, weights in batches:
            logits = self.forward(inputs)[2]
            correct = logits.argmax(1) == labels
            totals += [self.losses(logits, labels)[0] @ weights, correct @ weights, weights.sum()]
        return Metrics(totals[0] / totals[2], (totals[1] / totals[2],), totals[2])

    def predict(self, inputs):
        logits = self.forward(inputs)[2]
        return self.losses(logits, np.zeros(len(logits), int))[1].astype(np.float32)

    def probe(self, batch):
        by_name, logits, losses = self.gradients(*batch)
        return Probe(logits, float(losses.mean()), by_name)

    def weights(self):
        return {name: values.copy() for name, values in self.state.items()}

    def set_weights(self, weights):
        self.state = {name: weights[name].astype(self.dtype) for name in self.state}

    def snapshot(self):
        return dict(self.state), dict(self.velocity)  # a step replaces arrays and changes none

    def restore(self, snapshot):
        self.state, self.velocity = map(dict, snapshot)

    def save(self, folder):
        np.savez(folder / "state.npz", **self.state)
        np.savez(folder / "velocity.npz", **self.velocity)

    def load(self, folder):
        self.restore([dict(np.load(folder / f"{name}.npz")) for name in ("state", "velocity")])

    def updates(self):
        return self.taken

    def modes(self):
        return Modes(math_mode="ieee", deterministic=True, collectives=None)


ENGINE = NumPy
