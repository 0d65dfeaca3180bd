"""Where data goes in Python: assignments, arguments, returns and sinks, as steps that `flows` joins across files."""

from __future__ import annotations

import ast
import re

from metier.scan.known.hosts import Standing, standing, urls_in
from metier.scan.known.secrets import WHOLE_ENVIRONMENT, secret_place
from metier.scan.notes import Step
from metier.scan.scale import Confidence
from metier.scan.subject import NETWORK

from .tree import Module

__all__ = ["SINKS", "note_step"]

SINKS = re.compile(
    r"(?:requests|httpx|session|client|aiohttp|http|s|sess)\.(?:\w+\.)?(?:post|put|patch|request|send)$"
    r"|urllib\.request\.(?:urlopen|Request)$|urlopen$"
    r"|.*\.(?:sendall|sendto|sendmail|send_message|storbinary|storlines|put_object|upload_file"
    r"|upload_fileobj|send_text|websocket_send)$"
    r"|websocket\.\w+$|socket\.(?:send|gethostbyname|getaddrinfo)$|requests\.get$|httpx\.get$"
    r"|dns\.resolver\.\w+$"
)


def note_step(node: ast.AST, scope: str, module: Module) -> None:
    """Assignments, arguments, returns and sinks, as moves of data."""
    path = module.text.path
    if isinstance(node, (ast.Assign, ast.AugAssign, ast.AnnAssign, ast.NamedExpr)):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        if node.value is None:
            return
        defines = {name for target in targets for name in _names(target, scope, module)}
        _add(module, node, node.value, scope, defines)
    elif isinstance(node, (ast.For, ast.AsyncFor)):
        _add(module, node, node.iter, scope, _names(node.target, scope, module))
    elif isinstance(node, ast.withitem) and node.optional_vars is not None:
        _add(module, node.context_expr, node.context_expr, scope, _names(node.optional_vars, scope, module))
    elif isinstance(node, ast.Return) and node.value is not None and scope:
        _add(module, node, node.value, scope, {f"{scope})"})
    elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        arguments = (*node.args.args, *node.args.kwonlyargs, *node.args.posonlyargs)
        names = frozenset(f"{path}:{node.name}:{one.arg}" for one in arguments if one.arg not in ("self", "cls"))
        module.notes.steps.append(Step(module.text, module.at(node), frozenset({f"{node.name}("}), names))
    elif isinstance(node, ast.Call):
        called = module.dotted(node.func)
        last = called.rpartition(".")[2]
        arguments_used = {
            name for one in (*node.args, *(key.value for key in node.keywords)) for name in _uses(one, scope, module)
        }
        sink = _sink(node, called, module)
        if sink:
            _uploads(node, sink, module)
        source = (
            ""
            if not sink
            else next(
                (found for one in (*node.args, *(key.value for key in node.keywords)) if (found := _source(one, module))), ""
            )
        )
        defines = {f"{last}("} if last else set()
        if isinstance(node.func, ast.Attribute) and last in (
            "append",
            "update",
            "extend",
            "add",
            "write",
            "insert",
            "setdefault",
            "writestr",
        ):
            # What is put into a container is in it.
            defines |= set(_uses(node.func.value, scope, module))
        module.notes.steps.append(
            Step(module.text, module.at(node), frozenset(arguments_used), frozenset(defines), source=source, sink=sink)
        )


def _uploads(node: ast.Call, sink: str, module: Module) -> None:
    """A file or a key goes to a host that the skill's name and description do not speak of."""
    spelled = " ".join(
        module.string(one) for one in (*node.args[:2], *(key.value for key in node.keywords if key.arg == "url"))
    )
    url = next(urls_in(spelled), None)
    body = [one.value for one in node.keywords if one.arg in ("data", "json", "files", "content", "params")]
    if url is None or not body:
        return
    kind = standing(url, module.own)
    if kind not in (Standing.PLAIN, Standing.LOOSE, Standing.SHARED) or url.label in module.purpose:
        return
    is_file = any(one.arg == "files" for one in node.keywords) or any(
        isinstance(inner, ast.Call) and module.dotted(inner.func).endswith(("open", ".read", ".read_bytes", ".read_text"))
        for one in body
        for inner in module.within(one)
    )
    if kind is Standing.LOOSE:
        module.find("SK615", f"sends data to {sink}", node)
    elif is_file:
        module.find(
            "SK615",
            f"sends a file to {sink}",
            node,
            Confidence.HIGH if url.is_plain_http or not NETWORK.search(module.purpose) else Confidence.MEDIUM,
        )


def _add(module: Module, node: ast.AST, value: ast.AST, scope: str, defines: set[str]) -> None:
    step = Step(
        module.text, module.at(node), frozenset(_uses(value, scope, module)), frozenset(defines), source=_source(value, module)
    )
    module.notes.steps.append(step)


def _names(target: ast.AST, scope: str, module: Module) -> set[str]:
    return _uses(target, scope, module)


def _uses(node: ast.AST, scope: str, module: Module) -> set[str]:
    used: set[str] = set()
    path = module.text.path
    for inner in module.within(node):
        if isinstance(inner, ast.Name):
            is_local = inner.id in module.locals.get(scope, frozenset())
            used.add(f"{path}:{scope if is_local else ''}:{inner.id}")
        elif isinstance(inner, ast.Attribute) and isinstance(inner.value, ast.Name) and inner.value.id in ("self", "cls"):
            used.add(f"{path}:.{inner.attr}")
        elif isinstance(inner, ast.Call):
            last = module.dotted(inner.func).rpartition(".")[2]
            if last:
                used.add(f"{last})")
    used.discard(f"{path}:{scope}:self")
    return used


def _source(node: ast.AST, module: Module) -> str:
    """A strong secret inside an expression, in words."""
    for inner in module.within(node):
        if isinstance(inner, ast.Call):
            name = module.dotted(inner.func)
            if name in ("os.environ.items", "os.environ.copy", "os.environ.values") or (
                name in ("dict", "json.dumps", "str", "repr", "list", "sorted")
                and inner.args
                and module.dotted(inner.args[0]) == "os.environ"
            ):
                return WHOLE_ENVIRONMENT
            is_read = name in ("open", "io.open") or name.endswith(
                (
                    ".read_text",
                    ".read_bytes",
                    "copy",
                    "copy2",
                    "copyfile",
                    "copytree",
                    ".connect",
                    ".write",
                    ".add",
                    "expanduser",
                )
            )
            path = module.string(inner.args[0]) if inner.args else module.string(getattr(inner.func, "value", None))
            place = secret_place(path, module.purpose) if is_read and path else None
            if place and not place[1] and not name.endswith(("exists", ".mkdir")):
                return place[0]
    return ""


def _sink(node: ast.Call, name: str, module: Module) -> str:
    if not SINKS.match(name):
        return ""
    # An address that is put together from data carries it just as well as a body.
    is_made = bool(node.args) and isinstance(node.args[0], (ast.JoinedStr, ast.BinOp))
    if (
        not is_made
        and name.endswith((".get", "Request", "urlopen"))
        and not any(one.arg in ("data", "params", "json") for one in node.keywords)
        and len(node.args) < 2
    ):
        return ""
    spelled = " ".join(
        module.string(one) for one in (*node.args[:2], *(key.value for key in node.keywords if key.arg == "url"))
    )
    url = next(urls_in(spelled), None)
    if url is not None and standing(url, module.own) is Standing.LOCAL:
        return ""
    return url.host if url else f"the network by {name.rpartition('.')[2]}"
