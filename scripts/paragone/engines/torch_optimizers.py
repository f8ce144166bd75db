"""The optimizers of the workloads in PyTorch, with the update rules of Keras."""

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import torch
import torch._dynamo  # the first optimizer would: as an import it is on the clock of imports
from torch import nn

from paragone.config.run_spec import Spec
from paragone.engines import framework_optimizer
from paragone.models.weights import decayed

Options = dict[str, Any]
Reduction = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]


# By optimizer, the state of a weight before the first step: arrays of zeros of its shape, and scalars.
_STATES: dict[str, tuple[list[str], dict[str, float]]] = {
    "sgd": (["momentum_buffer"], {}),
    "adam": (["exp_avg", "exp_avg_sq"], {"step": 0.0}),
    "adamw": (["exp_avg", "exp_avg_sq"], {"step": 0.0}),
    "nadam": (["exp_avg", "exp_avg_sq"], {"step": 0.0, "mu_product": 1.0}),
    "rmsprop": (["square_avg", "momentum_buffer"], {"step": 0.0}),
}


def create_optimizer(
    spec: Spec, model: nn.Module, device: torch.device, add_squares: Reduction
) -> tuple[torch.optim.Optimizer, str]:
    """Create the workload's optimizer with its state; also return the call of one of PyTorch's own.

    PyTorch would create the state in the first step, which a lazy device would compile as another program,
    and does so for its own. `add_squares`: turns the squared gradients of a weight in this worker into those
    of the global batch.
    """
    options, fused = spec.workload.optimizer, bool(spec.tuned("fused_optimizer"))
    if spec.workload.optimizer_framework:
        learned = [weight for weight in model.parameters() if weight.requires_grad]
        # A lazy device must hold the step count, or it would compile every step anew. Adadelta never reads
        # it, and refuses to hold it there.
        is_held = device.type == "xla" and options["name"] != "torch.optim.Adadelta"
        offered = {"capturable": is_held, "fused": fused or None}
        return framework_optimizer(spec, learned, **offered)
    optimizer = _of_torch(options, model, device, add_squares, fused)
    arrays, scalars = _STATES.get(options["name"], ([], {}))
    if not options.get("momentum", 0):
        arrays = [name for name in arrays if name != "momentum_buffer"]
    # As in PyTorch, scalars are on the host unless kernels read them.
    on_device = any(optimizer.defaults.get(key) for key in ("capturable", "fused"))
    weights = [weight for group in optimizer.param_groups for weight in group["params"]]
    for weight in weights if arrays or scalars else []:
        kind = {"dtype": weight.dtype, "device": weight.device if on_device else "cpu"}
        numbers = {name: torch.full((), start, **kind) for name, start in scalars.items()}
        optimizer.state[weight] = {name: torch.zeros_like(weight) for name in arrays} | numbers
    if options.get("accumulate"):
        optimizer.param_groups[0]["accumulated"] = 0
        for weight in weights:
            optimizer.state[weight]["gradients"] = torch.zeros_like(weight)
    return optimizer, ""


def load_state(optimizer: torch.optim.Optimizer, state: dict[str, Any]) -> None:
    """Load a state of the optimizer; what is in it keeps its type and device.

    `load_state_dict` of PyTorch (2.9, 2.11) rounds a step count on the device to single precision, in which
    1 - beta_2^t is off by 1e-5, and moves `mu_product` to the device of its weight, and then waits for it in
    every step.
    """
    weights = [weight for group in optimizer.param_groups for weight in group["params"]]
    on_device = any(optimizer.defaults.get(key) for key in ("capturable", "fused"))
    for place, weight in enumerate(weights):
        here = optimizer.state.pop(weight, {})  # PyTorch's own has none before its first step
        for key, value in state["state"].get(place, {}).items():
            where = "cpu" if key == "step" and not on_device else weight.device
            optimizer.state[weight][key] = value.to(here.get(key, where))
    for group, loaded in zip(optimizer.param_groups, state["param_groups"], strict=True):
        group |= {key: value for key, value in loaded.items() if key != "params"}


def step(optimizer: torch.optim.Optimizer, options: Options) -> None:
    """Clip the gradients and take a step.

    If the optimizer accumulates, by the mean gradient of several batches, after the last of them.
    """
    several = options.get("accumulate", 1)
    if several > 1 and not _accumulated(optimizer, several):
        return
    if limit := options.get("clip_norm"):
        weights = [weight for group in optimizer.param_groups for weight in group["params"]]
        nn.utils.clip_grad_norm_(weights, limit)
    optimizer.step()


