"""Dataclasses that cost next to nothing until they are used.

The standard library writes and compiles six methods for every frozen class when it is defined: half a millisecond each, so
the sixty values that a command has imported before its first line runs cost as much as three starts of Python. Here a class is
given methods that exist already, and only its `__init__` is written and compiled, when the first value is made.

Type checkers see the standard library's names, and `fields`, `asdict` and `is_dataclass` know these classes. What nobody here
needs is left out: inheritance between dataclasses, `InitVar`, `KW_ONLY`.
"""

from __future__ import annotations

from operator import attrgetter, ge, gt, le, lt
from operator import eq as equal
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from dataclasses import dataclass, field, replace

__all__ = ["dataclass", "field", "replace"]

# Any, throughout: a class, or a value of a field, of whatever type.
_MISSING: Any = object()


class _Field:
    """One field of a class, as it was written there."""

    __slots__ = ("compare", "default", "factory", "init", "kw_only", "name", "repr", "type")

    def __init__(
        self, *, default: Any = _MISSING, default_factory: Any = _MISSING, init: bool = True, repr: bool = True,  # noqa: A002
        compare: bool = True,
    ) -> None:  # fmt: skip
        self.default, self.factory, self.init, self.repr, self.compare = default, default_factory, init, repr, compare
        self.name, self.type, self.kw_only = "", "", False


def _dataclass(
    cls: type | None = None, /, *, frozen: bool = False, slots: bool = False, kw_only: bool = False, eq: bool = True,
    order: bool = False,
) -> Any:  # fmt: skip
    def decorated(cls: type) -> type:
        fields = {one.name: one for one in _fields_in(cls, kw_only)}
        made = {**_methods(fields, frozen=frozen, slots=slots), **_comparisons(fields, frozen=frozen, eq=eq, order=order)}
        # What the class says itself stands.
        made = {name: each for name, each in made.items() if name not in cls.__dict__}
        return _with_slots(cls, fields, made) if slots else _with_dict(cls, fields, made)

    return decorated if cls is None else decorated(cls)


def _replace(value: Any, /, **changes: Any) -> Any:
    """The same value, but for these fields."""
    if not hasattr(value, "_fields_"):
        # A value of a room that uses the standard library's own.
        from dataclasses import replace as standard

        return standard(value, **changes)
    kept = {name: getattr(value, name) for name, one in value._fields_.items() if one.init and name not in changes}
    return type(value)(**kept, **changes)


def _fields_in(cls: type, kw_only: bool) -> Iterator[_Field]:
    for name, annotation in cls.__annotations__.items():
        written = cls.__dict__.get(name, _MISSING)
        one = written if isinstance(written, _Field) else _Field(default=written)
        if type(one.default).__hash__ is None:
            raise ValueError(f"{cls.__name__}.{name}: all values would share this default; use default_factory")
        one.name, one.type, one.kw_only = name, annotation, kw_only
        yield one


def _methods(fields: dict[str, _Field], *, frozen: bool, slots: bool) -> dict[str, Any]:
    made: dict[str, Any] = {"_fields_": fields, "__dataclass_fields__": _StandardFields(), "__init__": _first_init}
    made |= {"__repr__": _repr, "__match_args__": tuple(name for name, one in fields.items() if one.init and not one.kw_only)}
    if frozen:
        made |= {"__setattr__": _refuse_to_set, "__delattr__": _refuse_to_delete}
    if frozen and slots:
        # Copying and pickling would set each slot, and be refused.
        made |= {"__getstate__": _state, "__setstate__": _restore}
    return made


def _comparisons(fields: dict[str, _Field], *, frozen: bool, eq: bool, order: bool) -> dict[str, Any]:
    names = [name for name, one in fields.items() if one.compare]
    key: Callable[[Any], Any] = attrgetter(*names) if names else lambda _value: ()

    def compared(by: Callable[[Any, Any], bool]) -> Any:
        return lambda self, other: by(key(self), key(other)) if type(other) is type(self) else NotImplemented

    made = {f"__{by.__name__}__": compared(by) for by in ((equal, lt, le, gt, ge) if order else (equal,))} if eq else {}
    if eq:
        made["__hash__"] = (lambda self: hash(key(self))) if frozen else None
    return made


