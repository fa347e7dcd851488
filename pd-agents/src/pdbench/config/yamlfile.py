"""YAML files, validated: every problem is one line that names the file, the key and the value."""

import math
import stat
from collections.abc import Mapping
from pathlib import Path

import yaml
from pydantic import BaseModel, ValidationError

from pdbench.config.schema import NAME, URL
from pdbench.core.types import ConfigError

MOST_BYTES = 1_000_000
MOST_VALUES = 100_000
PATTERNS = {
    NAME: "letters, digits, . _ -, at most 80",
    URL: "http:// or https:// and a host, without account, key or query",
}

WANTED = {  # what a value should be, by the kind of error that its schema finds
    "int_type": "a whole number", "int_from_float": "a whole number",
    "int_parsing": "a whole number", "float_type": "a number", "float_parsing": "a number",
    "finite_number": "a finite number", "bool_type": "true or false", "string_type": "a text",
    "list_type": "a list", "tuple_type": "a list", "dict_type": "a mapping of keys",
    "model_type": "a mapping of keys", "model_attributes_type": "a mapping of keys",
    "greater_than": "greater than {gt:g}", "greater_than_equal": "at least {ge:g}",
    "less_than": "less than {lt:g}", "less_than_equal": "at most {le:g}",
    "too_short": "a list of at least {min_length}", "too_long": "a list of at most {max_length}",
    "string_too_short": "a text of at least {min_length} characters",
    "string_too_long": "a text of at most {max_length} characters",
    "literal_error": "{expected}",
}  # fmt: skip


class _Loader(yaml.SafeLoader):
    """PyYAML takes the last of two equal keys in silence; here that is an error."""

    def construct_mapping(self, node, deep=False):
        seen = set()
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=True)
            if isinstance(key, str) and key in seen:
                line = key_node.start_mark.line + 1
                raise yaml.MarkedYAMLError(
                    problem=f"key {key!r} stands twice (line {line})"
                )
            seen.add(key if isinstance(key, str) else repr(key))
        return super().construct_mapping(node, deep)


def shown(path: Path) -> str:
    """The path as a user would type it: relative where it lies below the current folder."""
    here = Path.cwd()
    return str(path.relative_to(here)) if path.is_relative_to(here) else str(path)


def read_text(path: Path, where: str) -> str:
    """A file's text; `where` says which file and key name it."""
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode) or status.st_size > MOST_BYTES:
            raise ConfigError(
                f"{where}: {shown(path)} should be a file of at most"
                f" {MOST_BYTES // 1_000_000} MB"
            )
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise ConfigError(f"{where}: file not found: {shown(path)}") from None
    except UnicodeDecodeError as error:
        raise ConfigError(
            f"{shown(path)}: not UTF-8 text (byte {error.start})"
        ) from None
    except OSError as error:
        raise ConfigError(
            f"{where}: can't read {shown(path)}: {error.strerror}"
        ) from None


def read_mapping(path: Path, where: str) -> dict:
    """The mapping that a YAML file holds."""
    text = read_text(path, where)
    try:
        if _unfolded(yaml.compose(text, Loader=_Loader), {}) > MOST_VALUES:
            raise ConfigError(
                f"{shown(path)}: its aliases (*name) unfold to more than"
                f" {MOST_VALUES:,} values; write out what is meant"
            )
        data = yaml.load(text, Loader=_Loader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        at = (
            f"it can't be read at line {mark.line + 1}, column {mark.column + 1}"
            if mark
            else (error.problem)
        )
        raise ConfigError(f"{shown(path)}: not YAML: {at}") from None
    except (yaml.YAMLError, RecursionError, ValueError):
        raise ConfigError(
            f"{shown(path)}: not YAML: signs that don't belong in text, or nested"
            " too deeply"
        ) from None
    if not isinstance(data, dict):
        raise ConfigError(
            f"{shown(path)}: a mapping of keys is expected, found {brief(data)}"
        )
    return data


def _unfolded(node: yaml.Node | None, known: dict[int, float]) -> float:
    """How many values a node holds with every alias written out; without end in itself: inf."""
    if not isinstance(node, yaml.CollectionNode):
        return 1
    if id(node) not in known:
        known[id(node)] = (
            math.inf
        )  # until it is known: a node met again below is in itself
        parts = [
            part
            for item in node.value
            for part in (item if isinstance(item, tuple) else (item,))
        ]
        known[id(node)] = 1 + sum(_unfolded(part, known) for part in parts)
    return known[id(node)]


def brief(value: object) -> str:
    """A value for an error message, shortened."""
    text = "nothing" if value is None else repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def check[M: BaseModel](
    model: type[M], data: object, path: Path, prefix: str = ""
) -> M:
    """`data` as `model`, or a ConfigError naming `path`, the dotted key and the value."""
    try:
        return model.model_validate(data)
    except ValidationError as error:
        first, *others = error.errors()
        more = f" (and {len(others)} more)" if others else ""
        raise ConfigError(f"{shown(path)}: {_sentence(first, prefix)}{more}") from None


def _sentence(error: Mapping, prefix: str) -> str:
    key = prefix
    for part in error["loc"]:
        key += (
            f"[{part}]" if isinstance(part, int) else f".{part}" if key else str(part)
        )
    kind, message = error["type"], error["msg"]
    if kind == "missing":
        return f"{key}: missing"
    if kind == "extra_forbidden":
        return f"{key}: unknown key"
    if kind == "value_error":
        return f"{key}: {message.removeprefix('Value error, ')}"
    wanted = WANTED.get(kind, "of another kind").format(**error.get("ctx", {}))
    if kind == "string_pattern_mismatch":
        wanted = PATTERNS[error["ctx"]["pattern"]]
    return f"{key}: should be {wanted}, found {brief(error['input'])}"
