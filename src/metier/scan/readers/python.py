"""A Python file as a syntax tree with resolved names: imports, constants, and the calls behind each name."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from threading import Lock
from warnings import catch_warnings, simplefilter

from metier.scan.collector import FindingCollector
from metier.scan.patterns import words
from metier.scan.scale import Confidence
from metier.scan.text import SkillText
from metier.values import dataclass, field

__all__ = ["Node", "PythonModule", "read_module"]

_quiet = Lock()
"""Warnings are disabled for the whole process, so only one thread may do it."""
_LONGEST = 256 * 1024
_MOST_NODES = 150_000
Node = tuple[ast.AST, str]
"""A node and the name of its function."""
_PLAIN = words("ctx id attr arg name names module level kind conversion op ops type_comment kwd_attrs rest str")
"""Fields without nodes that a rule looks at."""
_FIELDS: dict[type[ast.AST], tuple[str, ...]] = {ast.Constant: ()}
_WANTED = frozenset((
    ast.Name, ast.Call, ast.Assign, ast.AugAssign, ast.AnnAssign, ast.NamedExpr, ast.For, ast.AsyncFor, ast.While,
    ast.comprehension, ast.withitem, ast.Return, ast.FunctionDef, ast.AsyncFunctionDef, ast.Import, ast.ImportFrom,
))  # fmt: skip
"""Kinds of nodes that the rules look at one by one; the others are read with them."""


@dataclass(slots=True)
class PythonModule:
    text: SkillText
    collector: FindingCollector
    inner: Callable[[SkillText], None]
    aliases: dict[str, str] = field(default_factory=dict)
    constants: dict[str, str] = field(default_factory=dict)
    lines: list[int] = field(default_factory=list)
    locals: dict[str, frozenset[str]] = field(default_factory=dict)
    assigned: list[ast.Assign] = field(default_factory=list)
    called: dict[ast.Call, str] = field(default_factory=dict)
    """The dotted names of all calls; see `name_of`."""
    loops: list[ast.AST] = field(default_factory=list)
    children: dict[ast.AST, list[ast.AST]] = field(default_factory=dict)
    """The nodes directly below each node that has any."""
    work_left: int = 1_000_000

    def within(self, node: ast.AST) -> Iterator[ast.AST]:
        """Walks a node. The work of all walks together is bounded, however deep the nesting."""
        waiting, children = [node], self.children
        for inner in waiting:
            self.work_left -= 1
            if self.work_left < 0:
                return
            yield inner
            waiting += children.get(inner, ())

    def at(self, node: ast.AST) -> int:
        line = getattr(node, "lineno", 1) - 1
        return self.lines[line] + getattr(node, "col_offset", 0) if line < len(self.lines) else 0

    def flag(self, code: str, message: str, node: ast.AST, confidence: Confidence | None = None) -> None:
        self.collector.flag(
            code, message, text=self.text, at=min(self.at(node), max(0, len(self.text.text) - 1)), confidence=confidence
        )

    def name_of(self, call: ast.Call) -> str:
        """Returns the dotted name of what a call calls."""
        name = self.called.get(call)
        if name is None:
            name = self.called[call] = self.dotted(call.func)
        return name

    def origins(self, name: str) -> list[str]:
        """Returns the calls whose results a name was assigned."""
        values = [one.value for one in self.assigned if isinstance(one.targets[0], ast.Name) and one.targets[0].id == name]
        return [self.name_of(inner) for value in values for inner in self.within(value) if isinstance(inner, ast.Call)]

    def dotted(self, node: ast.AST) -> str:
        """Returns the dotted name, such as `subprocess.run`, with import aliases resolved; empty for other expressions."""
        parts: list[str] = []
        while isinstance(node, ast.Attribute) and len(parts) < 12:
            parts.append(node.attr)
            node = node.value
        if isinstance(node, ast.Call):
            parts.append(self.named_by(node) or self.dotted(node.func) + "()")
        elif isinstance(node, ast.Name):
            parts.append(self.aliases.get(node.id, node.id))
        else:
            parts.append("")
        return ".".join(reversed(parts))

    def named_by(self, node: ast.Call) -> str:
        """Resolves `__import__("os")` and `getattr(os, "system")`."""
        name = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
        if name in ("__import__", "import_module") and node.args:
            return self.string(node.args[0])
        if name == "getattr" and len(node.args) > 1 and (attribute := self.string(node.args[1])):
            return f"{self.dotted(node.args[0])}.{attribute}"
        return ""

    def string(self, node: ast.AST | None, depth: int = 0) -> str:
        """Returns the text of a node, with `{}` for unknown parts; empty if there is none."""
        if node is None or depth > 8:
            return ""
        if isinstance(node, ast.Constant):
            value = node.value
            return value if isinstance(value, str) else value.decode("latin-1") if isinstance(value, bytes) else ""
        if isinstance(node, ast.Name):
            return self.constants.get(node.id, "")
        if isinstance(node, ast.Attribute):
            return self.constants.get(node.attr, "")
        if isinstance(node, ast.JoinedStr):
            return "".join(self.string(part, depth + 1) or "{}" for part in node.values)[:20_000]
        if isinstance(node, ast.FormattedValue):
            return self.string(node.value, depth + 1) or "{}"
        if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Mod, ast.Div)):
            left, right = self.string(node.left, depth + 1), self.string(node.right, depth + 1)
            glue = "/" if isinstance(node.op, ast.Div) and (left or right) else ""
            return (left + glue + right)[:20_000]
        if isinstance(node, ast.Subscript):
            return self.string(node.value, depth + 1)[::-1] if _is_reversal(node.slice) else ""
        if isinstance(node, (ast.List, ast.Tuple)):
            return " ".join(self.string(item, depth + 1) or "{}" for item in node.elts[:64])[:20_000]
        if isinstance(node, ast.Call):
            return self._called_string(node, depth)
        return ""

    def _called_string(self, node: ast.Call, depth: int) -> str:
        name = self.dotted(node.func)
        if name.endswith(
            (".expanduser", "Path", ".expandvars", ".abspath", "str", ".format", ".strip", ".encode", ".joinpath", ".resolve")
        ):
            inside = node.func.value if isinstance(node.func, ast.Attribute) and not node.args else None
            return "/".join(
                filter(None, (self.string(inside, depth + 1), *(self.string(one, depth + 1) for one in node.args[:4])))
            )
        if name.endswith("path.join"):
            return "/".join(self.string(one, depth + 1) or "{}" for one in node.args[:8])
        if name.endswith("Path.home"):
            return "~"
        if name.endswith(".join") and node.args and isinstance(node.args[0], (ast.List, ast.Tuple)):
            return "".join(self.string(item, depth + 1) for item in node.args[0].elts[:200])
        if name == "chr" and node.args and isinstance(node.args[0], ast.Constant) and isinstance(node.args[0].value, int):
            return chr(node.args[0].value) if 0 < node.args[0].value < 0x110000 else ""
        return ""


def _is_reversal(node: ast.AST) -> bool:
    """Returns True if a slice is `[::-1]`."""
    step = node.step if isinstance(node, ast.Slice) and node.lower is None and node.upper is None else None
    return isinstance(step, ast.UnaryOp) and isinstance(step.op, ast.USub) and isinstance(step.operand, ast.Constant)


def read_module(
    text: SkillText, collector: FindingCollector, inner: Callable[[SkillText], None]
) -> tuple[PythonModule, list[Node]] | None:
    """Returns the module and its nodes; None if the text is not valid Python."""
    if len(text.text) > _LONGEST:
        collector.add("SK902", "the script is too large to be read as Python", file=text.path, line=text.first)
        return None
    try:
        with _quiet, catch_warnings():
            # The parser's warnings about style do not matter here.
            simplefilter("ignore")
            tree = ast.parse(text.text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    lines = [0]
    for line in text.text.split("\n"):
        lines.append(lines[-1] + len(line) + 1)
    module = PythonModule(text, collector, inner, lines=lines)
    nodes = [node for node in _walk(tree, module) if type(node[0]) in _WANTED]
    _prepare(module, nodes)
    return module, nodes


def _walk(tree: ast.AST, module: PythonModule) -> Iterator[Node]:
    """Yields the nodes with the name of their function, without recursion, and notes the nodes below each."""
    waiting: list[Node] = [(tree, "")]
    left = _MOST_NODES
    while waiting:
        node, scope = waiting.pop()
        yield node, scope
        left -= 1
        if not left:
            module.collector.add("SK902", "the script is too large to be read to its end", file=module.text.path)
            return
        below: list[ast.AST] = []
        for name in _fields_of(type(node)):
            value = getattr(node, name, None)
            if isinstance(value, list):
                below += [one for one in value if one is not None]
            elif isinstance(value, ast.AST):
                below.append(value)
        if below:
            module.children[node] = below
            inner = node.name if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) else scope
            waiting += [(child, inner) for child in below]


def _fields_of(kind: type[ast.AST]) -> tuple[str, ...]:
    """Returns the fields of a kind of node that can hold nodes."""
    fields = _FIELDS.get(kind)
    if fields is None:
        fields = _FIELDS[kind] = tuple(name for name in kind._fields if name not in _PLAIN)
    return fields


def _prepare(module: PythonModule, nodes: list[Node]) -> None:
    """Collects imports, constants, calls and local names of the whole file."""
    local: dict[str, set[str]] = {}
    calls = []
    for node, scope in nodes:
        if type(node) is ast.Name:
            if scope and type(node.ctx) is ast.Store:
                local.setdefault(scope, set()).add(node.id)
        elif isinstance(node, ast.Call):
            calls.append(node)
        elif isinstance(node, ast.Assign):
            module.assigned.append(node)
        elif isinstance(node, (ast.For, ast.AsyncFor, ast.While)):
            module.loops.append(node)
        elif isinstance(node, ast.Import):
            for one in node.names:
                top = one.name.partition(".")[0]
                module.aliases[one.asname or top] = one.name if one.asname else top
        elif isinstance(node, ast.ImportFrom) and node.module:
            module.aliases.update({one.asname or one.name: f"{node.module}.{one.name}" for one in node.names})
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            arguments = node.args
            names = (*arguments.args, *arguments.kwonlyargs, *arguments.posonlyargs)
            local.setdefault(node.name, set()).update(one.arg for one in names)
    module.locals = {scope: frozenset(names) for scope, names in local.items()}
    for assigned in module.assigned:
        _note_constant(assigned, module)
    for call in calls:
        module.name_of(call)


def _note_constant(node: ast.Assign, module: PythonModule) -> None:
    target = node.targets[0]
    if not isinstance(target, ast.Name):
        return
    made = module.named_by(node.value) if isinstance(node.value, ast.Call) else ""
    if made:
        module.aliases[target.id] = made
    value = module.string(node.value) if len(node.targets) == 1 else ""
    if value and len(module.constants) < 5_000:
        # A name with two values may hold either, so both are kept.
        known = module.constants.get(target.id, "")
        module.constants[target.id] = f"{known} {value}".strip()[:20_000] if known != value else value
