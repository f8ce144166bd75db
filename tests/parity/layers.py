"""Models of a few layers in three frameworks, with all kinds of layers that are paired between them."""

from importlib import import_module
from typing import Any

# Spatial sides of kernels differ, so that none can be exchanged.


def of_torch() -> dict[str, Any]:
    """The models as PyTorch's users write them; inputs are (batch, 1, 8, 8)."""
    torch = import_module("torch")
    nn = torch.nn
    flatten = import_module("paragone.models.torch").FlattenChannelsLast

    def images(shape: tuple, classes: int) -> Any:
        return nn.Sequential(
            *(nn.Conv2d(1, 4, (3, 2)), nn.GroupNorm(2, 4), nn.Tanh()),
            *(nn.Conv2d(4, 8, (2, 3), groups=4), nn.Conv2d(8, 6, 2, groups=2)),
            *(nn.InstanceNorm2d(6, affine=True), nn.ConvTranspose2d(6, 3, (3, 2), stride=2)),
            *(nn.Tanh(), flatten(), nn.RMSNorm(216, eps=1e-5), nn.Linear(216, classes)),
        )

    class Volumes(nn.Sequential):
        def forward(self, x: Any) -> Any:
            return super().forward(x.reshape(-1, 1, 4, 4, 4))

    def volumes(shape: tuple, classes: int) -> Any:
        return Volumes(
            *(nn.Conv3d(1, 4, (2, 3, 1)), nn.BatchNorm3d(4), nn.Tanh()),
            *(nn.ConvTranspose3d(4, 2, (1, 2, 3)), nn.Tanh(), flatten()),
            nn.Linear(3 * 3 * 6 * 2, classes),
        )

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.scale = nn.Parameter(torch.full((4,), 0.5))
            self.rows = nn.Linear(4, 4)

        def forward(self, x: Any) -> Any:
            return x + self.scale * self.rows(x)

    class Tokens(nn.Module):
        def __init__(self, classes: int) -> None:
            super().__init__()
            self.token = nn.Parameter(torch.zeros(1, 1, 4))
            self.positions = nn.Parameter(torch.randn(1, 14, 4))
            self.first, self.second = nn.Conv1d(8, 6, 3, groups=2), nn.ConvTranspose1d(6, 4, 3, 2)
            self.blocks = nn.Sequential(Block(), Block())
            self.attention = nn.MultiheadAttention(4, 2, batch_first=True)
            self.head = nn.Linear(4, classes)

        def forward(self, x: Any) -> Any:
            x = self.second(self.first(x.squeeze(1).transpose(1, 2)).tanh()).transpose(1, 2)
            x = torch.cat([self.token.expand(len(x), 1, 4), x], 1) + self.positions
            x = self.blocks(x)
            return self.head((x + self.attention(x, x, x)[0]).tanh().mean(1))

    class Recurrent(nn.Module):
        def __init__(self, layer: Any, outputs: int, classes: int, one_bias: bool) -> None:
            super().__init__()
            self.rows, self.head = layer, nn.Linear(outputs, classes)
            for name, weight in layer.named_parameters():
                if one_bias and name.startswith("bias_hh"):
                    weight.requires_grad_(False).zero_()

        def forward(self, x: Any) -> Any:
            return self.head(self.rows(x.squeeze(1))[0].mean(1))

    def recurrent(kind: str, one_bias: bool, **options: Any) -> Any:
        def create(shape: tuple, classes: int) -> Any:
            layer = getattr(nn, kind)(8, 5, batch_first=True, **options)
            return Recurrent(layer, 10 if layer.bidirectional else 5, classes, one_bias)

        return create

    class Ending(nn.Module):
        def __init__(self, classes: int) -> None:
            super().__init__()
            self.first, self.second, self.head = (nn.Linear(8, n) for n in (8, 8, classes))

        def forward(self, x: Any) -> Any:
            logits = self.head(self.second(self.first(x.squeeze(1)).tanh()).tanh().mean(1))
            return logits if self.training else logits.softmax(1)

    return {
        "images": images,
        "volumes": volumes,
        "tokens": lambda shape, classes: Tokens(classes),
        "ending": lambda shape, classes: Ending(classes),
        "lstm": recurrent("LSTM", True, num_layers=2),
        "lstm-without-bias": recurrent("LSTM", True, bias=False),
        "gru": recurrent("GRU", False, bidirectional=True),
        "gru-of-one-bias": recurrent("GRU", True),
        "rnn": recurrent("RNN", True),
    }


