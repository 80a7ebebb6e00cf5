"""Reading a policy file key by key: every value is checked where it is taken, and every refusal says what to do."""

import math
from collections.abc import Generator, Mapping
from dataclasses import dataclass, replace
from datetime import date, datetime
from pathlib import Path
from typing import Any, NoReturn, TypeVar

import yaml
from packaging.specifiers import InvalidSpecifier, SpecifierSet

Choice = TypeVar("Choice", bound=str)
REQUIRED: Any = object()


class PolicyError(ValueError):
    """A policy that cannot be used; the message says where, what was found, what is expected and what to do."""


class _Mapping(dict[Any, Any]):
    """A mapping of the file: the line where it starts, and the line of each key."""

    line: int
    lines: dict[Any, int]


class _Loader(yaml.SafeLoader):
    """YAML in which a repeated key is an error: the first one would be lost in silence."""

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        try:
            return super().construct_object(node, deep)
        except (ValueError, OverflowError) as error:  # 2026-13-45 has the form of a date
            raise yaml.constructor.ConstructorError(None, None, f"{node.value!r} ({error})", node.start_mark) from error

    def construct_yaml_map(self, node: yaml.MappingNode) -> Generator[dict[Any, Any], None, None]:
        found = _Mapping()
        found.line, found.lines = _line(node.start_mark), {}
        yield found
        for key_node, value_node in node.value:
            key = self.construct_object(key_node, deep=True)
            if not isinstance(key, str):
                raise yaml.constructor.ConstructorError(None, None, f"the key {key!r} is no text", key_node.start_mark)
            if key in found:
                raise yaml.constructor.ConstructorError(None, None, f"{key!r} is given twice", key_node.start_mark)
            found[key] = self.construct_object(value_node, deep=True)
            found.lines[key] = _line(key_node.start_mark)


_Loader.add_constructor("tag:yaml.org,2002:map", _Loader.construct_yaml_map)


def _line(mark: yaml.Mark) -> int:
    return int(mark.line) + 1


def strict_yaml(path: Path, data: bytes) -> Any:
    """Parsed YAML. Raises PolicyError with the line."""
    try:
        return yaml.load(data.decode("utf-8"), _Loader)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise PolicyError(f"{path} line {line}: not UTF-8 text ({error.reason}). Save it as UTF-8.") from error
    except yaml.MarkedYAMLError as error:
        line = _line(error.problem_mark) if error.problem_mark else 1
        raise PolicyError(f"{path} line {line}: {error.problem}. Expected YAML; correct the line.") from error
    except yaml.reader.ReaderError as error:
        line = data.decode("utf-8").count("\n", 0, error.position) + 1
        raise PolicyError(f"{path} line {line}: {error.reason}. Expected YAML; correct the line.") from error
    except RecursionError as error:
        raise PolicyError(f"{path} line 1: nested too deeply. Expected a policy; correct the file.") from error


@dataclass(frozen=True)
class Node:
    """One mapping of a policy file and where it stands; `line` is where it starts."""

    file: str
    where: str
    values: Mapping[str, Any]
    line: int = 1

    def __post_init__(self) -> None:
        if not isinstance(self.values, dict):
            raise PolicyError(
                f"{self.file} line {self.line}: {self.where} is {self.values!r}, expected `key: value` pairs. Correct it."
            )

    def line_of(self, key: str) -> int:
        """The line of a key; of the mapping, where it lacks the key."""
        lines: Mapping[str, int] = getattr(self.values, "lines", {})
        return lines.get(key, getattr(self.values, "line", self.line))

    def named(self, name: str) -> "Node":
        return replace(self, where=f"{self.where} ({name})")

    def only(self, *allowed: str) -> None:
        """Refuse keys that are not allowed: a misspelt one would be a rule that nobody applies."""
        for key in self.values:
            if key not in allowed:
                place, known = f"{self.file} line {self.line_of(key)}", ", ".join(allowed)
                raise PolicyError(f"{place}: {self.where} has the unknown key {key!r}, expected {known}. Rename or remove it.")

    def take(self, key: str, default: Any = REQUIRED) -> Any:
        value = self.values.get(key, default)
        if value is REQUIRED:
            place = f"{self.file} line {self.line_of(key)}"
            raise PolicyError(f"{place}: {self.where} has no {key}, expected one. Add `{key}: ...`.")
        return value

    def fail(self, key: str, expected: str, step: str = "Correct it") -> NoReturn:
        found = repr(self.values[key]) if key in self.values else "missing"
        raise PolicyError(
            f"{self.file} line {self.line_of(key)}: {key} of {self.where} is {found}, expected {expected}. {step}."
        )

    def child(self, key: str) -> "Node":
        return Node(self.file, key, self.take(key, {}), self.line_of(key))

    def children(self, key: str) -> list["Node"]:
        values = self.take(key, [])
        if not isinstance(values, list):
            self.fail(key, "a list, one `- {...}` for each")
        line = self.line_of(key)
        return [Node(self.file, f"{key}[{number}]", value, line) for number, value in enumerate(values, start=1)]

    def text(self, key: str, default: Any = REQUIRED) -> Any:
        value = self.take(key, default)
        if key in self.values and not (isinstance(value, str) and value.strip()):
            self.fail(key, "text", "Write it in quotes")
        return value

    def texts(self, key: str) -> dict[str, str]:
        """A mapping of names to texts; {} where there is none."""
        node = self.child(key)
        return {name: node.text(name) for name in node.values}

    def choice(self, key: str, allowed: tuple[Choice, ...], default: Any = REQUIRED) -> Choice:
        value = self.take(key, default)
        for name in allowed:
            if value == name:
                return name
        self.fail(key, f"one of {', '.join(allowed)}")

    def flag(self, key: str, default: bool) -> bool:
        value = self.take(key, default)
        return value if isinstance(value, bool) else self.fail(key, "true or false")

    def whole(self, key: str, least: int, default: Any = REQUIRED) -> int:
        value = self.take(key, default)
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            self.fail(key, f"a whole number from {least}")
        return value

    def number(
        self,
        key: str,
        *,
        above: float = -math.inf,
        least: float = -math.inf,
        below: float = math.inf,
        most: float = math.inf,
        default: Any = REQUIRED,
    ) -> float:
        value = self.take(key, default)
        is_number = isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < math.inf
        if not is_number or not (above < value < below and least <= value <= most):
            lower = f"above {above:g}" if above > -math.inf else f"from {least:g}"
            upper = f"below {below:g}" if below < math.inf else f"up to {most:g}"
            self.fail(key, f"a number {lower} and {upper}")
        return float(value)

    def versions(self, key: str) -> SpecifierSet | None:
        text = self.text(key, default=None)
        try:
            return None if text is None else SpecifierSet(text)
        except InvalidSpecifier:
            self.fail(key, 'a range of versions such as ">=0.4.13,<0.5"')

    def day(self, key: str) -> date:
        value = self.take(key)
        if isinstance(value, date) and not isinstance(value, datetime):
            return value
        try:
            return date.fromisoformat(value)
        except (TypeError, ValueError):
            self.fail(key, "a date, YYYY-MM-DD")
