"""PyTorch, compiled: forward pass with loss, and backward pass, as one program each, by `torch.compile`.

A graph that cannot be compiled as a whole is an error, so that nothing silently runs eager. Inductor keeps
its programs in TORCHINDUCTOR_CACHE_DIR, by default a folder of a known name in /tmp, under a hash of graph,
options and versions, so that a changed model is compiled anew.
"""

import os
from pathlib import Path
from typing import Any

import torch
from torch._dynamo.utils import counters
from torch._inductor.cpp_builder import get_compiler_version_info, get_cpp_compiler
from torch._inductor.cpu_vec_isa import VecISA
from torch._inductor.exc import InvalidCxxCompiler
from torch._inductor.runtime.cache_dir_utils import cache_dir, default_cache_dir

from paragone.base.atomic_files import is_own, sha256_of
from paragone.base.engine_reports import ALONE, Programs, World
from paragone.base.errors import Unavailable, UserError
from paragone.config.run_spec import Spec
from paragone.data import Dataset
from paragone.engines import kept_programs
from paragone.engines.torch import Torch

_CHECK = VecISA.check_build


class TorchCompile(Torch):
    """The eager engine with compiled passes for batches of one shape, and an eager optimizer."""

    def build(self, spec: Spec, dataset: Dataset, threads: int, world: World = ALONE) -> None:
        """Do as `Engine.build` says. Raises `Unavailable` without a C++ compiler."""
        super().build(spec, dataset, threads, world)
        try:
            get_cpp_compiler()
        except InvalidCxxCompiler:
            raise Unavailable(
                "torch.compile needs a C++ compiler: install g++, or set CXX"
            ) from None
        require_own_cache()
        if folder := kept_programs("torch", torch.__version__):
            remember_checks(folder)
        counters.clear()
        options: dict[str, Any] = {"fullgraph": True, "dynamic": False}
        if spec.tuned("cuda_graphs"):  # of a CPU inductor makes none
            options["mode"] = "reduce-overhead"
        self._forward = torch.compile(super().forward, **options)
        self._loss = torch.compile(super().loss, **options)

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        return self._forward(inputs)

    def loss(self, inputs: torch.Tensor, targets: torch.Tensor) -> tuple:
        return self._loss(inputs, targets)

    def programs(self) -> Programs:
        cache = counters["inductor"]
        missed = cache["fxgraph_cache_miss"] + cache["fxgraph_cache_bypass"]
        return Programs(compiled=missed, cached=cache["fxgraph_cache_hit"])


ENGINE = TorchCompile


def remember_checks(folder: Path) -> None:
    """Keep in a folder which vector instructions inductor has found to work here.

    For each of up to six sets of instructions it would otherwise start a process that imports PyTorch.
    """
    compiler = get_compiler_version_info(get_cpp_compiler())

    def remembered(isa: VecISA, code: str) -> bool:
        key = sha256_of({"code": code, "flags": isa.build_arch_flags(), "compiler": compiler})
        works = folder / f"{key}.works"
        if not works.exists() and _CHECK(isa, code):
            works.touch()
        return works.exists()

    VecISA.check_build = remembered


def require_own_cache() -> None:
    """Raise `UserError` if another user owns the cache, since its programs are executed."""
    folder = Path(cache_dir())
    if not is_own(folder):
        raise UserError(
            f"TORCHINDUCTOR_CACHE_DIR: {folder} belongs to another user, whose programs would be executed; "
            "set it to a folder of your own"
        )
    if os.statvfs(folder).f_flag & os.ST_NOEXEC:
        raise UserError(
            f"TORCHINDUCTOR_CACHE_DIR: {folder} is mounted without execution (noexec); name another folder"
        )
    if folder == Path(default_cache_dir()):  # in /tmp; a folder that the user chose keeps its mode
        folder.chmod(0o700)
