"""PyTorch, eager, on one device (CPU or CUDA): the engine and its feeds."""

import copy
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import distributed, nn
from torch.nn import functional
from torch.utils._pytree import tree_map, tree_map_only

from paragone.base.engine_reports import ALONE, Devices, Metrics, Modes, World
from paragone.base.errors import Unavailable, require_devices
from paragone.config.run_spec import MODEL, RESIDENT, Spec
from paragone.data import Dataset
from paragone.data.batches import WHOLE
from paragone.data.random_streams import framework_seed
from paragone.engines import Probe, Reports
from paragone.engines.torch_optimizers import create_optimizer, load_state, step
from paragone.models import create_model
from paragone.models import torch as models
from paragone.models.weights import Weights
from paragone.tasks import torch as tasks


class Torch(Reports):
    """The engine. Loss and score are summed on the device and read once per epoch.

    Engines with a lazy device or several workers override the methods from `place` to `end_of_epoch`.
    """

    library = models
    keeps_unbiased_variances = True  # in batch norm's statistics

    def build(self, spec: Spec, dataset: Dataset, threads: int, world: World = ALONE) -> None:
        self.device = self.open_device(spec, threads, world)
        self.dtype = getattr(torch, spec.weights_precision)
        self.mixed = spec.mixed
        torch.manual_seed(spec.seed)
        torch.use_deterministic_algorithms(spec.deterministic)
        torch.backends.cudnn.benchmark = bool(spec.tuned("cudnn_benchmark"))
        # No operation reads memory before writing it, so filling it would only take time.
        torch.utils.deterministic.fill_uninitialized_memory = False
        self.workload = spec.workload
        # On a lazy device steps two and three may compile again (pytorch/xla #6210).
        self.warm_up_steps = 3 * spec.workload.accumulated
        if scale := spec.workload.input:
            # One number as it is; those of channels as a tensor on the device.
            self.mean, self.std = (
                torch.tensor(v, dtype=self.dtype, device=self.device) if isinstance(v, tuple) else v
                for v in (scale.mean, scale.std)
            )
        self.model = self.place(models.require_arrays(create_model(models.MODELS, spec, dataset)))
        self.ignores_seed = torch.initial_seed() != spec.seed  # as the function has set its own
        for layer in self.model.modules():
            layer._non_persistent_buffers_set.clear()  # a snapshot has what state dicts leave out
        self.replica: nn.Module = self.model
        if spec.backend.feed == "pinned" and self.device.type != "cuda":
            raise Unavailable(
                f"feed pinned: memory is page-locked for CUDA, not for {self.device.type}"
            )
        # All inputs, where batches have their rows.
        self.resident: torch.Tensor | None = None
        if spec.backend.feed == RESIDENT:
            self.resident = self.put(np.concatenate([dataset.train_inputs, dataset.test_inputs]))
        self.pins = spec.backend.feed == "pinned"
        self.optimizer, self.update = create_optimizer(
            spec, self.model, self.device, self.add_squares
        )
        self._updates = 0
        self.optimizer.register_step_post_hook(self._count_update)

    def open_device(self, spec: Spec, threads: int, world: World) -> torch.device:
        """Open this worker's device; set `devices`, `device_names` and `shard`."""
        torch.set_num_threads(threads)
        kind = spec.backend.device
        if spec.replicas > 1:
            raise Unavailable(
                f"{spec.replicas} replica(s) on {kind} asked for; this backend drives one device"
            )
        device, name = open_device(kind)
        self.devices = Devices(kind, 1, workers=1)
        self.device_names = [name]
        self.shard = WHOLE
        return device

    # Overridden for lazy devices and several workers

    def place(self, model: nn.Module) -> nn.Module:
        """Move the model to the device."""
        is_own = self.workload.initializer == MODEL  # which may take views
        if is_own or any(weight.dim() == 5 for weight in model.parameters()):
            return model.to(self.device, self.dtype)
        # Channels last is the layout of the stored images and the fast one on CPUs and tensor cores.
        return model.to(self.device, self.dtype, memory_format=torch.channels_last)

    def unshard(self, tensor: torch.Tensor) -> torch.Tensor:
        """Return the full tensor of model or optimizer; unchanged without sharding."""
        return tensor

    def shard_like(self, full: torch.Tensor, like: torch.Tensor) -> torch.Tensor:
        """Return this worker's shard of a full tensor, sharded like `like`; unchanged without sharding."""
        return full

    def put(self, array: np.ndarray) -> torch.Tensor:
        """Copy a host array to the device."""
        return torch.from_numpy(array).to(self.device, non_blocking=True)

    def set_seed(self, seed: int) -> None:
        """Seed the device's generator, which draws dropout masks."""
        torch.manual_seed(seed)

    def reduce_gradients(self) -> None:
        """Called between the backward pass and the optimizer step."""

    def add_squares(self, squares: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        """Return a weight's squared gradients for the global batch, given those of this replica's loss.

        Gradients of a replica weigh 1 / workers in the global batch, their squares 1 / workers^2.
        """
        return self.per_replica(squares) / self.devices.workers

    def per_replica(self, total: torch.Tensor) -> torch.Tensor:
        """Return the mean over replicas of a total of each."""
        return total

    def end_of_step(self) -> None:
        """Called after each step, and before tensors are read one by one."""

    def end_of_epoch(self) -> None:
        """Called after the last step of an epoch."""

    # Training

    def _count_update(self, *_: object) -> None:
        self._updates += 1

    def prepare(self, inputs: torch.Tensor) -> torch.Tensor:
        """Return model inputs of stored examples: scaled numbers with channels first, or word indices."""
        scale = self.workload.input
        if scale is None:
            return inputs.long()
        scaled = (inputs.to(self.dtype) / scale.divide - self.mean) / self.std
        images = scaled.movedim(-1, 1)
        # A copy: the strides of one channel say channels last to convolutions, and are contiguous, too.
        is_own = self.workload.initializer == MODEL
        return images.clone(memory_format=torch.contiguous_format) if is_own else images

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        """Return the outputs as the loss takes them, (batch, ..., classes) or (batch, targets)."""
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self.mixed):
            logits = self.replica(self.prepare(inputs)).to(self.dtype)
        if logits.ndim > 3:  # pixels have their channels first
            logits = logits.movedim(1, -1)
        # Intended: a flaw of the published source, softmax outputs where logits are expected.
        return logits.softmax(1) if self.workload.loss == "double_softmax" else logits

    def loss(self, inputs: torch.Tensor, targets: torch.Tensor) -> tuple:
        """Return outputs as of `forward`, and the mean loss of stored examples."""
        logits = self.forward(inputs)
        if not self.workload.task.weighs:
            return logits, tasks.loss(self.workload.task, logits, targets)
        losses = tasks.losses(self.workload.task, logits, targets)
        return logits, losses.sum() / self.divisor(logits, targets)

    def divisor(self, logits: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        """Return the divisor of a batch's loss sum, per replica, as gradients are means over replicas."""
        return self.per_replica(tasks.weights(self.workload.task, logits, targets).sum())

    def targets(self, labels: torch.Tensor) -> torch.Tensor:
        """Return stored labels as the loss takes them: classes as int64, all others as the weights."""
        task = self.workload.task
        return labels.to(self.dtype) if task.numeric or task.multi_label else labels.long()

    def feed(self, batches: Iterable[tuple]) -> Iterator[tuple[torch.Tensor, ...]]:
        """Yield the batches on the device."""
        for batch in batches:
            if self.pins:
                # PyTorch's host allocator uses page-locked memory again when its copy is done.
                locked = (torch.from_numpy(array).pin_memory() for array in batch)
                yield tuple(array.to(self.device, non_blocking=True) for array in locked)
            elif self.resident is not None:
                rows, *rest = map(self.put, batch)
                yield self.resident.index_select(0, rows), *rest
            else:
                yield tuple(map(self.put, batch))

    def train_step(self, inputs: torch.Tensor, targets: torch.Tensor) -> tuple:
        """Take one optimizer step; return outputs and mean loss, both on the device."""
        self.optimizer.zero_grad()
        logits, loss = self.loss(inputs, targets)
        loss.backward()
        self.reduce_gradients()
        step(self.optimizer, self.workload.optimizer)
        return logits.detach(), loss.detach()

    def train_epoch(
        self, seed: int, learning_rates: list[float], batches: Iterable[tuple], steps: int
    ) -> Metrics:
        # Each worker draws its own dropout masks; the first draws those of a run with one.
        rank = self.shard.first
        self.set_seed(framework_seed(seed, rank) if rank else seed)
        self.model.train()
        totals, task = self.no_totals(), self.workload.task
        fed = zip(self.feed(batches), learning_rates, strict=True)
        for (inputs, labels), rate in fed:
            for group in self.optimizer.param_groups:
                group["lr"] = rate
            targets = self.targets(labels)
            logits, loss = self.train_step(inputs, targets)
            scores = [values.sum() for values in tasks.scores(task, logits, targets)]
            # Filled on the device: copying a number there would make the host wait in every step.
            examples = torch.full_like(loss, len(labels))
            weight = self.divisor(logits, targets) if task.weighs else examples
            count = tasks.counts(task, logits, targets).sum() if task.counts else examples
            totals += torch.stack([loss * weight, weight, count, examples, *scores])
            self.end_of_step()
        self.end_of_epoch()
        return self.metrics(totals)

    @torch.no_grad()
    def evaluate(self, batches: Iterable[tuple], steps: int) -> Metrics:
        self.model.eval()
        totals, task = self.no_totals(), self.workload.task
        for inputs, labels, weights in self.feed(batches):
            targets, logits = self.targets(labels), self.forward(inputs)
            of_examples = (tasks.losses, tasks.weights, tasks.counts)
            columns = [of(task, logits, targets) for of in of_examples]
            columns += [torch.ones_like(columns[0]), *tasks.scores(task, logits, targets)]
            of_dtype = [column.to(self.dtype) for column in columns]
            totals += (torch.stack(of_dtype) * weights).sum(1)
            self.end_of_step()
        return self.metrics(totals)

    def no_totals(self) -> torch.Tensor:
        """Return zeros for the sums that `metrics` takes, on the device."""
        sums = 4 + len(self.workload.task.scores)
        return self.put(np.zeros((1, sums), np.float32))  # one row: XLA splits rows over replicas

    def metrics(self, totals: torch.Tensor) -> Metrics:
        """Return the means from this worker's sums as `Metrics.of_sums` has them, (1, sums)."""
        return Metrics.of_sums(*totals.tolist()[0])  # waits for the device

    def snapshot(self) -> tuple[dict, dict]:
        state = copy.deepcopy((self.model.state_dict(), self.optimizer.state_dict()))
        self.end_of_step()  # here and below: keep copies out of the compiled program of a step
        return state

    def restore(self, snapshot: tuple[dict, dict]) -> None:
        model, optimizer = snapshot
        self.model.load_state_dict(model)
        load_state(self.optimizer, optimizer)
        self.end_of_step()

    @torch.no_grad()
    def predict(self, inputs: np.ndarray) -> np.ndarray:
        self.model.eval()
        logits = self.model(self.prepare(self.put(inputs)))
        return functional.softmax(logits, 1).float().cpu().numpy()

    def probe(self, batch: tuple) -> Probe:
        inputs, targets = self.put(batch[0]), self.targets(self.put(batch[1]))
        self.model.train()
        self.optimizer.zero_grad()
        logits, loss = self.loss(inputs, targets)
        loss.backward()
        self.end_of_step()
        gradients = models.export(self.entries(), self._gradient)
        unbiased = self.keeps_unbiased_variances
        return Probe(logits.detach().cpu().numpy(), loss.item(), gradients, unbiased)

    def _gradient(self, tensor: torch.Tensor) -> torch.Tensor | None:
        if not tensor.requires_grad:
            return None
        return self.unshard(torch.zeros_like(tensor) if tensor.grad is None else tensor.grad)

    @torch.no_grad()
    def outputs(self, inputs: np.ndarray, trains: bool = True) -> Any:
        with self._keeping_buffers():
            outputs = self.model.train(trains)(self.prepare(self.put(inputs)))
        self.end_of_step()
        if not isinstance(outputs, torch.Tensor):
            return outputs
        return (outputs.movedim(1, -1) if outputs.ndim > 3 else outputs).cpu().numpy()

    def has_unused(self, dataset: Dataset) -> bool:
        """Return whether some parameter that is trained has no gradient, as no output depends on it."""
        learned = [weight for weight in self.model.parameters() if weight.requires_grad]
        with self._keeping_buffers():
            examples = self.put(np.array(dataset.train_inputs[:2]))
            outputs = self.model.train()(self.prepare(examples))
            if not isinstance(outputs, torch.Tensor):  # which the parity gate refuses
                return False
            gradients = torch.autograd.grad(outputs.sum(), learned, allow_unused=True)
        return any(gradient is None for gradient in gradients)

    @contextmanager
    def _keeping_buffers(self) -> Iterator[None]:
        kept = [buffer.clone() for buffer in self.model.buffers()]
        yield
        with torch.no_grad():
            for buffer, values in zip(self.model.buffers(), kept, strict=True):
                buffer.copy_(values)

    # State

    def weights(self) -> Weights:
        self.end_of_step()
        return models.export(self.entries(), self.unshard)

    def set_weights(self, weights: Weights) -> None:
        models.load_weights(self.entries(), weights, self.shard_like)
        self.end_of_step()

    def updates(self) -> int:
        return self._updates

    def modes(self) -> Modes:
        """Return the modes in force; only CUDA has TF32."""
        reduced = torch.backends.cuda.matmul.allow_tf32 or torch.backends.cudnn.allow_tf32
        return Modes(
            math_mode="tf32" if reduced and torch.cuda.is_initialized() else "ieee",
            deterministic=torch.are_deterministic_algorithms_enabled(),
            collectives=distributed.get_backend() if distributed.is_initialized() else None,
        )

    def reset_peak_memory(self) -> None:
        if self.device.type == "cuda":
            torch.cuda.reset_peak_memory_stats()

    def peak_device_memory(self) -> int | None:
        return torch.cuda.max_memory_allocated() if self.device.type == "cuda" else None

    def unsupported(self, error: Exception) -> bool:
        return isinstance(error, RuntimeError) and "determinis" in str(error).lower()

    def save(self, folder: Path) -> None:
        state = {"model": self.model.state_dict(), "optimizer": self.optimizer.state_dict()}
        whole = tree_map_only(torch.Tensor, lambda tensor: self.unshard(tensor).cpu(), state)
        torch.save(whole, folder / "state.pt")

    def load(self, folder: Path) -> None:
        state = torch.load(folder / "state.pt", weights_only=True)
        model = tree_map(
            lambda saved, like: self.shard_like(saved, like) if torch.is_tensor(like) else saved,
            state["model"],
            self.model.state_dict(),
        )
        weights = [weight for group in self.optimizer.param_groups for weight in group["params"]]
        # Arrays of a weight's shape are sharded as the weight: PyTorch's own optimizers have none yet.
        for place, arrays in state["optimizer"]["state"].items():
            for key, saved in arrays.items():
                if saved.shape == weights[place].shape:
                    arrays[key] = self.shard_like(saved, weights[place])
        self.restore((model, state["optimizer"]))


ENGINE = Torch


def open_device(kind: str, world: World = ALONE) -> tuple[torch.device, str]:
    """Open this worker's device of a kind; return it and the name of its model.

    Each worker of a host has another device. Raises `Unavailable` if there are too few.
    """
    present = {"cpu": world.local_workers, "gpu": torch.cuda.device_count()}.get(kind, 0)
    require_devices("PyTorch", kind, world.local_workers, present)
    if kind == "cpu":
        return torch.device("cpu"), "cpu"
    # No TF32. Inductor reads these old flags, and PyTorch refuses to mix them with the new ones.
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    device = torch.device("cuda", world.local_rank)
    torch.cuda.set_device(device)
    return device, torch.cuda.get_device_name(device)