@torch.no_grad()
def _accumulated(optimizer: torch.optim.Optimizer, several: int) -> bool:
    """Add the gradients to those of earlier batches; after so many, the mean takes their place."""
    every = [weight for group in optimizer.param_groups for weight in group["params"]]
    weights = [weight for weight in every if weight.grad is not None]
    sums = [optimizer.state[weight]["gradients"] for weight in weights]
    torch._foreach_add_(sums, [weight.grad for weight in weights])
    first = optimizer.param_groups[0]
    first["accumulated"] = (first["accumulated"] + 1) % several
    if first["accumulated"]:
        return False
    for weight, mean in zip(weights, torch._foreach_div(sums, several), strict=True):
        weight.grad = mean
    torch._foreach_zero_(sums)
    return True


def _groups(options: Options, model: nn.Module) -> list[dict[str, Any]]:
    groups: dict[bool, list[nn.Parameter]] = {False: [], True: []}
    for weight in filter(lambda weight: weight.requires_grad, model.parameters()):
        groups[decayed(weight.dim(), options)].append(weight)
    return [
        {"params": weights, "weight_decay": options.get("weight_decay", 0.0) if decays else 0.0}
        for decays, weights in groups.items()
        if weights
    ]


def _of_torch(
    options: Options, model: nn.Module, device: torch.device, add_squares: Reduction, fused: bool
) -> torch.optim.Optimizer:
    groups, rule = _groups(options, model), options.get("rule", "keras")
    momentum, nesterov = options.get("momentum", 0.0), options.get("nesterov", False)
    match options["name"]:
        case "sgd":
            return torch.optim.SGD(groups, momentum=momentum, nesterov=nesterov, fused=fused)
        case "rmsprop":
            kind = RmspropOfKeras if options.get("rule") == "keras" else torch.optim.RMSprop
            return kind(groups, alpha=options["rho"], eps=options["epsilon"], momentum=momentum)
        case "adagrad":
            return AdagradOfKeras(
                groups, initial_accumulator_value=options["initial"], eps=options["epsilon"]
            )
    moments = {
        "betas": (options["beta_1"], options["beta_2"]),
        "eps": options["epsilon"],
        # A lazy device must hold the step count, or it would compile every step anew.
        "capturable": device.type == "xla",
    }
    if options["name"] != "nadam":
        adam = torch.optim.Adam if rule == "pytorch" else AdamEpsilonHat
        decoupled = options["name"] == "adamw"
        return adam(groups, fused=fused, decoupled_weight_decay=decoupled, **moments)
    # Keras' momentum schedule, beta_1 (1 - 0.96^t / 2), is PyTorch's at a momentum decay of 1.
    moments["momentum_decay"] = 1.0 if rule == "keras" else 0.004
    if rule == "keras-2":
        return NAdamOfSeenWords(model, add_squares, **moments)
    if not options.get("deduplicate", True):
        return NAdamOfOccurrences(model, add_squares, **moments)
    return torch.optim.NAdam(groups, **moments)


class AdagradOfKeras(torch.optim.Adagrad):
    """Adagrad with epsilon under the root."""

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> None:
        for group in self.param_groups:
            for weight in (weight for weight in group["params"] if weight.grad is not None):
                g = weight.grad.add(weight, alpha=group["weight_decay"])
                sums = self.state[weight]["sum"].addcmul_(g, g)
                weight.addcdiv_(g, (sums + group["eps"]).sqrt_(), value=-group["lr"])


class RmspropOfKeras(torch.optim.RMSprop):
    """RMSprop with epsilon under the root, without momentum."""

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> None:
        for group in self.param_groups:
            rho, epsilon, rate = (group[key] for key in ("alpha", "eps", "lr"))
            for weight in (weight for weight in group["params"] if weight.grad is not None):
                g = weight.grad.add(weight, alpha=group["weight_decay"])
                mean = self.state[weight]["square_avg"].mul_(rho).addcmul_(g, g, value=1 - rho)
                weight.addcdiv_(g, (mean + epsilon).sqrt_(), value=-rate)


