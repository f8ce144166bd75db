"""How a process starts and ends: the environment it is given, settings and imports, and a quick end."""

import atexit
import getpass
import os
import shutil
import site
import sys
import tempfile
import threading
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import NoReturn

from paragone.base.atomic_files import is_own
from paragone.base.errors import UserError, entry_point

# Beginnings of the names of variables that change what frameworks, their libraries, Python or the loader of
# programs execute, or how fast.
MATTERING = (
    *("ATEN_", "BLIS_", "C10_", "CUBLAS_", "CUDA_", "CUDNN_", "DNNL_", "FLAX_", "GLIBC_TUNABLES"),
    *("GLOO_", "GOMP_", "HIP_", "HSA_", "JAX_", "KERAS_", "KMP_", "LD_AUDIT", "LD_BIND_"),
    *("LD_PRELOAD", "LIBTPU_", "MALLOC_", "MIOPEN_", "MKL_", "NCCL_", "NPY_"),
    *("NVIDIA_TF32_OVERRIDE", "OMP_", "ONEDNN_", "OPENBLAS_", "PJRT_", "PYTHONHASHSEED"),
    *("PYTHONHOME", "PYTHONMALLOC", "PYTHONOPTIMIZE", "PYTHONPATH", "PYTHONWARNINGS"),
    *("PYTHON_CPU_COUNT", "PYTHON_GIL", "PYTHON_JIT", "PYTORCH_", "TF_", "TORCH", "TRITON_"),
    "XLA_",
)
# Of those, what images of containers and shell profiles have, and what changes messages alone.
_HARMLESS = ("TF_CLI_", "TF_CPP_", "TORCH_HOME")
# What a process that executes a framework keeps of the shell: where things are, language and time zone, and
# the devices and network interfaces that scheduler and site give it.
_KEPT = (
    *("PATH", "HOME", "USER", "LOGNAME", "LANG", "LANGUAGE", "TZ", "TMPDIR", "CC", "CXX"),
    *("LD_LIBRARY_PATH", "VIRTUAL_ENV", "XDG_CACHE_HOME", "TORCHINDUCTOR_CACHE_DIR"),
    *("CUDA_DEVICE_ORDER", "CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES"),
    *("CUDA_HOME", "CUDA_PATH", "CUDA_MPS_LOG_DIRECTORY", "CUDA_MPS_PIPE_DIRECTORY"),
    *("NVIDIA_DRIVER_CAPABILITIES", "NVIDIA_VISIBLE_DEVICES"),
    *("GLOO_SOCKET_IFNAME", "NCCL_IB_HCA", "NCCL_SOCKET_IFNAME"),
)
_KEPT_BEGINNINGS = ("CONDA_", "LC_", "PARAGONE_", "PMI", "SLURM_", "SRUN_", "TPU_")
# What a process that may download keeps in addition, and every variable that ends with "_proxy".
_OF_NETWORK = ("CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "SSL_CERT_DIR", "SSL_CERT_FILE")
# Set by Snakemake for every job, all to its number of threads; the first one by nobody else.
_OF_SNAKEMAKE = ("GOTO_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
# What Jupyter, IDEs and packagers set: they change what is drawn or typeset, or stop matplotlib.
_OF_DRAWING = ("MATPLOTLIBRC", "MPLBACKEND", "SOURCE_DATE_EPOCH")
_REMOVED = "PARAGONE_REMOVED"  # names, from the process that made the environment to its children


def given() -> dict[str, str]:
    """Return what every process that executes a framework is given, unless its tuning says otherwise."""
    fixed = {
        "CUBLAS_WORKSPACE_CONFIG": ":4096:8",  # otherwise matrix products are not deterministic
        "CUDA_DEVICE_ORDER": "PCI_BUS_ID",  # number GPUs as NVML does
        "KERAS_HOME": os.devnull,  # see `ignore_keras_settings`
        "PJRT_DEVICE": "CPU",  # otherwise torch_xla asks every plug-in for devices
        "PYTHONNOUSERSITE": "1",  # packages of the environment, not those in the user's home
        "TF_CPP_MIN_LOG_LEVEL": "1",
        "TORCH_WARM_POOL": "0",  # torch.compile's worker processes, which a CPU never uses
    }
    # Where other work shares the cores, as beside tests, threads that wait must not spin.
    return fixed | ({"OMP_WAIT_POLICY": "passive"} if "PARAGONE_SHARED_CORES" in os.environ else {})


def environment(
    tuned: Mapping[str, str] = MappingProxyType({}), *, network: bool = False
) -> dict[str, str]:
    """Return the environment of a process that executes a framework: made, not inherited.

    `tuned`: the variables of the run's tuning. `network`: whether it may download, through proxies. A folder
    takes the place of a home that cannot be used.
    """
    mend_shell()
    inherited = {
        name: value
        for name, value in os.environ.items()
        if name in _KEPT
        or name.startswith(_KEPT_BEGINNINGS)
        or (network and (name in _OF_NETWORK or name.lower().endswith("_proxy")))
    }
    folders = {"TMPDIR": tempfile.gettempdir()}
    home = inherited.get("HOME", "")
    if not (home and os.access(home, os.R_OK | os.W_OK | os.X_OK)):
        folders["HOME"] = str(private_folder())
    variables = given() | inherited | folders | dict(tuned)
    return variables | {_REMOVED: " ".join(sorted({*removed_variables(), *_changed(variables)}))}


def removed_variables() -> list[str]:
    """Return the names of variables that matter and that this process was started without."""
    return os.environ.get(_REMOVED, "").split()


def tuning_variables() -> dict[str, str]:
    """Return the variables of this process that matter and that no process with a framework would inherit."""
    inherited = {name: os.environ[name] for name in _KEPT if name in os.environ}
    return {name: os.environ[name] for name in sorted(_changed(given() | inherited))}


def tunes(name: str) -> bool:
    """Return whether a variable may be one of a run's tuning."""
    harmless = name.startswith((*_HARMLESS, *_KEPT)) or name.endswith("_VERSION")
    return name.startswith(MATTERING) and not harmless


def _changed(variables: Mapping[str, str]) -> set[str]:
    """The names of variables that matter and that `variables` lacks, or has with another value.

    Those with which Snakemake gives every job its number of threads are no choice of the user.
    """
    threads = os.environ.get(_OF_SNAKEMAKE[0])
    of_snakemake = {name for name in _OF_SNAKEMAKE if os.environ.get(name) == threads}
    return {
        name
        for name, value in os.environ.items()
        if tunes(name) and variables.get(name) != value and name not in of_snakemake
    }


@entry_point
def take_environment(*, network: bool = False) -> None:
    """Give this process the environment that `environment` makes.

    What Python and the loader have read cannot be taken back: then the program is executed again.
    """
    variables = environment(network=network)
    with_home = site.ENABLE_USER_SITE and site.getusersitepackages() in sys.path
    if with_home or _changed(variables):
        os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], variables)
    os.environ.clear()
    os.environ.update(variables)


