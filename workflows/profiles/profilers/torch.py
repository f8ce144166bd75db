"""Training steps of eager and compiled PyTorch under `torch.profiler`."""

from collections.abc import Callable

import torch
from torch._inductor import config as inductor
from torch.autograd import DeviceType
from torch.profiler import ProfilerActivity
from torch.profiler import profile as torch_profiler

from profilers import Operation, Profile

# The profiler sees one call of a compiled program, unless its kernels on a CPU are compiled so that they
# record their begin and end. This module is imported before anything is compiled.
inductor.cpp.enable_kernel_profile = True


def profile(work: Callable[[], float], kind: str) -> Profile:
    """The operators and compiled kernels of a CPU, or the kernels and copies of a GPU."""
    on_gpu = kind == "gpu"
    activities = [ProfilerActivity.CPU, *([ProfilerActivity.CUDA] if on_gpu else [])]
    with torch_profiler(activities=activities) as trace:
        seconds = work()
    device = DeviceType.CUDA if on_gpu else DeviceType.CPU
    operations = [
        Operation(
            row.key,
            row.count,
            1e-6 * (row.self_device_time_total if on_gpu else row.self_cpu_time_total),
        )
        for row in trace.key_averages()
        if row.device_type == device
    ]
    on_cpu = "operators and compiled kernels, in all threads"
    operations_are = "kernels and copies of the device" if on_gpu else on_cpu
    version = str(torch.__version__)  # a TorchVersion, which is no JSON
    return Profile("torch.profiler", version, operations_are, seconds, operations)