def _with_slots(cls: type, fields: dict[str, _Field], made: dict[str, Any]) -> type:
    """The same class again: slots can only be given to a class that does not exist yet."""
    body = {name: each for name, each in cls.__dict__.items() if name not in {*fields, "__dict__", "__weakref__"}}
    again = type(cls)(cls.__name__, cls.__bases__, {**body, **made, "__slots__": tuple(fields)})
    again.__qualname__ = cls.__qualname__
    return again


def _with_dict(cls: type, fields: dict[str, _Field], made: dict[str, Any]) -> type:
    for name, one in fields.items():
        if one.default is not _MISSING:
            setattr(cls, name, one.default)
        elif name in cls.__dict__:
            delattr(cls, name)
    for name, each in made.items():
        setattr(cls, name, each)
    return cls


def _first_init(self: Any, /, *values: Any, **named: Any) -> None:
    """Every `__init__`, until it is called for the first time."""
    cls: Any = next(each for each in type(self).__mro__ if "_fields_" in each.__dict__)
    cls.__init__ = _written_init(cls)
    cls.__init__(self, *values, **named)


def _written_init(cls: Any) -> Any:
    known: dict[str, Any] = {"_missing": _MISSING, "_set": object.__setattr__}
    asked: list[str] = []
    lines: list[str] = []
    for name, one in cls._fields_.items():
        known |= {f"_default_{name}": one.default, f"_made_{name}": one.factory}
        has_factory = one.factory is not _MISSING
        value = f"_made_{name}()" if has_factory else f"_default_{name}"
        if one.init:
            if one.kw_only and "*" not in asked:
                asked.append("*")
            asked.append(f"{name}=_missing" if has_factory else f"{name}={value}" if one.default is not _MISSING else name)
            value = f"{value} if {name} is _missing else {name}" if has_factory else name
        # Past `__setattr__`, which refuses where the class is frozen.
        lines.append(f"_set(self, {name!r}, {value})")
    if hasattr(cls, "__post_init__"):
        lines.append("self.__post_init__()")
    exec(f"def __init__({', '.join(['self', *asked])}):\n " + "\n ".join(lines or ["pass"]), known)  # noqa: S102 - names of fields, as the standard library does it
    known["__init__"].__qualname__ = f"{cls.__qualname__}.__init__"
    return known["__init__"]


def _repr(self: Any) -> str:
    shown = ", ".join(f"{name}={getattr(self, name)!r}" for name, one in self._fields_.items() if one.repr)
    return f"{type(self).__qualname__}({shown})"


def _refuse_to_set(self: Any, name: str, _value: object) -> None:  # noqa: ARG001
    from dataclasses import FrozenInstanceError

    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_to_delete(self: Any, name: str) -> None:  # noqa: ARG001
    from dataclasses import FrozenInstanceError

    raise FrozenInstanceError(f"cannot delete field {name!r}")


def _state(self: Any) -> list[Any]:
    return [getattr(self, name) for name in self._fields_]


def _restore(self: Any, state: list[Any]) -> None:
    for name, each in zip(self._fields_, state, strict=True):
        object.__setattr__(self, name, each)


class _StandardFields:
    """What the functions of `dataclasses` ask a class for, made when they do."""

    def __get__(self, value: object, cls: Any) -> Any:
        from dataclasses import MISSING, make_dataclass
        from dataclasses import field as standard

        def same(one: _Field) -> Any:
            default: Any = MISSING if one.default is _MISSING else one.default
            factory: Any = MISSING if one.factory is _MISSING else one.factory
            return standard(default=default, default_factory=factory, init=one.init, repr=one.repr, compare=one.compare,
                            kw_only=one.kw_only)  # fmt: skip

        twin: Any = make_dataclass(cls.__name__, [(name, one.type, same(one)) for name, one in cls._fields_.items()])
        return twin.__dataclass_fields__


if not TYPE_CHECKING:
    dataclass, field, replace = _dataclass, _Field, _replace