def mend_shell() -> None:
    """Change what this process and its children cannot live with.

    Snakemake, PyTorch and others ask for the user's name, which the system may not know: a container is
    started as any number. Python must find the library beside a program. Where Snakemake was called by its
    path, as in a crontab, the programs of its environment come first. A notebook's settings reach no figure.
    """
    for name in ("PYTHONSAFEPATH", *_OF_DRAWING):
        os.environ.pop(name, None)
    programs, path = os.path.dirname(sys.executable), os.environ.get("PATH", os.defpath)
    called = os.path.dirname(os.path.realpath(shutil.which("snakemake") or ""))
    if called != os.path.realpath(programs) and path.split(os.pathsep)[0] != programs:
        os.environ["PATH"] = f"{programs}{os.pathsep}{path}"
    try:
        getpass.getuser()
    except (KeyError, OSError):
        os.environ["LOGNAME"] = str(os.getuid())


def private_folder() -> Path:
    """Return this user's folder among temporary files. Raises `UserError` if it is another user's."""
    folder = Path(tempfile.gettempdir(), f"paragone-{os.getuid()}")
    folder.mkdir(mode=0o700, exist_ok=True)
    if not is_own(folder):
        raise UserError(f"{folder} belongs to another user; set TMPDIR to a folder of your own")
    return folder


def ignore_keras_settings() -> None:
    """Let Keras start with its own defaults; to be called before it is imported.

    It reads backend, layouts, epsilons and limits of epochs from the environment and from the user's
    keras.json; where the home cannot be written, from anybody's in /tmp.
    """
    for name in [name for name in os.environ if name.startswith("KERAS_")]:
        del os.environ[name]
    os.environ["KERAS_HOME"] = os.devnull


def end_process() -> NoReturn:
    """End without freeing memory, which takes PyTorch or JAX half a second and more.

    As at every end of Python, threads are waited for, functions registered with atexit are called, and the
    status is 0, or 120 if the output cannot be written.
    """
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except OSError:
        os._exit(120)
    os._exit(0)
