"""YAML files and their values, checked: every problem is one line on file, key and value."""

import re
from collections.abc import Mapping
from pathlib import Path

import yaml
from pydantic import BaseModel, ValidationError

from pdbench.config.schema import NAME, URL
from pdbench.core.logging import SECRET, hide
from pdbench.core.types import ConfigError

PATTERNS = {
    NAME: "letters, digits, . _ -, at most 80",
    URL: "http:// or https:// and a host, without account, key or query",
}

WANTED = {  # what a value should be, by the kind of error that its schema finds
    "int_type": "a whole number", "int_from_float": "a whole number",
    "float_type": "a number", "finite_number": "a finite number",
    "bool_type": "true or false", "string_type": "a text",
    "list_type": "a list", "tuple_type": "a list",
    "dict_type": "a mapping of keys", "model_type": "a mapping of keys",
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
            key = key_node.value
            if key in seen and key != "<<":
                raise yaml.constructor.ConstructorError(
                    problem=f"key {key!r} stands twice",
                    problem_mark=key_node.start_mark,
                )
            seen.add(str(key))
        return super().construct_mapping(node, deep)


def shown(path: Path) -> str:
    """The path as a user would type it: relative where it lies below the current folder."""
    here = Path.cwd()
    if path.is_relative_to(here):
        return str(path.relative_to(here))
    return str(path)


def read_text(path: Path, where: str) -> str:
    """A file's text; `where` says which file and key name it."""
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        problem = "file not found"
    except UnicodeDecodeError as error:
        problem = f"not UTF-8 text (byte {error.start})"
    except OSError as error:
        problem = f"can't be read ({error.strerror})"
    raise ConfigError(f"{where}: {problem}: {shown(path)}")


def read_mapping(path: Path, where: str) -> dict:
    """The mapping that a YAML file holds."""
    text = read_text(path, where)
    try:
        data = yaml.load(text, Loader=_Loader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        at = f"line {mark.line + 1}, column {mark.column + 1}" if mark else "its end"
        raise ConfigError(f"{shown(path)}: not YAML at {at}: {error.problem}") from None
    except (yaml.YAMLError, ValueError, TypeError) as error:
        why = str(error).splitlines()[0]
        raise ConfigError(f"{shown(path)}: not YAML: {why}") from None
    if not isinstance(data, dict):
        found = brief(data)
        raise ConfigError(f"{shown(path)}: should be a mapping of keys, found {found}")
    return data


def brief(value: object) -> str:
    """A value for a message: shortened, and no key or password in it."""
    if value is None:
        return "nothing"
    text = re.sub(r"//[^/@\s]*@", "//***@", hide(repr(value)))
    return text if len(text) <= 60 else text[:57] + "..."


def check[M: BaseModel](
    model: type[M], data: object, path: Path, prefix: str = ""
) -> M:
    """`data` as `model`, or a ConfigError that names `path`, the dotted key and the value."""
    try:
        return model.model_validate(data)
    except ValidationError as error:
        first, *others = error.errors()
        more = f" (and {len(others)} more)" if others else ""
        raise ConfigError(f"{shown(path)}: {_sentence(first, prefix)}{more}") from None


def _sentence(error: Mapping, prefix: str) -> str:
    """What is wrong with one value, and what it should be."""
    key = _dotted(prefix, error["loc"])
    kind, found = error["type"], brief(error["input"])
    if kind == "missing":
        return f"{key}: missing"
    if kind == "extra_forbidden":
        if key.upper().endswith(SECRET):
            found = "a secret? name its variable in api_key_env"
        return f"{key}: unknown key, remove or correct it (found {found})"
    if kind == "value_error":
        return f"{key}: {error['ctx']['error']}"
    if kind == "string_pattern_mismatch":
        return f"{key}: should be {PATTERNS[error['ctx']['pattern']]}, found {found}"
    wanted = WANTED.get(kind, "of another kind").format(**error.get("ctx", {}))
    return f"{key}: should be {wanted}, found {found}"


def _dotted(prefix: str, parts: tuple) -> str:
    """`conditions[0].name` of ("conditions", 0, "name")."""
    key = prefix
    for part in parts:
        key += f"[{part}]" if isinstance(part, int) else f".{part}"
    return key.removeprefix(".")
