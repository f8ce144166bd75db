"""The config is checked before anything runs: unknown keys and impossible values are errors."""

import json
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import yaml

from paragone.base import plugins
from paragone.base.errors import UserError
from paragone.config.datasets import block_of, form_module
from paragone.config.engines import check_backend
from paragone.config.expand import BATCH_SIZES
from paragone.config.own_files import check_data

ROOT = Path(__file__).parents[3]
SCHEMAS = ROOT / "rules" / "schemas"


def validate(config: dict[str, Any]) -> None:
    """Raise `UserError` that names the key, what is wrong and what would be right."""
    error = jsonschema.exceptions.best_match(_validator().iter_errors(config))
    if error:
        key = ".".join(str(part) for part in error.absolute_path) or "config"
        raise UserError(f"{key}: {_explain(error)}")
    if config["primary"]["experiment"] not in config["experiments"]:
        raise UserError(
            f"primary.experiment: no experiment {json.dumps(config['primary']['experiment'])}; "
            f"there are {', '.join(config['experiments'])}"
        )
    if config["baseline"] not in config["backends"]:
        there = ", ".join(config["backends"])
        raise UserError(f"baseline: no backend {json.dumps(config['baseline'])}; there are {there}")
    _check_batch_sizes(config)
    # What is drawn from records alone was trained elsewhere, maybe with plugins of there.
    if not config["records_only"]:
        _check_datasets(config)
        _check_optimizers(config["workloads"])
        _check_backends(config["backends"])


def _check_batch_sizes(config: dict[str, Any]) -> None:
    for name, workload in config["workloads"].items():
        if not any(key in workload for key in BATCH_SIZES):
            raise UserError(f"workloads.{name}: has no batch size; add {' or '.join(BATCH_SIZES)}")
    blocks = {f"workloads.{name}": block for name, block in config["workloads"].items()}
    for name, block in config["experiments"].items():
        blocks[f"experiments.{name}"] = block
        blocks |= {
            f"experiments.{name}.matrix[{at}]": row for at, row in enumerate(block["matrix"])
        }
    for where, block in blocks.items():
        if all(key in block for key in BATCH_SIZES):
            raise UserError(f"{where}: has both {' and '.join(BATCH_SIZES)}; leave one of them out")


def _check_backends(backends: dict[str, Any]) -> None:
    for name, backend in backends.items():
        for key, file in (("engine", "engines/{}.py"), ("environment", "envs/{}.yaml")):
            wanted = file.format(backend[key])
            if not (plugins.file_of(wanted) or (ROOT / wanted).is_file()):
                raise UserError(
                    f"backends.{name}.{key}: there is no {wanted} in scripts/paragone/, this checkout or "
                    "a plugin; add it or name one that is there"
                )
        check_backend(name, backend)


def _check_datasets(config: dict[str, Any]) -> None:
    for name, block in config["datasets"].items():
        try:
            form_module(block["form"])
        except UserError as error:
            raise UserError(f"datasets.{name}.form: {error}") from None
        check_data(block)
    for name, workload in config["workloads"].items():
        check_data(block_of(config, workload["dataset"], f"workloads.{name}.dataset"))


def _check_optimizers(workloads: dict[str, Any]) -> None:
    known = plugins.keys("engines/reference.py")  # the parity gate has a rule for each
    for name, workload in workloads.items():
        if (used := workload["optimizer"]["name"]) not in known:
            raise UserError(
                f"workloads.{name}.optimizer.name: {json.dumps(used)} is none of {', '.join(known)}, "
                "which the parity gate's reference has; add its rule in engines/reference.py of a plugin"
            )


def _explain(error: jsonschema.ValidationError) -> str:
    if error.validator == "additionalProperties":
        allowed = ", ".join(error.schema["properties"])
        return f"{error.message.split(' (')[-1].rstrip(')')}; known keys are {allowed}"
    if error.validator == "required":
        return f"{error.message}; add it"
    if error.validator == "enum":
        allowed = ", ".join(json.dumps(value) for value in error.validator_value)
        return f"{json.dumps(error.instance)} is not one of {allowed}"
    return f"{json.dumps(error.instance)}: {error.message}"


# An integer is one: for JSON Schema 5.0 is one, too, and not for what counts by it.
_Strict = jsonschema.validators.extend(
    jsonschema.Draft202012Validator,
    type_checker=jsonschema.Draft202012Validator.TYPE_CHECKER.redefine(
        "integer", lambda _, value: isinstance(value, int) and not isinstance(value, bool)
    ),
)


@cache
def _validator() -> jsonschema.Draft202012Validator:
    schemas = {
        path.name: yaml.safe_load(path.read_text(encoding="utf-8"))
        for path in SCHEMAS.glob("*.schema.yaml")
    }
    schema = schemas["config.schema.yaml"]
    for name, file in (("data", "data_config"), ("datasets", "datasets")):
        schema["properties"][name] = {"$id": f"urn:{name}", **schemas[f"{file}.schema.yaml"]}
    return _Strict(schema)