def of_tensorflow() -> dict[str, Any]:
    """The models in Keras."""
    keras = import_module("keras")
    layers, ops = keras.layers, keras.ops

    def images(shape: tuple, classes: int) -> Any:
        return keras.Sequential(
            [
                layers.Input(shape),
                *(layers.Conv2D(4, (3, 2)), layers.GroupNormalization(2, epsilon=1e-5)),
                *(layers.Activation("tanh"), layers.DepthwiseConv2D((2, 3), depth_multiplier=2)),
                *(layers.Conv2D(6, 2, groups=2), layers.GroupNormalization(-1, epsilon=1e-5)),
                *(layers.Conv2DTranspose(3, (3, 2), strides=2), layers.Activation("tanh")),
                *(layers.Flatten(), layers.RMSNormalization(epsilon=1e-5), layers.Dense(classes)),
            ]
        )

    def volumes(shape: tuple, classes: int) -> Any:
        return keras.Sequential(
            [
                *(layers.Input(shape), layers.Reshape((4, 4, 4, 1)), layers.Conv3D(4, (2, 3, 1))),
                *(layers.BatchNormalization(momentum=0.9, epsilon=1e-5), layers.Activation("tanh")),
                *(layers.Conv3DTranspose(2, (1, 2, 3)), layers.Activation("tanh")),
                *(layers.Flatten(), layers.Dense(classes)),
            ]
        )

    class Block(layers.Layer):
        def __init__(self) -> None:
            super().__init__()
            fill = keras.initializers.Constant(0.5)
            self.scale = self.add_weight(shape=(4,), initializer=fill, name="scale")
            self.rows = layers.Dense(4)

        def call(self, x: Any) -> Any:
            return x + self.scale * self.rows(x)

    class Tokens(keras.Model):
        def __init__(self, classes: int) -> None:
            super().__init__()
            self.token = self.add_weight(shape=(1, 1, 4), initializer="zeros", name="token")
            self.positions = self.add_weight(shape=(1, 14, 4), name="positions")
            self.first = layers.Conv1D(6, 3, groups=2)
            self.second = layers.Conv1DTranspose(4, 3, strides=2)
            self.blocks = [Block(), Block()]
            self.attention = layers.MultiHeadAttention(2, 2)
            self.head = layers.Dense(classes)

        def call(self, x: Any) -> Any:
            x = self.second(ops.tanh(self.first(x[..., 0])))
            token = ops.broadcast_to(self.token, (ops.shape(x)[0], 1, 4))
            x = ops.concatenate([token, x], 1) + self.positions
            for block in self.blocks:
                x = block(x)
            return self.head(ops.mean(ops.tanh(x + self.attention(x, x)), 1))

    class Ending(keras.Model):
        def __init__(self, classes: int) -> None:
            super().__init__(name="ending")
            self.head, self.b, self.a = (layers.Dense(n) for n in (classes, 8, 8))

        def call(self, x: Any, training: bool = False) -> Any:
            logits = self.head(ops.mean(ops.tanh(self.b(ops.tanh(self.a(x[..., 0])))), 1))
            return logits if training else ops.softmax(logits)

    def recurrent(*rows: Any) -> Any:
        def create(shape: tuple, classes: int) -> Any:
            several = [row() for row in rows]
            mean = layers.GlobalAveragePooling1D()
            first = [layers.Input(shape), layers.Reshape((8, 8))]
            return keras.Sequential([*first, *several, mean, layers.Dense(classes)])

        return create

    def lstm(**options: Any) -> Any:
        return lambda: layers.LSTM(5, return_sequences=True, **options)

    both = layers.Bidirectional
    return {
        "images": images,
        "volumes": volumes,
        "tokens": lambda shape, classes: Tokens(classes),
        "ending": lambda shape, classes: Ending(classes),
        "lstm": recurrent(lstm(), lstm()),
        "lstm-without-bias": recurrent(lstm(use_bias=False)),
        "gru": recurrent(lambda: both(layers.GRU(5, return_sequences=True))),
        "rnn": recurrent(lambda: layers.SimpleRNN(5, return_sequences=True)),
    }


