"""The parity gate's reference: training steps written out from their definitions.

PyTorch differentiates its model. Losses with their gradients are those of `tasks.reference`; sums over
replicas and the rules of optimizers are written here, independently of every timed engine. Replicas are
parts of the batch that batch norm normalizes one by one. The strategies are named after how an engine unites
batch norm's running statistics ("whole": there is one replica or batch norm sees the whole batch; "mean"
over replicas; of the "first"). It uses one CPU and has neither checkpoints nor speed, so no run can use it.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn.modules.batchnorm import _BatchNorm as BatchNorm
from torch.utils.flop_counter import FlopCounterMode, conv_flop_count

from paragone.base.engine_reports import ALONE, Devices, Metrics, World
from paragone.config.run_spec import MODEL, Spec
from paragone.data import Dataset
from paragone.data.batches import WHOLE
from paragone.engines import Probe, Reports, framework_optimizer
from paragone.models import create_model
from paragone.models import torch as models
from paragone.models.weights import Weights
from paragone.tasks import reference as tasks

FLOP_EXAMPLES = 2  # batch norm refuses one value per channel
State = defaultdict[str, Any]
Tensors = dict[str, Tensor]


class Reference(Reports):
    """The methods of an engine that the parity gate calls."""

    library = models

    def build(self, spec: Spec, dataset: Dataset, threads: int, world: World = ALONE) -> None:
        torch.set_num_threads(threads)
        self.workload = spec.workload
        self.dtype = getattr(torch, spec.weights_precision)
        self.mixed = spec.mixed
        self.devices = Devices("cpu", spec.replicas, workers=1)
        self.shard = WHOLE
        self.of_first = spec.backend.strategy == "first"
        torch.manual_seed(spec.seed)
        model = create_model(models.MODELS, spec, dataset)
        self.model = models.require_arrays(model).to(self.dtype)
        self.learned = [weight for weight in self.model.parameters() if weight.requires_grad]
        self.unused: set[Tensor] = set()  # weights on which no output of the last pass depends
        self.own: torch.optim.Optimizer | None = None  # where PyTorch's own defines the update
        if spec.workload.optimizer_framework:
            self.own, _ = framework_optimizer(spec, self.learned)
        else:
            self.rule = RULES[spec.workload.optimizer_name]
        self.taken = 0
        self.sums, self.summed = [torch.zeros_like(w) for w in self.learned], 0
        # PyTorch's batch norm keeps unbiased variances; the biased ones, by canonical name, are kept here.
        self.biased: Tensors = {}
        names = {id(tensor): name for name, tensor, _ in self.entries()}
        self.norms = [
            (f"{path}.running_var", names[id(norm.running_var)], norm)
            for path, norm in self.model.named_modules()
            if isinstance(norm, BatchNorm) and norm.running_var is not None and norm.momentum
        ]
        self.values: dict[nn.Module, int] = {}  # that each channel of a norm had in the last pass
        for _, _, norm in self.norms:
            norm.register_forward_pre_hook(self._count)
        self.states: list[State] = [defaultdict(float) for _ in self.learned]
        # Words and outputs of embeddings in the last forward pass, and which words the batch has, if the rule
        # of the optimizer needs them.
        self.embeddings: dict[nn.Parameter, tuple[Tensor, Tensor]] = {}
        self.seen: dict[nn.Parameter, Tensor] = {}
        if spec.workload.updates_seen_words or not spec.workload.deduplicates:
            for module in self.model.modules():
                if isinstance(module, nn.Embedding):
                    self.embeddings[module.weight] = torch.empty(0), torch.empty(0)
                    module.register_forward_hook(self._follow)

    def _follow(self, module: nn.Embedding, inputs: tuple, output: Tensor) -> None:
        self.embeddings[module.weight] = inputs[0], output

    def _count(self, norm: nn.BatchNorm2d, inputs: tuple) -> None:
        self.values[norm] = inputs[0].numel() // norm.num_features

    def _statistics(self) -> Tensors:
        return {name: buffer.clone() for name, buffer in self.model.named_buffers()}

    def _forward(self, batch: tuple, statistics: Tensors) -> tuple[Tensor, ...]:
        """Return the outputs as the loss takes them; the loss's gradient; of each example what is summed.

        That is, (batch, sums), as `Metrics.of_sums` takes them. Training changes `statistics`.
        """
        inputs = torch.tensor(batch[0])
        if scale := self.workload.input:
            mean, std = (torch.tensor(v, dtype=self.dtype) for v in (scale.mean, scale.std))
            inputs = (inputs.to(self.dtype) / scale.divide - mean) / std
            inputs = inputs.movedim(-1, 1)
            # Else in the layout of images, as in `engines/torch.py`: rounding and so tolerances depend on it.
            if self.workload.initializer == MODEL:  # which may take views
                inputs = inputs.clone(memory_format=torch.contiguous_format)
        with torch.autocast("cpu", torch.bfloat16, enabled=self.mixed):
            logits = functional_call(self.model, statistics, (inputs,)).to(self.dtype)
        if self.workload.loss == "double_softmax":
            logits = logits.exp() / logits.exp().sum(1, keepdim=True)
        if logits.ndim > 3:  # pixels have their channels first
            logits = logits.movedim(1, -1)
        outputs = logits.detach().numpy(), batch[1]
        losses, gradient = tasks.losses(self.workload.task, *outputs)
        weights = tasks.weights(self.workload.task, batch[1])
        counts, scores = (of(self.workload.task, *outputs) for of in (tasks.counts, tasks.scores))
        summands = np.stack([losses, weights, counts, np.ones_like(losses), *scores], 1)
        return logits, torch.from_numpy(gradient), torch.from_numpy(summands)

    def _differentiate(self, batch: tuple, of_replicas: list[Tensors]) -> tuple:
        """Outputs and what is summed; for each parameter its gradient, and the squares for the second moment.

        `of_replicas`: the running statistics of each replica, which are updated.
        """
        self.model.train()
        gradients = [torch.zeros_like(weight) for weight in self.learned]
        self.unused = {*self.learned}
        of_words = {weight: torch.zeros_like(weight) for weight in self.embeddings}
        self.seen = {weight: torch.zeros(len(weight), 1) for weight in self.embeddings}
        seen = []
        divisor = tasks.weights(self.workload.task, batch[1]).sum()
        parts = zip(*(np.split(array, len(of_replicas)) for array in batch), strict=True)
        for part, statistics in zip(parts, of_replicas, strict=True):
            logits, gradient, summands = self._forward(part, statistics)
            seen.append((logits.detach(), summands))
            outputs = [output for _, output in self.embeddings.values()]
            of_part = torch.autograd.grad(
                logits, self.learned + outputs, gradient / divisor, allow_unused=True
            )
            for place, (weight, g) in enumerate(zip(self.learned, of_part, strict=False)):
                if g is not None:
                    self.unused -= {weight}
                    gradients[place] += g
            for weight, g in zip(self.embeddings, of_part[len(self.learned) :], strict=True):
                indices, square = self.embeddings[weight][0].flatten(), g.flatten(end_dim=-2) ** 2
                of_words[weight].index_add_(0, indices, square)
                self.seen[weight][indices] = 1
        squares = [of_words.get(p, g**2) for p, g in zip(self.learned, gradients, strict=True)]
        return *map(torch.cat, zip(*seen, strict=True)), gradients, squares

    def train_epoch(
        self, seed: int, learning_rates: list[float], batches: Iterable[tuple], steps: int
    ) -> Metrics:
        torch.manual_seed(seed)
        of_replicas = [self._statistics() for _ in range(self.devices.replicas)]
        seen = []
        for batch, rate in zip(batches, learning_rates, strict=True):
            before = {name: of_replicas[0][name].clone() for name, _, _ in self.norms}
            _, summands, gradients, squares = self._differentiate(batch, of_replicas)
            self._keep_biased(before, of_replicas[0])
            self._step(rate, gradients, squares)
            seen.append(summands)
        for name, buffer in self.model.named_buffers():
            values = torch.stack([statistics[name] for statistics in of_replicas])
            buffer.copy_(values[0] if self.of_first else values.to(self.dtype).mean(0))
        return _metrics(torch.cat(seen))

    @torch.no_grad()
    def _keep_biased(self, before: Tensors, after: Tensors) -> None:
        for unbiased, name, norm in self.norms:
            kept, values = 1 - norm.momentum, self.values[norm]
            added = after[unbiased] - kept * before[unbiased]
            self.biased[name] = kept * self.biased[name] + added * (values - 1) / values

    @torch.no_grad()
    def _step(self, rate: float, gradients: list[Tensor], squares: list[Tensor]) -> None:
        """Clip gradients, add the coupled weight decay to them, and update each weight.

        If the optimizer accumulates, by the mean gradient of several batches, after the last of them.
        """
        if (several := self.workload.accumulated) > 1:
            self.sums = [a + b for a, b in zip(self.sums, gradients, strict=True)]
            self.summed += 1
            if self.summed < several:
                return
            gradients = [total / several for total in self.sums]
            self.sums, self.summed = [torch.zeros_like(g) for g in gradients], 0
        options, self.taken = self.workload.optimizer, self.taken + 1
        norm = math.sqrt(sum(float((g**2).sum()) for g in gradients))
        shrink = min(1.0, options.get("clip_norm", math.inf) / norm) if norm else 1.0
        if self.own:
            for weight, g in zip(self.learned, gradients, strict=True):
                weight.grad = None if weight in self.unused else g * shrink
            self.own.param_groups[0]["lr"] = rate
            self.own.step()
            return
        decoupled = options["name"] == "adamw"
        weights = zip(self.learned, self.states, gradients, squares, strict=True)
        for weight, state, g, square in weights:
            if weight in self.unused:
                continue
            decays = options.get("decays", "all") == "all" or weight.dim() >= 2
            decay = options.get("weight_decay", 0.0) if decays else 0.0
            if self.workload.deduplicates:
                g = g * shrink + (0.0 if decoupled else decay) * weight
                square = g**2
            move = self.rule(options, self.taken, g, square, state)
            if self.workload.updates_seen_words and weight in self.seen:
                move = move * self.seen[weight]
            weight -= rate * (move + (decay if decoupled else 0.0) * weight)

    @torch.no_grad()
    def evaluate(self, batches: Iterable[tuple], steps: int, *, biased: bool = False) -> Metrics:
        """Do as `Engine.evaluate` says; `biased`: with the biased variances of batch norm."""
        self.model.eval()
        variances = {buffer: self.biased[name] for buffer, name, _ in self.norms} if biased else {}
        seen = []
        for inputs, labels, weights in batches:
            counted = weights > 0
            statistics = self._statistics() | variances
            *_, summands = self._forward((inputs[counted], labels[counted]), statistics)
            seen.append(summands)
        return _metrics(torch.cat(seen))

    def probe(self, batch: tuple) -> Probe:
        logits, summands, gradients, _ = self._differentiate(batch, [self._statistics()])
        by_parameter = dict(zip(self.learned, gradients, strict=True))
        by_name = models.export(self.entries(), by_parameter.get)
        return Probe(logits.numpy(), _metrics(summands).loss, by_name)

    def weights(self) -> Weights:
        return models.export(self.entries())

    def biased_variances(self) -> Weights:
        """Return running variances of batch norm divided by the number of values, named as in `weights`."""
        return {name: variance.numpy() for name, variance in self.biased.items()}

    def set_weights(self, weights: Weights) -> None:
        models.load_weights(self.entries(), weights)
        self.biased = {name: norm.running_var.clone() for _, name, norm in self.norms}


ENGINE = Reference


def _metrics(summands: Tensor) -> Metrics:
    return Metrics.of_sums(*summands.double().sum(0).tolist())


def _sgd(options: dict, step: int, g: Tensor, square: Tensor, state: State) -> Tensor:
    """Return the move of Sutskever et al. (ICML 2013), with the velocity of gradients alone."""
    momentum = options["momentum"]
    state["velocity"] = momentum * state["velocity"] + g
    return g + momentum * state["velocity"] if options.get("nesterov") else state["velocity"]


def _adam(options: dict, step: int, g: Tensor, square: Tensor, state: State) -> Tensor:
    """Return the move of Adam (Kingma & Ba, arXiv:1412.6980).

    The rule of Keras has the "epsilon hat" of its section 2.
    """
    beta_1, beta_2 = options["beta_1"], options["beta_2"]
    state["first"] = beta_1 * state["first"] + (1 - beta_1) * g
    state["second"] = beta_2 * state["second"] + (1 - beta_2) * square
    correction = math.sqrt(1 - beta_2**step) / (1 - beta_1**step)
    epsilon = options["epsilon"]
    if options.get("rule") == "pytorch":
        epsilon *= math.sqrt(1 - beta_2**step)
    return correction * state["first"] / (state["second"].sqrt() + epsilon)


def _nadam(options: dict, step: int, g: Tensor, square: Tensor, state: State) -> Tensor:
    """Return the move of Nadam (Dozat, ICLR workshop, 2016, algorithm 2), with its schedule for mu.

    PyTorch and Keras 2 have 0.004 t for t in the schedule.
    """
    beta_2, pace = options["beta_2"], 1 if options.get("rule", "keras") == "keras" else 0.004
    mu = [options["beta_1"] * (1 - 0.5 * 0.96 ** (pace * t)) for t in range(1, step + 2)]
    state["first"] = options["beta_1"] * state["first"] + (1 - options["beta_1"]) * g
    state["second"] = beta_2 * state["second"] + (1 - beta_2) * square
    ahead = mu[step] * state["first"] / (1 - math.prod(mu))
    now = (1 - mu[step - 1]) * g / (1 - math.prod(mu[:step]))
    second = state["second"] / (1 - beta_2**step)
    return (ahead + now) / (second.sqrt() + options["epsilon"])


def _rmsprop(options: dict, step: int, g: Tensor, square: Tensor, state: State) -> Tensor:
    """Return the move of Hinton's lecture 6e (2012), with epsilon beside the root, as PyTorch has it.

    The rule of Keras has it under the root.
    """
    rho = options["rho"]
    state["second"] = rho * state["second"] + (1 - rho) * square
    if options.get("rule") == "keras":
        return g / (state["second"] + options["epsilon"]).sqrt()
    move = g / (state["second"].sqrt() + options["epsilon"])
    state["velocity"] = options.get("momentum", 0.0) * state["velocity"] + move
    return state["velocity"]


def _adagrad(options: dict, step: int, g: Tensor, square: Tensor, state: State) -> Tensor:
    """Return the move of Duchi et al. (JMLR 2011), with epsilon under the root, as Keras has it."""
    state["sum"] = (state["sum"] if step > 1 else options["initial"]) + square
    return g / (state["sum"] + options["epsilon"]).sqrt()


# By optimizer: the function of what the learning rate multiplies in a step; steps count from 1.
RULES: dict[str, Callable[..., Tensor]] = {
    "sgd": _sgd,
    "adam": _adam,
    "adamw": _adam,
    "nadam": _nadam,
    "rmsprop": _rmsprop,
    "adagrad": _adagrad,
}


def flop_per_example(spec: Spec, dataset: Dataset) -> int | None:
    """Return the FLOP of training on one example, forward and backward. Computes shapes alone.

    None for a model that cannot be computed without values, as one that looks at them. Only convolutions and
    matrix products count, as in the peak that they are compared with: a multiplication with its addition is
    two. The operations that a device runs can differ: XLA may fuse or drop some, cuDNN may choose Winograd.
    """
    shape = dataset.train_inputs.shape[1:]
    try:
        with torch.device("meta"):
            model = create_model(models.MODELS, spec, dataset)
        return count_flop(model, shape, word_indices=spec.workload.input is None)
    except Exception:
        return None


def count_flop(model: nn.Module, shape: tuple[int, ...], word_indices: bool = False) -> int:
    """Return the FLOP of one example for a model on the device "meta".

    `shape`: of one example as stored. `word_indices`: whether inputs are word indices.
    """
    inputs = torch.empty((FLOP_EXAMPLES, *shape), device="meta")
    inputs = inputs.long() if word_indices else inputs.movedim(-1, 1)
    formulas = {torch.ops.aten.convolution_backward: _convolution_backward}
    with FlopCounterMode(display=False, custom_mapping=formulas) as counter:
        model.train()(inputs).sum().backward()
    return counter.get_total_flops() // FLOP_EXAMPLES


def _convolution_backward(
    gradient: list[int], inputs: list[int], weights: list[int], *rest: Any, **_: object
) -> int:
    """Return the FLOP of a convolution's backward pass: those of the forward pass for each gradient.

    PyTorch's own formula ignores groups: for a depthwise convolution its count is too large by the number
    of channels. `rest` ends with whether it is transposed, padding of outputs, groups, and the mask of the
    gradients that are needed (inputs, weights, bias).
    """
    *_sizes, transposed, _padding, _groups, (inputs_need, weights_need, _bias) = rest
    flop = conv_flop_count(inputs, weights, gradient, transposed)
    return (inputs_need + weights_need) * flop
