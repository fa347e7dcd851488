"""Overrides: `{persona: grim_trigger}`, `{"prompting.persona": …}` and `{prompting: {…}}` alike."""

import copy
import difflib
import types
from typing import get_args

from pydantic import BaseModel

from pdbench.core.types import ConfigError


def leaves(model: type[BaseModel], prefix: str = "") -> list[str]:
    """The dotted keys that can be overridden in `model`; its `type` tag can't."""
    found = []
    for name, field in model.model_fields.items():
        kind = field.annotation
        if isinstance(kind, types.UnionType):
            kind = next((k for k in get_args(kind) if k is not types.NoneType), kind)
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            found += leaves(kind, f"{prefix}{name}.")
        elif prefix or name != "type":
            found.append(prefix + name)
    return found


def flatten(
    overrides: dict, known: list[str], where: str, prefix: str = ""
) -> dict[str, object]:
    """Overrides as {dotted key: value}; a short name is allowed where only one key ends in it."""
    flat: dict[str, object] = {}
    for name, value in overrides.items():
        key = f"{prefix}{name}"
        if isinstance(value, dict) and any(
            leaf.startswith(key + ".") for leaf in known
        ):
            found = flatten(value, known, where, key + ".")
        else:
            found = {_full_key(key, known, where): value}
        if twice := flat.keys() & found.keys():
            raise ConfigError(f"{where}.{key}: overrides {min(twice)} a second time")
        flat |= found
    return flat


def _full_key(key: str, known: list[str], where: str) -> str:
    if key in known:
        return key
    ends = [leaf for leaf in known if leaf.endswith("." + key)]
    if len(ends) == 1:
        return ends[0]
    if ends:
        raise ConfigError(f"{where}.{key}: ambiguous; write one of {', '.join(ends)}")
    names = known + [leaf.rsplit(".", 1)[-1] for leaf in known]
    near = difflib.get_close_matches(key, names, n=1)
    hint = f"did you mean {near[0]}?" if near else f"known: {', '.join(known)}"
    raise ConfigError(f"{where}.{key}: unknown override; {hint}")


def apply(data: dict, flat: dict[str, object]) -> dict:
    """A copy of `data` with the dotted keys of `flat` set."""
    result = copy.deepcopy(data)
    for key, value in flat.items():
        *sections, leaf = key.split(".")
        node = result
        for section in sections:
            if not isinstance(node.get(section), dict):
                node[section] = {}
            node = node[section]
        node[leaf] = value
    return result
