"""PyTorch, eager, on one device (CPU or CUDA)."""

import copy
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from paragone.base.engine_reports import Devices, FlopCount, Metrics, Modes, Programs
from paragone.base.errors import Unavailable, says_memory_is_full
from paragone.base.ranks import ALONE, World
from paragone.config.run_spec import Spec
from paragone.data import Dataset
from paragone.data.batches import WHOLE
from paragone.data.random_streams import framework_seed
from paragone.engines import Probe, torch_devices, torch_weights, warm_up
from paragone.engines.torch_feed import create_feed
from paragone.engines.torch_flop import count
from paragone.engines.torch_optimizers import create_optimizer
from paragone.models import create_model
from paragone.models.canonical_weights import Weights
from paragone.models.torch import MODELS

STRATEGIES = {"single": "one worker"}
BATCH_NORM = "whole"
FEEDS = ("batches", "pinned", "resident")
TUNED = {
    "fused_optimizer": "all weights updated by one kernel (SGD, Adam)",
    "cudnn_benchmark": "convolution algorithms chosen by trial",
}


class Torch:
    """The engine. Loss and accuracy are summed on the device and read once per epoch."""

    keeps_unbiased_variances = True  # batch norm's running ones, by n / (n - 1) above the biased

    def build(self, spec: Spec, dataset: Dataset, threads: int, world: World = ALONE) -> None:
        self.device = self.open_device(spec, threads, world)
        self.dtype = getattr(torch, spec.weights_precision)
        self.mixed = spec.mixed
        torch.manual_seed(spec.seed)
        torch.use_deterministic_algorithms(spec.deterministic)
        torch.backends.cudnn.benchmark = bool(spec.tuned("cudnn_benchmark"))
        # Nothing here reads memory before it is written: filling it first only takes time.
        torch.utils.deterministic.fill_uninitialized_memory = False
        self.workload = spec.workload
        self.model = self.place(torch_weights.known(create_model(MODELS, spec, dataset)))
        self.replica: nn.Module = self.model
        self.feed = create_feed(spec, dataset, self.device, self.put)
        self.optimizer = create_optimizer(
            spec.workload["optimizer"],
            self.model,
            self.device,
            self.add_squares,
            fused=bool(spec.tuned("fused_optimizer")),
        )

    def open_device(self, spec: Spec, threads: int, world: World) -> torch.device:
        """Open this worker's device; set `devices`, `device_names` and `shard`."""
        torch.set_num_threads(threads)
        kind = spec.backend["device"]
        if spec.replicas > 1:
            raise Unavailable(
                f"{spec.replicas} replica(s) on {kind} asked for; this backend drives one device"
            )
        device, name = torch_devices.open_device(kind)
        self.devices = Devices(kind, 1, workers=1)
        self.device_names = [name]
        self.shard = WHOLE
        return device

    # What differs on a lazy device or with several workers

    def place(self, model: nn.Module) -> nn.Module:
        """The model on the device."""
        # Channels last is the layout of the stored images and the fast one on CPUs and tensor cores.
        return model.to(self.device, self.dtype, memory_format=torch.channels_last)

    def whole(self, tensor: torch.Tensor) -> torch.Tensor:
        """The whole of a tensor of model or optimizer: it is not in parts here."""
        return tensor

    def part_of(self, whole: torch.Tensor, like: torch.Tensor) -> torch.Tensor:
        """What `whole` sets of a tensor of model or optimizer: all of it here."""
        return whole

    def put(self, array: np.ndarray) -> torch.Tensor:
        """A host array on the device."""
        return torch.from_numpy(array).to(self.device, non_blocking=True)

    def set_seed(self, seed: int) -> None:
        """Start the generator of the device, which draws dropout's masks."""
        torch.manual_seed(seed)

    def reduce_gradients(self) -> None:
        """Between the backward pass and the optimizer step: nothing here."""

    def add_squares(self, squares: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        """The sum over replicas of squared gradients of a weight: there is one replica here."""
        return squares

    def end_of_step(self) -> None:
        """After each step, and before tensors are read one by one: nothing here."""

    def end_of_epoch(self) -> None:
        """After the last step of an epoch: nothing here."""

    # Training

    def prepare(self, inputs: torch.Tensor) -> torch.Tensor:
        """Model inputs from stored examples: numbers scaled, channels first; word indices unchanged."""
        scale = self.workload.get("input")
        if scale is None:
            return inputs.long()
        scaled = (inputs.to(self.dtype) / scale["divide"] - scale["mean"]) / scale["std"]
        return scaled.movedim(-1, 1)

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        """The logits that the loss takes, of stored examples."""
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self.mixed):
            logits = self.replica(self.prepare(inputs)).to(self.dtype)
        # Intended: a flaw of the published source, softmax outputs where logits are expected.
        return logits.softmax(1) if self.workload.get("loss") == "double_softmax" else logits

    def loss(self, inputs: torch.Tensor, labels: torch.Tensor) -> tuple:
        """(logits, mean loss) of stored examples."""
        logits = self.forward(inputs)
        return logits, functional.cross_entropy(logits, labels)

    def train_step(self, inputs: torch.Tensor, labels: torch.Tensor) -> tuple:
        """One optimizer step; (logits, mean loss), both on the device."""
        self.optimizer.zero_grad()
        logits, loss = self.loss(inputs, labels)
        loss.backward()
        self.reduce_gradients()
        self.optimizer.step()
        return logits.detach(), loss.detach()

    def train_epoch(
        self, seed: int, learning_rate: float, batches: Iterable[tuple], steps: int
    ) -> Metrics:
        # Each worker draws its own dropout masks; the first draws those of a run with one.
        rank = self.shard.first
        self.set_seed(framework_seed(seed, rank) if rank else seed)
        for group in self.optimizer.param_groups:
            group["lr"] = learning_rate
        self.model.train()
        totals = self.put(np.zeros(3, np.float32))
        for inputs, labels in self.feed(batches, "train"):
            labels = labels.long()
            logits, loss = self.train_step(inputs, labels)
            correct = (logits.argmax(1) == labels).sum()
            # Filled on the device: a number copied there would make the host wait, every step.
            examples = torch.full_like(loss, len(labels))
            totals += torch.stack([loss * len(labels), correct, examples])
            self.end_of_step()
        self.end_of_epoch()
        return self.metrics(totals)

    @torch.no_grad()
    def evaluate(self, batches: Iterable[tuple], steps: int) -> Metrics:
        self.model.eval()
        totals = self.put(np.zeros(3, np.float32))
        for inputs, labels, weights in self.feed(batches, "test"):
            labels = labels.long()
            logits = self.forward(inputs)
            losses = functional.cross_entropy(logits, labels, reduction="none")
            correct = (logits.argmax(1) == labels).to(losses.dtype)
            totals += torch.stack(
                [(losses * weights).sum(), (correct * weights).sum(), weights.sum()]
            )
            self.end_of_step()
        return self.metrics(totals)

    def metrics(self, totals: torch.Tensor) -> Metrics:
        """Means of (loss, correct, examples) summed over the examples of every worker."""
        loss, correct, examples = totals.tolist()  # waits for the device
        return Metrics(loss / examples, correct / examples)

    def snapshot(self) -> tuple[dict, dict]:
        state = copy.deepcopy((self.model.state_dict(), self.optimizer.state_dict()))
        self.end_of_step()  # here and below: copies do not belong to the program of a step
        return state

    def restore(self, snapshot: tuple[dict, dict]) -> None:
        model, optimizer = snapshot
        self.model.load_state_dict(model)
        self.optimizer.load_state_dict(optimizer)
        self.end_of_step()

    def warm_up(self, learning_rate: float, train_batch: tuple, test_batch: tuple) -> None:
        # On a lazy device steps two and three may compile again (pytorch/xla #6210).
        warm_up(self, learning_rate, train_batch, test_batch, steps=3)

    @torch.no_grad()
    def predict(self, inputs: np.ndarray) -> np.ndarray:
        self.model.eval()
        logits = self.model(self.prepare(self.put(inputs)))
        return functional.softmax(logits, 1).float().cpu().numpy()

    def probe(self, batch: tuple) -> Probe:
        inputs, labels = self.put(batch[0]), self.put(batch[1]).long()
        self.model.train()
        self.optimizer.zero_grad()
        unbiased = self._unbiased(inputs) if self.keeps_unbiased_variances else {}
        logits, loss = self.loss(inputs, labels)
        loss.backward()
        self.end_of_step()
        gradients = torch_weights.export(self.model, lambda tensor: self.whole(tensor.grad))
        return Probe(logits.detach().cpu().numpy(), loss.item(), gradients, unbiased)

    @torch.no_grad()
    def _unbiased(self, inputs: torch.Tensor) -> dict[str, float]:
        """`Probe.unbiased`, by a forward pass of its own, since hooks do not belong to a compiled one."""
        before = self.snapshot()
        with torch_weights.follow_variances(self.model) as unbiased:
            self.model(self.prepare(inputs))
        self.restore(before)
        return unbiased

    # State

    def weights(self) -> Weights:
        self.end_of_step()
        return torch_weights.export(self.model, self.whole)

    def set_weights(self, weights: Weights) -> None:
        torch_weights.load(self.model, weights, self.part_of)
        self.end_of_step()

    def count_flop(self, spec: Spec, dataset: Dataset) -> FlopCount:
        with torch.device("meta"):
            model = create_model(MODELS, spec, dataset)
        words = "input" not in spec.workload
        return count(model, dataset.train_inputs.shape[1:], words)

    def programs(self) -> Programs | None:
        return None

    def input_seconds(self) -> float | None:
        return self.feed.clock.seconds

    def modes(self) -> Modes:
        return torch_devices.modes()

    def reset_peak_memory(self) -> None:
        if self.device.type == "cuda":
            torch.cuda.reset_peak_memory_stats()

    def peak_device_memory(self) -> int | None:
        return torch.cuda.max_memory_allocated() if self.device.type == "cuda" else None

    def out_of_memory(self, error: Exception) -> bool:
        return isinstance(error, RuntimeError) and says_memory_is_full(str(error))

    def unsupported(self, error: Exception) -> bool:
        return isinstance(error, RuntimeError) and "determinis" in str(error).lower()

    def save(self, folder: Path) -> None:
        state = {"model": self.model.state_dict(), "optimizer": self.optimizer.state_dict()}
        torch.save(
            torch_weights.of_tensors(lambda one: self.whole(one).cpu(), state), folder / "state.pt"
        )

    def load(self, folder: Path) -> None:
        state = torch.load(folder / "state.pt", weights_only=True)
        here = {"model": self.model.state_dict(), "optimizer": self.optimizer.state_dict()}
        state = torch_weights.of_tensors(self.part_of, state, here)
        self.restore((state["model"], state["optimizer"]))


ENGINE = Torch