def of_jax() -> dict[str, Any]:
    """The models in flax's NNX."""
    nnx, jnp, jax = (import_module(name) for name in ("flax.nnx", "jax.numpy", "jax"))

    def images(shape: tuple, classes: int, rngs: Any) -> Any:
        norm = {"epsilon": 1e-5, "use_fast_variance": False, "rngs": rngs}
        valid = {"padding": "VALID", "rngs": rngs}
        return nnx.Sequential(
            *(nnx.Conv(1, 4, (3, 2), **valid), nnx.GroupNorm(4, 2, **norm), jnp.tanh),
            nnx.Conv(4, 8, (2, 3), feature_group_count=4, **valid),
            nnx.Conv(8, 6, (2, 2), feature_group_count=2, **valid),
            *(nnx.InstanceNorm(6, **norm), nnx.ConvTranspose(6, 3, (3, 2), strides=2, **valid)),
            *(jnp.tanh, lambda x: x.reshape(len(x), -1)),
            *(nnx.RMSNorm(216, epsilon=1e-5, rngs=rngs), nnx.Linear(216, classes, rngs=rngs)),
        )

    def volumes(shape: tuple, classes: int, rngs: Any) -> Any:
        valid = {"padding": "VALID", "rngs": rngs}
        return nnx.Sequential(
            *(lambda x: x.reshape(-1, 4, 4, 4, 1), nnx.Conv(1, 4, (2, 3, 1), **valid)),
            nnx.BatchNorm(4, momentum=0.9, epsilon=1e-5, use_fast_variance=False, rngs=rngs),
            *(jnp.tanh, nnx.ConvTranspose(4, 2, (1, 2, 3), transpose_kernel=True, **valid)),
            *(jnp.tanh, lambda x: x.reshape(len(x), -1), nnx.Linear(108, classes, rngs=rngs)),
        )

    class Block(nnx.Module):
        def __init__(self, rngs: Any) -> None:
            self.scale = nnx.Param(jnp.full(4, 0.5))
            self.rows = nnx.Linear(4, 4, rngs=rngs)

        def __call__(self, x: Any) -> Any:
            return x + self.scale * self.rows(x)

    class Tokens(nnx.Module):
        def __init__(self, classes: int, rngs: Any) -> None:
            self.token = nnx.Param(jnp.zeros((1, 1, 4)))
            self.positions = nnx.Param(jax.random.normal(jax.random.key(0), (1, 14, 4)))
            valid = {"padding": "VALID", "rngs": rngs}
            self.first = nnx.Conv(8, 6, (3,), feature_group_count=2, **valid)
            self.second = nnx.ConvTranspose(6, 4, (3,), strides=(2,), **valid)
            self.blocks = nnx.List([Block(rngs), Block(rngs)])
            self.attention = nnx.MultiHeadAttention(2, 4, decode=False, rngs=rngs)
            self.head = nnx.Linear(4, classes, rngs=rngs)

        def __call__(self, x: Any) -> Any:
            x = self.second(jnp.tanh(self.first(x[..., 0])))
            token = jnp.broadcast_to(self.token[...], (len(x), 1, 4))
            x = jnp.concatenate([token, x], 1) + self.positions
            for block in self.blocks:
                x = block(x)
            return self.head(jnp.tanh(x + self.attention(x)).mean(1))

    class Ending(nnx.Module):
        def __init__(self, classes: int, rngs: Any) -> None:
            self.head, self.b, self.a = (nnx.Linear(8, n, rngs=rngs) for n in (classes, 8, 8))

        def __call__(self, x: Any, train: bool) -> Any:
            logits = self.head(jnp.tanh(self.b(jnp.tanh(self.a(x[..., 0])))).mean(1))
            return logits if train else nnx.softmax(logits)

    class Recurrent(nnx.Module):
        def __init__(self, classes: int, cells: list, rngs: Any) -> None:
            self.rows = nnx.List([nnx.RNN(cell) for cell in cells])
            self.head = nnx.Linear(5, classes, rngs=rngs)

        def __call__(self, x: Any) -> Any:
            x = x[..., 0]
            for row in self.rows:
                x = row(x)
            return self.head(x.mean(1))

    def recurrent(kind: str, *sizes: int) -> Any:
        def create(shape: tuple, classes: int, rngs: Any) -> Any:
            cells = [getattr(nnx, kind)(size, 5, rngs=rngs) for size in sizes]
            return Recurrent(classes, cells, rngs)

        return create

    return {
        "images": images,
        "volumes": volumes,
        "tokens": lambda shape, classes, rngs: Tokens(classes, rngs),
        "ending": lambda shape, classes, rngs: Ending(classes, rngs),
        "lstm": recurrent("OptimizedLSTMCell", 8, 5),
        "gru-of-one-bias": recurrent("GRUCell", 8),
        "rnn": recurrent("SimpleCell", 8),
    }


# Of "ending", whose layers are in another order there.
PAIRS = {"head": "head", "b": "second", "a": "first"}
PAIRS |= {"ending/dense": "head", "ending/dense_1": "second", "ending/dense_2": "first"}
MODELS = {"torch": of_torch, "tensorflow": of_tensorflow, "jax": of_jax}
