"""Training steps of eager and compiled PyTorch under `torch.profiler`."""

from collections.abc import Callable

import torch
from torch._inductor import config as inductor
from torch.autograd import DeviceType
from torch.profiler import ProfilerActivity
from torch.profiler import profile as torch_profiler

from paragone.engines.profiles import Operation, Profile

# Of a compiled program the profiler sees one call, unless its kernels on a CPU are compiled so that they say
# when they begin and end. This module is imported before anything is compiled.
inductor.cpp.enable_kernel_profile = True


def profile(work: Callable[[], float], kind: str) -> Profile:
    """See `paragone.engines.profiles`. On a GPU the operations are its kernels and copies."""
    on_gpu = kind == "gpu"
    activities = [ProfilerActivity.CPU, *([ProfilerActivity.CUDA] if on_gpu else [])]
    with torch_profiler(activities=activities) as found:
        seconds = work()
    device = DeviceType.CUDA if on_gpu else DeviceType.CPU
    operations = [
        Operation(
            row.key,
            row.count,
            1e-6 * (row.self_device_time_total if on_gpu else row.self_cpu_time_total),
        )
        for row in found.key_averages()
        if row.device_type == device
    ]
    of = (
        "kernels and copies of the device"
        if on_gpu
        else "operators and compiled kernels, in all threads"
    )
    return Profile("torch.profiler", torch.__version__, of, seconds, operations)
