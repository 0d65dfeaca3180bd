"""Dataclasses that are cheap to define: every dataclass in `src/metier` comes from this module, never from `dataclasses`.

The standard library writes and compiles six methods when a frozen class is defined, which takes half a millisecond. A command
imports sixty such classes before its first line runs, so they would cost as much as starting Python three times. Here a class
gets methods that exist already. Only its `__init__` is written and compiled, when the first value is made.

Type checkers see the standard library's names, and `fields`, `asdict` and `is_dataclass` accept these classes. The behaviour is
that of the standard library, with inheritance and `ClassVar`. `InitVar` and `KW_ONLY` are not supported: no class uses them.
"""

from __future__ import annotations

from operator import attrgetter, ge, gt, le, lt
from operator import eq as equal
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from dataclasses import dataclass, field, replace

__all__ = ["dataclass", "field", "replace"]

# Any, throughout: a class, or the value of a field, of any type.
_MISSING: Any = object()


class _Field:
    """One field of a class, as it was declared."""

    __slots__ = ("compare", "default", "factory", "init", "kw_only", "name", "repr", "type")

    def __init__(
        self, *, default: Any = _MISSING, default_factory: Any = _MISSING, init: bool = True, repr: bool = True,  # noqa: A002
        compare: bool = True,
    ) -> None:  # fmt: skip
        self.default, self.factory, self.init, self.repr, self.compare = default, default_factory, init, repr, compare
        self.name, self.type, self.kw_only = "", "", False

    @property
    def is_required(self) -> bool:
        return self.default is _MISSING and self.factory is _MISSING


def _dataclass(
    cls: type | None = None, /, *, frozen: bool = False, slots: bool = False, kw_only: bool = False, eq: bool = True,
    order: bool = False,
) -> Any:  # fmt: skip
    def decorate(cls: type) -> type:
        inherited = _inherited_fields(cls, frozen)
        own = {one.name: one for one in _own_fields(cls, kw_only)}
        fields = {**inherited, **own}
        _check_order(cls, fields)
        made = {**_methods(fields, frozen=frozen, slots=slots), **_comparisons(fields, frozen=frozen, eq=eq, order=order)}
        # A method that the class defines itself is kept.
        made = {name: each for name, each in made.items() if name not in cls.__dict__}
        return _with_slots(cls, own, inherited, made) if slots else _with_dict(cls, own, made)

    return decorate if cls is None else decorate(cls)


def _replace(value: Any, /, **changes: Any) -> Any:
    """Returns a copy of the value with these fields changed."""
    if not hasattr(value, "_fields_"):
        # A value of a class that a framework has made with the standard library.
        from dataclasses import replace as standard_replace

        return standard_replace(value, **changes)
    kept = {name: getattr(value, name) for name, one in value._fields_.items() if one.init and name not in changes}
    return type(value)(**kept, **changes)


def _inherited_fields(cls: type, frozen: bool) -> dict[str, _Field]:
    fields: dict[str, _Field] = {}
    for base in reversed(cls.__mro__[1:]):
        if "_fields_" not in base.__dict__:
            if "__dataclass_fields__" in base.__dict__:
                raise TypeError(f"{cls.__name__} inherits from {base.__name__}, a dataclass of the standard library")
            continue
        if base.__dict__["_frozen_"] is not frozen:
            here, there = ("frozen", "non-frozen") if frozen else ("non-frozen", "frozen")
            raise TypeError(f"cannot inherit {here} dataclass from a {there} one")
        fields |= base.__dict__["_fields_"]
    return fields


def _own_fields(cls: type, kw_only: bool) -> Iterator[_Field]:
    for name, annotation in cls.__annotations__.items():
        if str(annotation).removeprefix("typing.").startswith("ClassVar"):
            continue
        written = cls.__dict__.get(name, _MISSING)
        one = written if isinstance(written, _Field) else _Field(default=written)
        if type(one.default).__hash__ is None:
            raise ValueError(f"{cls.__name__}.{name}: all values would share this default; use default_factory")
        one.name, one.type, one.kw_only = name, annotation, kw_only
        yield one


def _check_order(cls: type, fields: dict[str, _Field]) -> None:
    has_default = ""
    for name, one in fields.items():
        if not one.init or one.kw_only:
            continue
        if not one.is_required:
            has_default = name
        elif has_default:
            raise TypeError(f"{cls.__name__}: non-default argument {name!r} follows default argument {has_default!r}")


