"""The JSON Schemas of what commands print with --json, made from the types of these objects.

tests.reference writes them into docs/reference/schemas.
"""

import inspect
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import is_dataclass
from enum import Enum
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, NotRequired, Union, get_args, get_origin, get_type_hints, is_typeddict

from poolsize.analysis.application_size import ApplicationSize
from poolsize.analysis.bimodal import TransactionPool
from poolsize.answer.price import Price
from poolsize.answer.verdict import OpenEnd, Verdict
from poolsize.capture.text import CapturedValues, CheckedValues
from poolsize.commands.run_sweep import SweepValues
from poolsize.comparison.text import ComparisonValues
from poolsize.experiments.run_scenario import ListedScenario, ScenarioValues
from poolsize.experiments.survey.text import SurveyValues
from poolsize.explanation.text import EventsValues
from poolsize.facts.inspection import Inspection
from poolsize.facts.instance_class import InstanceClassValues
from poolsize.observe.text import ObservedTrafficValues, ObservedValues, PoolsValues
from poolsize.pool_config.check_text import PoolChecksValues
from poolsize.pool_config.run_config import ListedStack
from poolsize.pool_config.stacks import ConfigurationValues
from poolsize.predict.text import PredictionValues
from poolsize.present.text.analysis import AnalysisValues
from poolsize.present.text.fleet import FleetValues
from poolsize.present.text.inspection import PerCoreValues
from poolsize.present.text.json_text import printed_names
from poolsize.present.text.recommendation import FormulaValues, RunValues
from poolsize.present.text.traffic import TrafficAnswerValues, TrafficFleetValues
from poolsize.runs.plan import MeasuredApplication
from poolsize.sweep.events import DryRun

Schema = dict[str, Any]
COMMANDS: Mapping[str, Mapping[str, Any]] = {
    "recommend": {
        "by the formula": FormulaValues,
        "with `--url` of a server that does not say its cores": PerCoreValues,
        "of a run or a curve": RunValues,
        "for a traffic": TrafficAnswerValues,
        "with `--observation`": ObservedTrafficValues,
        "with `--observation` of several pools": PoolsValues,
    },
    "explain": {"": EventsValues},
    "sweep": {"": SweepValues, "with a second server": ComparisonValues, "with `--dry-run`": DryRun},
    "observe": {"": ObservedValues},
    "capture": {"": CapturedValues, "with `--check`": CheckedValues},
    "config": {
        "with `--for`": ConfigurationValues,
        "with `--check`": PoolChecksValues,
        "with `--list`": list[ListedStack],
        "where the limit allows no pool": FleetValues,
        "for a traffic that the database does not keep up with": TrafficAnswerValues,
    },
    "fleet": {"": FleetValues, "with rates of services": TrafficFleetValues},
    "analyze": {"": AnalysisValues},
    "compare": {"": ComparisonValues},
    "predict": {"": PredictionValues},
    "scenario": {"": ScenarioValues, "`pools`": SurveyValues, "with `--list`": list[ListedScenario]},
}
"""Command with --json -> when -> the type of the object that it prints."""
LATER_IMPORTED = {
    "ApplicationSize": ApplicationSize, "FleetValues": FleetValues, "Inspection": Inspection,
    "InstanceClassValues": InstanceClassValues, "MeasuredApplication": MeasuredApplication, "OpenEnd": OpenEnd,
    "Price": Price, "TransactionPool": TransactionPool, "Verdict": Verdict,
}  # fmt: skip
"""Types that the modules of quick commands import for type checkers alone."""
TYPES: Mapping[Any, Schema] = {
    str: {"type": "string"}, bool: {"type": "boolean"}, int: {"type": "integer"}, float: {"type": "number"},
    NoneType: {"type": "null"}, Any: {},
}  # fmt: skip


def schema_of(command: str) -> Schema:
    """Return the JSON Schema of what a command prints with --json, open to keys that later versions add."""
    definitions: dict[str, Schema] = {}
    forms = [_of_type(kind, definitions) for kind in COMMANDS[command].values()]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"poolsize {command} --json",
        **(forms[0] if len(forms) == 1 else {"anyOf": forms}),
        "$defs": {name: definitions[name] for name in sorted(definitions)},
    }


def schema_text(command: str) -> str:
    """Return the schema of a command as its file has it."""
    return json.dumps(schema_of(command), indent=1) + "\n"


def _of_type(kind: Any, definitions: dict[str, Schema]) -> Schema:
    """Return the schema of a type. definitions: name -> schema of an object, to which those in the type are added."""
    origin, arguments = get_origin(kind), get_args(kind)
    if kind in TYPES:
        return TYPES[kind]
    if isinstance(kind, type) and issubclass(kind, Enum):
        return {"enum": [member.value for member in kind]}
    if is_typeddict(kind) or is_dataclass(kind):
        return _of_object(kind, definitions)
    if origin in {Annotated, NotRequired}:
        inner, *notes = arguments
        return _of_type(inner | None if "null" in notes else inner, definitions)  # see FloatOrNull
    return _of_generic(origin, arguments, definitions)


def _of_generic(origin: Any, arguments: tuple[Any, ...], definitions: dict[str, Schema]) -> Schema:
    if origin is Literal:
        return {"enum": [*arguments]}
    if origin in {Union, UnionType}:
        schemas = [_of_type(each, definitions) for each in arguments]
        names = [schema["type"] for schema in schemas if [*schema] == ["type"]]
        return {"type": names} if len(names) == len(schemas) else {"anyOf": schemas}
    if issubclass(origin, Mapping):
        return {"type": "object", "additionalProperties": _of_type(arguments[1], definitions)}
    assert issubclass(origin, Sequence), origin
    if origin is tuple and arguments[-1] is not Ellipsis:
        items = [_of_type(each, definitions) for each in arguments]
        return {"type": "array", "prefixItems": items, "minItems": len(items), "maxItems": len(items)}
    return {"type": "array", "items": _of_type(arguments[0], definitions)}


def _of_object(kind: Any, definitions: dict[str, Schema]) -> Schema:
    """Return the reference to the schema of a record or a typed dict, which is added to the definitions."""
    name, description = kind.__name__, _description(kind)
    if name not in definitions:
        definitions[name] = {"description": description}  # a type may contain itself
        hints = get_type_hints(kind, localns=LATER_IMPORTED, include_extras=True)
        keys = printed_names(kind) if is_dataclass(kind) else [*hints]
        needed = keys if is_dataclass(kind) else kind.__required_keys__
        definitions[name] |= {
            "type": "object",
            "properties": {
                key: _of_type(hints[key], definitions) if key in hints else _of_property(kind, key, definitions)
                for key in keys
            },
            "required": [key for key in keys if key in needed],
        }
    assert definitions[name]["description"] == description, f"two types have the name {name}"
    return {"$ref": f"#/$defs/{name}"}


def _of_property(kind: Any, name: str, definitions: dict[str, Schema]) -> Schema:
    derived = getattr(kind, name)
    return _of_type(get_type_hints(derived.fget)["return"], definitions) | {"description": _description(derived)}


def _description(described: Any) -> str:
    """Return the docstring of a class or of a property, without its errors, in the words of JSON."""
    text = re.sub(r"\s*Raises .*", "", inspect.getdoc(described) or "", flags=re.DOTALL)
    return re.sub(r"\b(None|NaN)\b", "null", text)
