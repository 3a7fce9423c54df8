"""Options that functions take as **options: in their signatures, in their help, and in the error for a wrong name."""

from __future__ import annotations

import difflib
import functools
import inspect
import re
import textwrap
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Callable, TypeVar

from corank import _errors as errors
from corank._inputs import TABLES

F = TypeVar("F", bound=Callable[..., Any])

_COLUMNS = 100
_OPTIONS_LINE = re.compile(r"^( *)\*\*options:.*\n(?:\1 +.*\n)*", re.MULTILINE)
_ATTRIBUTE = re.compile(r"^ {4}(\w+): (.*(?:\n {8}.*)*)", re.MULTILINE)


class Shown:
    """A text that a signature shows without quotes."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        return self._text


def texts(documented: type) -> dict[str, str]:
    """The text of each option in the section "Attributes" of a class's docstring; empty under `python -OO`."""
    section = inspect.cleandoc(documented.__doc__ or "").partition("Attributes:\n")[2]
    return {name: " ".join(text.split()) for name, text in _ATTRIBUTE.findall(section)}


# Options by their names in other libraries. Some of these names resemble another option of ours.
_OF_OTHERS = {
    "timeout": "deadline",
    "reverse": "descending",
    "kind": "algorithm",
    "host": "address",
    "url": "address",
    "by": "keys",
    "na_position": "nulls",
    "null_placement": "nulls",
    "n": "k",
    "join_type": "how",
    "right_keys": "right_on",
}
_ADVICE = {
    ("ascending", "descending"): "pass descending=, which is its opposite",
    ("nulls_last", "nulls"): "pass nulls='last' or nulls='first'",
    ("inplace", "out"): "pass the array itself as out=",
    ("inplace", "table"): "the result is a new table",
    ("ignore_index", "table"): "call reset_index(drop=True) on the result",
    ("kind", "table"): "every sort is stable",
    ("maintain_order", "table"): "every sort is stable",
    ("left_index", "left_on"): "call reset_index() first, and name a column",
    ("right_index", "right_on"): "call reset_index() first, and name a column",
    ("on", "tables"): "to join tables, call join_by",
    ("how", "tables"): "to join tables, call join_by",
}
"""What to do without an option of other libraries, in functions that take the second option."""
_OF_TABLES = {
    "sort": "sort_by()",
    "argsort": "argsort_by()",
    "merge": "merge_by(), or join_by() to join tables",
    "join": "join_by()",
    "group": "group_by()",
    "unique": "group_by()",
}
"""Operators on tables by what the same ones on arrays are called."""


def unknown_option(function: str, given: str, known: Collection[str], elsewhere: Mapping[str, str]) -> TypeError:
    """The error for an option that a function does not take."""
    meant = _OF_OTHERS.get(given)
    close = [meant] if meant in known else difflib.get_close_matches(given, known, n=1)
    advice = f"did you mean {close[0]!r}?" if close else f"it takes {', '.join(sorted(known))}"
    advice = next((text for key, text in _ADVICE.items() if key[0] == given and key[1] in known), advice)
    advice = elsewhere.get(given, advice)
    return TypeError(f"{function}() takes no option {given!r}; {advice}")


def for_tables(function: str, arguments: Sequence[Any]) -> TypeError | None:
    """The error for a table that a function of arrays got, with arguments as for the same function of tables."""
    flat = [each[0] if isinstance(each, (list, tuple)) and each else each for each in arguments]
    found = [type(each).__name__ for each in flat if type(each).__name__ in TABLES]
    if function not in _OF_TABLES or not found:
        return None
    return TypeError(f"{function}() takes arrays, not a {found[0]}; call {_OF_TABLES[function]}")


def too_many(function: str, names: Sequence[str], last_type: str) -> TypeError:
    """The error for more arguments without a name than a function takes."""
    names = [name for name in names if name != "self"]
    if not names:
        return TypeError(f"{function}() takes no argument without a name")
    listed = " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))
    as_list = ", as one list" if len(names) == 1 and last_type.startswith("Sequence") else ""
    return TypeError(f"{function}() takes only {listed} by position{as_list}; give what follows by name")


def taking(
    options: Mapping[str, Any],
    help_of: Mapping[str, str],
    defaults: Mapping[str, Any],
    result: str = "",
    elsewhere: Mapping[str, str] = {},
) -> Callable[[F], F]:
    """Decorates a function with **options: it shows which it takes, and refuses others with a suggestion.

    Args:
        options: the annotation of each option, by name.
        help_of: what the help says of each option.
        defaults: the default of each option, as the signature shows it.
        result: what the type variable A of the function's annotations stands for.
        elsewhere: advice for options that another function takes, by name.
    """

    def decorate(function: F) -> F:
        signature = inspect.signature(function)
        named = [
            parameter.replace(annotation=_shown(parameter.annotation, result))
            for parameter in signature.parameters.values()
            if parameter.kind is not inspect.Parameter.VAR_KEYWORD
        ]
        named += [
            inspect.Parameter(
                name, inspect.Parameter.KEYWORD_ONLY, default=defaults.get(name), annotation=_shown(annotation, "")
            )
            for name, annotation in options.items()
        ]
        known = frozenset(parameter.name for parameter in named) - {"self"}
        positional = [each for each in named if each.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD]
        most = len(positional)

        @functools.wraps(function)
        def checked(*arguments: Any, **given: Any) -> Any:
            for name in given:
                if name not in known:
                    of_tables = for_tables(function.__name__, arguments)
                    raise of_tables or unknown_option(function.__name__, name, known, elsewhere)
            if len(arguments) > most:
                names = [each.name for each in positional]
                of_tables = for_tables(function.__name__, arguments)
                raise of_tables or too_many(function.__name__, names, str(positional[-1].annotation))
            try:
                return function(*arguments, **given)
            except errors.CorankError as error:
                if isinstance(error, errors.Internal):
                    raise
                # The message says what to change; a dozen frames of this package above it would hide it.
                raise error.with_traceback(None) from error.__cause__

        # Python names the function in its errors for missing arguments, and its class is private.
        function.__qualname__ = function.__name__
        made: Any = checked
        made.__signature__ = signature.replace(
            parameters=named, return_annotation=_shown(signature.return_annotation, result)
        )
        made.__doc__ = _with_options(function.__doc__, [(name, help_of.get(name, "")) for name in options])
        return made  # type: ignore[no-any-return]

    return decorate


def optionless(function: F) -> F:
    """Decorates a function without options: a wrong name and an error of corank are as short as with `taking`."""
    return taking({}, {}, {})(function)


def _shown(annotation: Any, result: str) -> Any:
    if isinstance(annotation, str):
        return Shown(re.sub(r"\bA\b", result, annotation) if result else annotation)
    forward = getattr(annotation, "__forward_arg__", None)  # how a TypedDict keeps its annotations
    return annotation if forward is None else Shown(forward)


def _with_options(doc: str | None, options: list[tuple[str, str]]) -> str | None:
    """A docstring whose line on **options says what each option does."""
    found = None if doc is None else _OPTIONS_LINE.search(doc)
    if doc is None or found is None:
        return doc
    indent = found.group(1)
    lines = [
        textwrap.fill(f"{name}: {text}", _COLUMNS, initial_indent=indent, subsequent_indent=indent + "    ")
        for name, text in options
    ]
    return doc[: found.start()] + "\n".join(lines) + "\n" + doc[found.end() :]
