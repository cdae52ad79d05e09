"""A learner's config as Python has it: a path, TOML text or a dict; and overrides of its keys."""

from __future__ import annotations

import json
import numbers
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Union

from ._errors import InvalidArgument

Config = Union[str, "os.PathLike[str]", Mapping[str, Any]]
_BARE = re.compile(r"[A-Za-z0-9_-]+")
_SETS = r"(?m)(^|[\s.{{,]){key}\s*="
_SMALLEST_SET_KEY = 2  # of --set: a section and a key


@dataclass(frozen=True)
class ConfigInput:
    """What `murmurate train` is given: a word of its command line, and the text of the config. The word
    "-" means that the text is its standard input."""

    word: str
    text: str | None = None  # not known of a shipped example

    def sets(self, key: str) -> bool:
        """Whether a line of it sets a key of that name. The text of a shipped example is not known here."""
        return self.text is not None and re.search(_SETS.format(key=key), self.text) is not None


def config_input(config: Config) -> ConfigInput:
    """A str is TOML text if it has a line break, or an equals sign and does not end in .toml; otherwise
    it is a path or the name of a shipped example. Relative paths in a file start at its folder, those in a text or a dict at the
    working folder."""
    if isinstance(config, Mapping):
        return ConfigInput("-", text_of(config))
    if isinstance(config, str) and ("\n" in config or ("=" in config and not config.endswith(".toml"))):
        return ConfigInput("-", config)
    if not isinstance(config, (str, os.PathLike)):
        raise InvalidArgument(f"config is a {type(config).__name__}; give a path, TOML text or a dict")
    word = os.fspath(config)
    if not isinstance(word, str) or not word:
        raise InvalidArgument(f"config is {word!r}; give a path, TOML text or a dict")
    if isinstance(config, str) and "/" not in word and not word.endswith(".toml") and not os.path.isfile(word):
        return ConfigInput(word)  # an example; the learner says which there are
    try:
        with open(word, encoding="utf-8", errors="replace") as file:
            return ConfigInput(os.path.abspath(word), file.read())
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise InvalidArgument(f"{word!r}: cannot be read ({reason}); give the path of a TOML file") from None


def text_of(config: Mapping[str, Any]) -> str:
    """TOML of a dict of sections; a key may be dotted: {"run.steps": 1000}."""
    sections: dict[str, dict[str, Any]] = {}
    for name, value in config.items():
        section, dot, key = str(name).partition(".")
        if dot:
            sections.setdefault(section, {})[key] = value
        elif isinstance(value, Mapping):
            sections.setdefault(section, {}).update(value)
        else:
            raise InvalidArgument(
                f"config: {name} is a {type(value).__name__}, expected a section, a dict of its keys; write for example"
                ' {"run": {"steps": 1000}}'
            )
    lines = []
    for section, keys in sections.items():
        lines.append(f"[{_key(section)}]")
        for key, value in keys.items():
            path = ".".join(_key(part) for part in str(key).split("."))
            lines.append(f"{path} = {value_of(value, f'{section}.{key}')}")
    return "\n".join(lines) + "\n"


def settings_of(overrides: Mapping[str, Any] | None) -> dict[str, str]:
    """The values in TOML by "section.key"; a section may be a dict of its own."""
    settings: dict[str, str] = {}
    if overrides is None:
        return settings
    if not isinstance(overrides, Mapping):
        raise InvalidArgument(
            f'overrides is a {type(overrides).__name__}; give a dict such as {{"optimizer.learning_rate": 1e-3}}'
        )
    for name, value in overrides.items():
        if "." not in str(name) and isinstance(value, Mapping):
            settings.update({f"{name}.{key}": value_of(each, f"{name}.{key}") for key, each in value.items()})
        elif len(str(name).split(".")) < _SMALLEST_SET_KEY:
            raise InvalidArgument(f'overrides: got the key {str(name)!r}, expected "section.key", such as "run.steps"')
        else:
            settings[str(name)] = value_of(value, str(name))
    return settings


def value_of(value: Any, name: str) -> str:
    """TOML of a number, a text, a path, a list or a dict; NumPy's numbers and arrays, too."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, numbers.Integral):
        return str(int(value))
    if isinstance(value, numbers.Real):
        return repr(float(value))
    if isinstance(value, (str, os.PathLike)):
        return _text(os.fspath(value))
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_key(str(key))} = {value_of(each, name)}" for key, each in value.items()) + "}"
    if isinstance(value, Iterable) and not isinstance(value, (bytes, bytearray)):
        return "[" + ", ".join(value_of(each, name) for each in value) + "]"
    advice = "leave the key out" if value is None else "give a number, a text, a list or a dict"
    raise InvalidArgument(f"{name} is a {type(value).__name__}, which a config cannot hold; {advice}")


def _key(word: str) -> str:
    return word if _BARE.fullmatch(word) else _text(word)


def _text(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