class AdamEpsilonHat(torch.optim.Adam):
    """Adam of Keras, with epsilon added before the bias correction: the "epsilon hat" of Kingma & Ba.

    PyTorch adds epsilon after the correction, the same with epsilon / sqrt(1 - beta_2^t) in step t.
    """

    def __init__(self, weights: Iterable[nn.Parameter], **options: Any) -> None:
        super().__init__(weights, **options)
        for group in self.param_groups:
            group["taken"] = 0

    def step(self, closure: Callable[[], float] | None = None) -> float | None:
        for group in self.param_groups:
            if group["capturable"]:
                taken = self.state[group["params"][0]]["step"]
            else:  # count on the host: reading the fused kernel's count would wait for the device
                taken, group["taken"] = group["taken"], group["taken"] + 1
            group["eps"] = self.defaults["eps"] / (1 - group["betas"][1] ** (taken + 1)) ** 0.5
        return super().step(closure)


class NAdamOfWords(torch.optim.NAdam):
    """NAdam that follows the words of a batch.

    For each embedding it has a tensor whose gradient is, for each word, the sum of g^power over its
    occurrences, where g is the gradient of one of them.
    """

    power: int

    def __init__(self, model: nn.Module, add_squares: Reduction, **options: Any) -> None:
        super().__init__(model.parameters(), **options)
        self._add = add_squares
        self._sums: dict[nn.Parameter, torch.Tensor] = {}
        for module in model.modules():
            if isinstance(module, nn.Embedding):
                weight = module.weight  # perhaps a shard, whose shape is that of the full tensor
                sums = torch.zeros(
                    weight.shape, dtype=weight.dtype, device=weight.device, requires_grad=True
                )
                self._sums[module.weight] = sums
                module.register_forward_hook(partial(_follow, sums, self.power))

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Clear the gradients of the last step."""
        super().zero_grad(set_to_none)
        for sums in self._sums.values():
            sums.grad = None


class NAdamOfOccurrences(NAdamOfWords):
    """NAdam of Keras for the sparse gradient of an embedding, which Keras does not deduplicate.

    A word that occurs several times in a batch has one gradient g per occurrence. The second moment
    takes the sum of g^2 here; with dense gradients it takes the square of the sum of g.
    """

    power = 2

    def _init_group(self, group: dict[str, Any], *lists: list[torch.Tensor]) -> bool:
        """Called by `step` before it uses the state."""
        is_complex = super()._init_group(group, *lists)
        beta = group["betas"][1]
        for weight, squares in self._sums.items():
            # The step computes beta v + (1 - beta) g^2: correct v in advance for the difference in squares.
            moment = self.state[weight]["exp_avg_sq"]
            difference = self._add(squares.grad, weight) - weight.grad.square()
            moment.add_(difference, alpha=(1 - beta) / beta)
        return is_complex


class NAdamOfSeenWords(NAdamOfWords):
    """NAdam of Keras 2, which updates the rows of words that the batch has; all moments decay."""

    power = 0  # so that sums are counts

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> None:
        before = {weight: weight.clone() for weight in self._sums}
        super().step(closure)
        for weight, kept in before.items():
            seen = self._add(self._sums[weight].grad, weight) > 0
            weight.copy_(torch.where(seen, weight, kept))


def _follow(
    sums: torch.Tensor, power: int, embedding: nn.Embedding, inputs: tuple, output: torch.Tensor
) -> torch.Tensor:
    return _SumsOverOccurrences.apply(output, sums, inputs[0], power)


class _SumsOverOccurrences(torch.autograd.Function):
    """The identity of an embedding's output; its backward pass gives `sums` the sum of g^power of each word.

    It is a function, not a hook on the output, so that a compiler can include it in its graph.
    """

    @staticmethod
    def forward(
        context: Any, output: torch.Tensor, sums: torch.Tensor, indices: torch.Tensor, power: int
    ) -> torch.Tensor:
        """Return `output` (..., features); sums: (vocabulary, features); indices: (...), of words."""
        context.save_for_backward(indices)
        context.vocabulary, context.power = len(sums), power
        return output.view_as(output)

    @staticmethod
    def backward(context: Any, gradient: torch.Tensor) -> tuple:
        """Return the gradients of `forward`'s arguments."""
        (indices,) = context.saved_tensors
        powers = gradient.flatten(end_dim=-2) ** context.power
        sums = powers.new_zeros((context.vocabulary, powers.shape[1]))
        return gradient, sums.index_add_(0, indices.flatten(), powers), None, None
