"""Read a training configuration: recognise the tool that it belongs to, take what is understood, list what is not."""

from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from planner.errors import InputError
from planner.experiment.recipes import axolotl, hf_arguments, lightning, timm_args, torchtitan, torchtune
from planner.experiment.recipes.found import Found
from planner.experiment.resolve import ExperimentRequest
from planner.workloads.reading import kind_of, parse_json_object, read_text

MAX_BYTES = 2 << 20
# The most particular first: several have a model and a batch size.
_TOOLS: tuple[ModuleType, ...] = (axolotl, torchtitan, torchtune, timm_args, lightning, hf_arguments)


class TrainingConfig(NamedTuple):
    """What a configuration says: ``values`` by field of ``ExperimentRequest``, and sentences for the assumptions.

    ``unknown_data`` are the data sets that it trains on and that are not known here.
    """

    tool: str
    values: Mapping[str, Any]
    left_aside: tuple[str, ...]
    said: tuple[str, ...]
    unknown_data: tuple[str, ...] = ()


def read_training_config(name: str) -> TrainingConfig:
    """The configuration in a JSON, YAML or TOML file. Raises InputError; PlannerError for YAML without PyYAML."""
    path = Path(name).expanduser()
    subject = f"the training configuration {str(path)!r}"
    content = _content(path, subject)
    tool = next((tool for tool in _TOOLS if content.keys() >= tool.MARKS), None)
    if tool is None and content.keys() & hf_arguments.MARKS:
        tool = hf_arguments
    if tool is None:
        known = ", ".join(str(tool.NAME) for tool in _TOOLS)
        raise InputError(f"{subject} is not recognised; known are {known}")
    found = Found(subject, path.parent)
    tool.read(content, found)
    said = _said(path, tool.NAME, found)
    return TrainingConfig(tool.NAME, found.values, tuple(found.left_aside), said, tuple(found.unknown_data))


def completed(request: ExperimentRequest, config: TrainingConfig) -> ExperimentRequest:
    """The request with the configuration's values wherever the user said nothing; what the user says counts.

    Raises InputError where it trains for epochs of data that is not known here.
    """
    values = dict(config.values)
    if request.epochs is not None or request.tokens is not None or request.steps is not None:
        for length in ("epochs", "steps"):
            values.pop(length, None)
    if request.parameters is not None:
        values.pop("model", None)
    if request.samples is not None:
        values.pop("dataset", None)
    defaults = ExperimentRequest(model="")
    taken = {name: value for name, value in values.items() if getattr(request, name) == getattr(defaults, name)}
    whole = request._replace(**taken, said=(*request.said, *config.said))
    if config.unknown_data and not _says_how_much(whole):
        raise InputError(
            f"the configuration trains on {', '.join(config.unknown_data)}, which is not known here: say how much that "
            "is with -d, --samples, --tokens or --steps"
        )
    return whole


def _says_how_much(request: ExperimentRequest) -> bool:
    return any(getattr(request, name) is not None for name in ("dataset", "samples", "tokens", "steps"))


def _content(path: Path, subject: str) -> dict[str, Any]:
    text = read_text(path, MAX_BYTES, "training configuration")
    suffix = path.suffix.lower()
    if suffix == ".json":
        return parse_json_object(text, subject)
    if suffix == ".toml":
        import tomllib

        try:
            return tomllib.loads(text)
        except (tomllib.TOMLDecodeError, RecursionError) as error:
            raise InputError(f"{subject} is not TOML: {error}") from error
    if suffix in (".yaml", ".yml"):
        from planner.experiment.recipes.safe_yaml import load_yaml

        content = load_yaml(text, subject)
        if not isinstance(content, dict):
            raise InputError(f"{subject} holds no fields but {kind_of(content)}")
        return {str(key): value for key, value in content.items()}
    raise InputError(f"{subject} is no .json, .yaml, .yml or .toml file")


def _said(path: Path, tool: str, found: Found) -> tuple[str, ...]:
    taken = ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in found.values.items())
    lines = [f"from {path.name} ({tool}): {taken or 'nothing'}"]
    lines += [f"{path.name}: {remark}" for remark in found.remarks]
    if found.left_aside:
        lines.append(f"not understood in {path.name} and left aside: {', '.join(found.left_aside)}")
    return tuple(lines)