def _methods(fields: dict[str, _Field], *, frozen: bool, slots: bool) -> dict[str, Any]:
    made: dict[str, Any] = {
        "_fields_": fields,
        "_frozen_": frozen,
        "__dataclass_fields__": _StandardFields(),
        "__repr__": _repr,
    }
    made["__match_args__"] = tuple(name for name, one in fields.items() if one.init and not one.kw_only)
    made["__init__"] = _lazy_init(fields)
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


def _with_slots(cls: type, own: dict[str, _Field], inherited: dict[str, _Field], made: dict[str, Any]) -> type:
    """Returns a copy of the class: slots can only be given to a class that does not exist yet."""
    body = {name: each for name, each in cls.__dict__.items() if name not in {*own, "__dict__", "__weakref__"}}
    slots = tuple(name for name in own if not (name in inherited and any(name in _slots_of(base) for base in cls.__mro__[1:])))
    copy = type(cls)(cls.__name__, cls.__bases__, {**body, **made, "__slots__": slots})
    copy.__qualname__ = cls.__qualname__
    return copy


def _slots_of(base: type) -> tuple[str, ...]:
    slots: tuple[str, ...] | str = base.__dict__.get("__slots__", ())
    return (slots,) if isinstance(slots, str) else tuple(slots)


def _with_dict(cls: type, own: dict[str, _Field], made: dict[str, Any]) -> type:
    for name, one in own.items():
        if one.default is not _MISSING:
            setattr(cls, name, one.default)
        elif name in cls.__dict__:
            delattr(cls, name)
    for name, each in made.items():
        setattr(cls, name, each)
    return cls


def _lazy_init(fields: dict[str, _Field]) -> Any:
    """Returns an `__init__` that replaces itself with a compiled one when it is first called."""

    def __init__(self: Any, /, *values: Any, **named: Any) -> None:  # noqa: N807
        # A subclass may have called this with `super().__init__`, so the class that holds it is looked up.
        cls: Any = next(each for each in type(self).__mro__ if each.__dict__.get("__init__") is __init__)
        cls.__init__ = _compiled_init(cls, fields)
        cls.__init__(self, *values, **named)

    return __init__


def _compiled_init(cls: Any, fields: dict[str, _Field]) -> Any:
    scope: dict[str, Any] = {"_missing": _MISSING, "_set": object.__setattr__}
    positional: list[str] = []
    keywords: list[str] = []
    lines: list[str] = []
    for name, one in fields.items():
        scope |= {f"_default_{name}": one.default, f"_made_{name}": one.factory}
        has_factory = one.factory is not _MISSING
        value = f"_made_{name}()" if has_factory else f"_default_{name}"
        if one.init:
            parameter = f"{name}=_missing" if has_factory else f"{name}={value}" if one.default is not _MISSING else name
            (keywords if one.kw_only else positional).append(parameter)
            value = f"{value} if {name} is _missing else {name}" if has_factory else name
        elif one.is_required:
            continue
        # Not through `__setattr__`, which refuses where the class is frozen.
        lines.append(f"_set(self, {name!r}, {value})")
    if hasattr(cls, "__post_init__"):
        lines.append("self.__post_init__()")
    parameters = ["self", *positional, *(["*", *keywords] if keywords else ())]
    exec(f"def __init__({', '.join(parameters)}):\n " + "\n ".join(lines or ["pass"]), scope)  # noqa: S102 - names of fields, as the standard library does it
    scope["__init__"].__qualname__ = f"{cls.__qualname__}.__init__"
    return scope["__init__"]


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
    """The `__dataclass_fields__` that the functions of `dataclasses` read, made when they first do."""

    def __get__(self, value: object, cls: Any) -> Any:
        from dataclasses import MISSING, make_dataclass
        from dataclasses import field as standard_field

        def converted(one: _Field) -> Any:
            default: Any = MISSING if one.default is _MISSING else one.default
            factory: Any = MISSING if one.factory is _MISSING else one.factory
            return standard_field(default=default, default_factory=factory, init=one.init, repr=one.repr, compare=one.compare,
                                  kw_only=one.kw_only)  # fmt: skip

        made: Any = make_dataclass(cls.__name__, [(name, one.type, converted(one)) for name, one in cls._fields_.items()])
        owner: Any = next(each for each in cls.__mro__ if each.__dict__.get("__dataclass_fields__") is self)
        owner.__dataclass_fields__ = made.__dataclass_fields__
        return made.__dataclass_fields__


if not TYPE_CHECKING:
    dataclass, field, replace = _dataclass, _Field, _replace
