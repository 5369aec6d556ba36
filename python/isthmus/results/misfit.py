"""Error messages for a JSON document that does not fit a type: the first position, and the expected
value.

msgspec rejects such a document as well, but its message names neither the list item nor the value
found.
"""

from __future__ import annotations

import json
import operator
import re
from typing import Any

import msgspec
from msgspec import inspect

from isthmus.columns import cut

_SCALARS: dict[type[inspect.Type], tuple[type | tuple[type, ...], str]] = {
    inspect.IntType: (int, "int"),
    inspect.FloatType: ((int, float), "a number"),
    inspect.StrType: (str, "str"),
    inspect.BoolType: (bool, "bool"),
    inspect.NoneType: (type(None), "null"),
}


def misfit(kind: type, data: bytes, place: str = "") -> str | None:
    """Return the first position where `data` does not fit `kind`; None if all of it fits.

    `place` is the path of `data` itself. Example: ``points[3].load: expected a number, found 'x'``.
    """
    try:
        value = msgspec.json.decode(data)
    except (msgspec.DecodeError, RecursionError) as error:
        return str(error)
    return _misfit(inspect.type_info(kind), value, place)


def _misfit(kind: inspect.Type, value: Any, place: str) -> str | None:
    """Return an error message for the first part of a value that does not fit the type `kind`; None
    if all parts fit.
    """
    if isinstance(kind, inspect.StructType | inspect.DataclassType):
        return _object(kind, value, place)
    if isinstance(kind, inspect.UnionType):
        return _union(kind, value, place)
    if isinstance(kind, inspect.ListType):
        if not isinstance(value, list):
            return _expected(place, "a list", value)
        items = ((kind.item_type, item) for item in value)
    elif isinstance(kind, inspect.TupleType):
        if not isinstance(value, list) or len(value) != len(kind.item_types):
            return _expected(place, f"a list of {len(kind.item_types)}", value)
        items = ((each, item) for each, item in zip(kind.item_types, value, strict=True))
    else:
        return _scalar(kind, value, place)
    found = (_misfit(each, item, f"{place}[{n}]") for n, (each, item) in enumerate(items))
    return next((text for text in found if text), None)


def _scalar(kind: Any, value: Any, place: str) -> str | None:
    """Return an error message if a number, text or flag does not fit the type `kind`; None if it
    fits.
    """
    expected = ""
    if isinstance(kind, inspect.Metadata):
        expected = str((kind.extra_json_schema or {}).get("description", ""))
        kind = kind.type
    if isinstance(kind, inspect.LiteralType):
        problem = f"{cut(repr(value))}; there are {', '.join(map(str, kind.values))}"
        return None if value in kind.values else _at(place) + problem
    types: Any
    types, name = _SCALARS.get(type(kind), (object, ""))
    if not isinstance(value, types) or (isinstance(value, bool) and name != "bool"):
        return _expected(place, name, value) if name else None
    if expected and not _is_within(kind, value):
        return f"{_at(place)}{cut(repr(value))}; expected {expected}"
    return None


def _is_within(kind: Any, value: Any) -> bool:
    """Return whether a number is in its range, or a text has the required length and pattern."""
    if isinstance(kind, inspect.StrType):
        short = kind.max_length is None or len(value) <= kind.max_length
        return short and (kind.pattern is None or bool(re.search(kind.pattern, value)))
    ends = ((kind.ge, operator.ge), (kind.gt, operator.gt), (kind.le, operator.le))
    below = kind.lt is None or value < kind.lt
    return below and all(end is None or holds(value, end) for end, holds in ends)


def _object(kind: Any, value: Any, place: str) -> str | None:
    """Return an error message for the first field of an object that does not fit the type `kind`;
    None if all fields fit.
    """
    if not isinstance(value, dict):
        return _expected(place, "an object", value)
    for each in kind.fields:
        if each.encode_name not in value:
            if each.required:
                return f"{_at(place)}no field {each.encode_name!r}"
            continue
        inner = f"{place}.{each.encode_name}" if place else each.encode_name
        if text := _misfit(each.type, value[each.encode_name], inner):
            return text
    return None


def _union(kind: inspect.UnionType, value: Any, place: str) -> str | None:
    """Return an error message if a value fits none of the types of a union; None if it fits one."""
    structs = [each for each in kind.types if isinstance(each, inspect.StructType)]
    if len(structs) > 1:
        if not isinstance(value, dict):
            return _expected(place, "an object", value)
        known = {each.tag: each for each in structs}
        if not isinstance(value.get("kind"), str) or value["kind"] not in known:
            problem = f"kind {cut(repr(value.get('kind')))}; there are {', '.join(map(str, known))}"
            return _at(place) + problem
        return _misfit(known[value["kind"]], value, place)
    if value is None and any(isinstance(each, inspect.NoneType) for each in kind.types):
        return None
    inner = [each for each in kind.types if not isinstance(each, inspect.NoneType)]
    found = [_misfit(each, value, place) for each in inner]
    return None if None in found else next(iter(found), None)


def _at(place: str) -> str:
    """Return the start of an error message: the position and a colon, or nothing without one."""
    return f"{place}: " if place else ""


def _expected(place: str, name: str, value: Any) -> str:
    """Return the error message for a value of a wrong type; `name` is the expected type."""
    shown = repr(value) if isinstance(value, str) else json.dumps(value, default=str)
    return f"{_at(place)}expected {name}, found {cut(shown)}"
