"""Overrides: `{persona: grim_trigger}`, `{"prompting.persona": …}` and `{prompting: {…}}` alike."""

import copy
import difflib

from pydantic import BaseModel

from pdbench.core.types import ConfigError


def leaves(model: type[BaseModel], prefix: str = "") -> list[str]:
    """The dotted keys that can be overridden in `model`."""
    found = []
    for name, field in model.model_fields.items():
        kind = field.annotation
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            found += leaves(kind, f"{prefix}{name}.")
        else:
            found.append(prefix + name)
    return found


def flatten(
    overrides: dict, known: list[str], where: str, prefix: str = ""
) -> dict[str, object]:
    """Overrides as {dotted key: value}; a short name will do where one key alone ends in it."""
    flat: dict[str, object] = {}
    for name, value in overrides.items():
        key = f"{prefix}{name}"
        section = any(leaf.startswith(f"{key}.") for leaf in known)
        if section and isinstance(value, dict):
            found = flatten(value, known, where, f"{key}.")
        else:
            found = {_full_key(key, known, where): value}
        twice = sorted(flat.keys() & found.keys())
        if twice:
            raise ConfigError(f"{where}.{key}: overrides {twice[0]} a second time")
        flat.update(found)
    return flat


def _full_key(key: str, known: list[str], where: str) -> str:
    if key in known:
        return key
    ends = [leaf for leaf in known if leaf.endswith(f".{key}")]
    if len(ends) == 1:
        return ends[0]
    if ends:
        raise ConfigError(f"{where}.{key}: ambiguous; write one of {', '.join(ends)}")
    names = known + [leaf.rpartition(".")[2] for leaf in known]
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
            node = node.setdefault(section, {})
        node[leaf] = value
    return result
