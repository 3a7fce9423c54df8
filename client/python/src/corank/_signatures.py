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
    "ascending": "descending",
    "kind": "algorithm",
    "host": "address",
    "url": "address",
    "by": "keys",
    "na_position": "nulls",
    "null_placement": "nulls",
    "n": "k",
}


def unknown_option(function: str, given: str, known: Collection[str], elsewhere: Mapping[str, str]) -> TypeError:
    """The error for an option that a function does not take."""
    meant = _OF_OTHERS.get(given)
    close = [meant] if meant in known else difflib.get_close_matches(given, known, n=1)
    advice = f"did you mean {close[0]!r}?" if close else f"it takes {', '.join(sorted(known))}"
    advice = elsewhere.get(given, advice)
    return TypeError(f"{function}() takes no option {given!r}; {advice}")


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
                    raise unknown_option(function.__name__, name, known, elsewhere)
            if len(arguments) > most:
                raise too_many(function.__name__, [each.name for each in positional], str(positional[-1].annotation))
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
