"""Environments of backends: those of `envs/`, those of the user, and variants in other versions of packages.

Standard library and msgspec: the Snakefile imports this module at parse time.
"""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from msgspec.structs import replace

from paragone.base import plugins
from paragone.base.atomic_files import sha256, sha256_of
from paragone.base.errors import UserError, meant
from paragone.config.key_types import Versions
from paragone.config.run_spec import as_list
from paragone.config.schema import BackendBlock, Config

# What `envs/` has an environment of; that of a GPU or TPU begins with the same name.
FRAMEWORKS = ("tensorflow", "torch", "torch-xla", "jax")
_PIN = re.compile(r"(?m)^ +- ([a-z0-9-]+==[^\s=]+)$")
_REQUIREMENT = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]*)(\[[^\]]*\])?\s*(==\s*[^\s;,#]+$)?")


def framework_of(environment: str) -> str | None:
    """The framework of an environment; None for one of a plugin's own, or of the user's."""
    frameworks = [name for name in FRAMEWORKS if f"{environment}-".startswith(f"{name}-")]
    return max(frameworks, key=len, default=None)


def is_path(environment: str) -> bool:
    """Return whether a backend's environment is a path of the user's, and no name of one of `envs/`."""
    return "." in environment or "/" in environment


def file_of(environment: str) -> Path:
    """The conda file of an environment of this project or of a plugin, whether it is there or not."""
    of_project = plugins.LIBRARY.parents[1] / f"envs/{environment}.yaml"
    return Path(plugins.environment(environment) or of_project)


def variant(backend: str, versions: Versions) -> str:
    """The name of a backend with other versions: torch.torch-2.8.0. Without any it is that of the backend."""
    pairs = [f"{package}-{version}" for package, version in sorted(versions.items())]
    name = ".".join([backend, *pairs]).replace("+", "-")
    return name if len(name) <= 100 else f"{backend}.{sha256_of(versions)[:16]}"  # of files


def variants(config: Config) -> dict[str, BackendBlock]:
    """The backends with other versions that matrices ask for, by name.

    A label has the versions in which the backend's variants differ; a color is a shade of the backend's, the
    last one the strongest. Raises `UserError` naming the key for versions that the environment cannot have.
    """
    asked: dict[str, list[Versions]] = {}
    for experiment, question in config.experiments.items():
        for number, row in enumerate(question.matrix):
            for name in (name for name in as_list(row.backend) if name in config.backends):
                for versions in as_list(row.versions or {}):
                    if versions not in asked.setdefault(name, []):
                        asked[name].append(versions)
                    if versions and not config.records_only:
                        where = f"experiments.{experiment}.matrix[{number}]"
                        check(replace(config.backends[name], versions=versions), where)
    blocks = {}
    for name, choices in asked.items():
        block, several = config.backends[name], [versions for versions in choices if versions]
        for place, versions in enumerate(several):
            shown = {
                key: version
                for key, version in sorted(versions.items())
                if any(choice.get(key) != version for choice in choices)
            }
            share = 0.65 * (len(choices) - 1 - place) / len(choices)
            blocks[variant(name, versions)] = replace(
                block,
                versions={**(block.versions or {}), **versions},
                label=_label(block, shown),
                color=_shade(block.color, share),
            )
    return blocks


def _label(block: BackendBlock, versions: Versions) -> str:
    """The label of a variant: "PyTorch eager 2.8.0", "JAX SPMD with optax 0.2.6"."""
    engine, framework = block.engine.replace("_", "-"), framework_of(block.environment)
    for package, version in versions.items() if len(versions) == 1 else ():
        if re.sub("-(cpu|tpu)$", "", package) in (framework, engine):
            return f"{block.label} {version}"
    text = " and ".join(" ".join(pair) for pair in versions.items())
    return f"{block.label} with {text}" if text else block.label


def _shade(color: str, share: float) -> str:
    """A color mixed with this share of white."""
    channels = [int(color[at : at + 2], 16) for at in (1, 3, 5)]
    return "#" + "".join(f"{round(value + share * (255 - value)):02X}" for value in channels)


def check(block: BackendBlock, where: str) -> None:
    """Raise `UserError`, which `where` begins, for an environment that is not there or lacks a package."""
    name, versions, key, fault = block.environment, block.versions or {}, "environment", ""
    if is_path(name) and not Path(name).exists():
        fault = f"there is no file or folder {name}; correct the path"
    elif is_path(name) and Path(name).is_dir() and versions:
        key = "versions"
        fault = f"{name} is a folder, which is used as it is; leave one of them out"
    elif is_path(name) and Path(name).is_dir() and not Path(name, "bin/python").exists():
        fault = f"{name} has no bin/python; name a virtual environment, or a file of requirements"
    elif not is_path(name) and not file_of(name).is_file():
        fault = f"there is no envs/{name}.yaml in this checkout or a plugin; add it, or name one or a path"
    elif not is_path(name) and (missing := sorted({*versions} - {*map(_name, pins(name))})):
        remedy = meant(missing[0], map(_name, pins(name))) or "; leave it out"
        key, fault = f"versions.{missing[0]}", f"envs/{name}.yaml has no such package{remedy}"
    if fault:
        raise UserError(f"{where}.{key}: {fault}")


def content_of(environment: str) -> str | None:
    """SHA-256 of what an environment of the user's holds: its requirements with the wheels among them, or the
    names and versions of the packages in its folder. None for one of `envs/`, and where it is not there."""
    path = Path(environment)
    if not is_path(environment) or not path.exists():
        return None
    if path.is_dir():
        installed = path.glob("lib/python*/site-packages/*.dist-info")
        return sha256_of({"installed": sorted(str(info.relative_to(path)) for info in installed)})
    lines = [*_lines(path)]
    wheels = [_digest(file, file.stat().st_mtime_ns) for file in map(Path, lines) if file.is_file()]
    names = [Path(line).name if Path(line).is_file() else line for line in lines]
    return sha256_of({"requirements": names, "wheels": wheels})


_digest = cache(lambda path, _: sha256(path))


def pins(environment: str) -> list[str]:
    """The packages of an environment of `envs/` with their versions, as `name==version`."""
    return _PIN.findall(file_of(environment).read_text(encoding="utf-8"))


def base(environment: str) -> list[str]:
    """What conda installs itself: Python and pip, in the versions of the conda file."""
    text = file_of(environment).read_text(encoding="utf-8")
    return re.findall(r"(?m)^ +- ((?:python|pip) =\S+)$", text)


def requirements(block: BackendBlock) -> list[str]:
    """What an environment must have, as pip reads it: of `envs/` the packages, whose versions may change with
    those asked for; of the user's file all lines but those of these packages, and what a worker needs."""
    versions, name = block.versions or {}, block.environment
    source = Path(name) if is_path(name) else file_of(name).with_suffix(".in")
    listed = _lines(source) if source.exists() else pins(name)
    lines = [_freed(line, versions, not is_path(name)) for line in listed]
    if is_path(name):
        lines += _lines(plugins.LIBRARY.parents[1] / "envs/train.in")
    asked = [f"{package}=={version}" for package, version in versions.items()]
    return [*dict.fromkeys(lines), *asked]


def _freed(line: str, versions: Versions, every: bool) -> str:
    """A requirement without its version, if its package is one of `versions`, or `every` one is freed."""
    match = _REQUIREMENT.match(line)
    free = match and (_name(line) in versions or (every and match[3]))
    return f"{match[1]}{match[2] or ''}" if match and free else line


def _name(requirement: str) -> str:
    match = _REQUIREMENT.match(requirement)
    return re.sub("[-_.]+", "-", match[1]).lower() if match else ""


def _lines(path: Path) -> Iterator[str]:
    """The lines of a file of requirements and of those that it names, without comments, with whole paths.

    Raises `UserError` for options that decide what is installed without saying it, such as `-c` and `-e`.
    """
    text = path.read_text(encoding="utf-8").replace("\\\n", " ")
    for line in (re.sub(r"(^|\s)#.*", "", line).strip() for line in text.splitlines()):
        option, _, argument = line.partition(" ")
        if option in ("-r", "--requirement"):
            yield from _lines(path.parent / argument.strip())
        elif line.startswith("-") and not re.match(
            "(--(extra-)?index-url|-i|--find-links|-f)[ =]", line
        ):
            raise UserError(
                f"{path}: {line}: is not read; write packages, their versions, and wheels"
            )
        elif line.endswith(".whl") and (path.parent / line).is_file():
            yield str((path.parent / line).resolve())
        elif line:
            yield line
