"""How batches get to the device of PyTorch: the ways that a backend's `feed` may name."""

from collections.abc import Callable, Iterable, Iterator

import numpy as np
import torch

from paragone.base.errors import Unavailable
from paragone.config.run_spec import Spec
from paragone.data import Dataset
from paragone.engines import InputClock

Put = Callable[[np.ndarray], torch.Tensor]
Tensors = tuple[torch.Tensor, ...]


class Feed:
    """`batches`: each is copied to the device when it is drawn."""

    def __init__(self, put: Put) -> None:
        self._put = put
        self.clock = InputClock()

    def __call__(self, batches: Iterable[tuple], split: str) -> Iterator[Tensors]:
        """The batches of a split, "train" or "test", on the device."""
        return self.clock.over(self._copied(batches, split))

    def _copied(self, batches: Iterable[tuple], split: str) -> Iterator[Tensors]:
        for batch in batches:
            yield tuple(map(self._put, batch))


class PinnedFeed(Feed):
    """`pinned`: each is copied from page-locked memory, on a stream of its own, one step ahead.

    PyTorch's host allocator reuses such memory when its copy is done: two buffers at a time.
    """

    def __init__(self, put: Put, device: torch.device) -> None:
        super().__init__(put)
        self._device, self._stream = device, torch.cuda.Stream(device)

    def _copied(self, batches: Iterable[tuple], split: str) -> Iterator[Tensors]:
        ahead = None
        for batch in batches:
            begun = self._begin(batch)
            if ahead:
                yield self._end(*ahead)
            ahead = begun
        if ahead:
            yield self._end(*ahead)

    def _begin(self, batch: tuple) -> tuple[Tensors, torch.cuda.Event]:
        with torch.cuda.stream(self._stream):
            pinned = (torch.from_numpy(array).pin_memory() for array in batch)
            copies = tuple(one.to(self._device, non_blocking=True) for one in pinned)
            return copies, self._stream.record_event()

    def _end(self, copies: Tensors, event: torch.cuda.Event) -> Tensors:
        """The device, not the host, waits for the copies, which stay until it has used them."""
        stream = torch.cuda.current_stream(self._device)
        stream.wait_event(event)
        for one in copies:
            one.record_stream(stream)
        return copies


class ResidentFeed(Feed):
    """`resident`: all inputs are on the device; a batch has their rows in place of them."""

    def __init__(self, put: Put, dataset: Dataset) -> None:
        super().__init__(put)
        # Copies: PyTorch warns of arrays that cannot be written to.
        self._inputs = {
            "train": put(np.array(dataset.train_inputs)),
            "test": put(np.array(dataset.test_inputs)),
        }

    def _copied(self, batches: Iterable[tuple], split: str) -> Iterator[Tensors]:
        for rows, *others in super()._copied(batches, split):
            yield self._inputs[split].index_select(0, rows), *others


def create_feed(spec: Spec, dataset: Dataset, device: torch.device, put: Put) -> Feed:
    """What the specification asks for. Raises `Unavailable`."""
    if spec.feed == "pinned":
        if device.type != "cuda":
            raise Unavailable(f"feed pinned: memory is page-locked for CUDA, not for {device.type}")
        return PinnedFeed(put, device)
    return ResidentFeed(put, dataset) if spec.feed == "resident" else Feed(put)
