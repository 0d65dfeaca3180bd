"""Permissions: decides whether a skill may use a tool, from what it requests and what the user's policy allows.

`allowed-tools` is a request by the skill's author, not a grant. For the scripts that metier runs it is also the boundary: a
skill that lists its tools gets no others. Toolsets are requested by the manifest, hosts and secrets by it or by the
call; the user grants them. For tools that a host runs, the result is allow, ask or deny, and the host enforces it.

    deny      the user's policy forbids it, or it is a script that the skill's allowed-tools do not cover
    allow     the skill requests it (or lists nothing), and the policy or an approval of this version allows it
    ask       everything else

The general tools of metier (a command, a file of the workspace) are confined: sandbox, no network, writes only to a layer that
the user takes over or not. For them `allowed-tools` of an active skill is a grant: what it covers runs without a question.

For a skill on another server only approvals of its current version count. A skill that was installed is held to the list of its
capabilities: what goes beyond the list is asked, whatever the defaults are (`capability_limits`).
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Iterable, Sequence
from enum import StrEnum

from metier.errors import RefusedError, UsageError
from metier.runtime.async_bridge import wait_for
from metier.spec import Capabilities, Manifest, Toolset
from metier.values import dataclass, field, replace

from .approvals import Approvals, MemoryApprovals
from .capability_limits import CapabilityList, beyond_list
from .grants import NETWORK, SECRET
from .patterns import PathContext, ToolPattern, ToolRequest, Which, literal_pattern, part_requests, tool_request
from .tool_names import ToolKind, is_reader, kind_of_tool

__all__ = [
    "ApprovalAnswer",
    "ApprovalHook",
    "Permissions",
    "Policy",
    "PolicyDecision",
    "PolicyVerdict",
    "Question",
    "Requester",
    "script_tool_request",
    "workspace_write_request",
]

PACKAGES, SCRIPT, TOOLSET, WORKSPACE = "Packages", "Script", "Toolset", "Workspace"
_OURS = frozenset({NETWORK, PACKAGES, SCRIPT, SECRET, TOOLSET, WORKSPACE})
_LONGEST_NAMED = 200
_INTERPRETERS = {
    ".py": ("python3", "python", "uv run"),
    ".sh": ("bash", "sh"),
    ".bash": ("bash",),
    ".js": ("node", "bun"),
    ".mjs": ("node", "bun"),
    ".cjs": ("node",),
    ".ts": ("bun", "deno run", "npx tsx", "tsx", "node"),
    ".rb": ("ruby",),
}


class PolicyVerdict(StrEnum):
    """The result of a policy check."""

    ALLOW = "allow"
    ASK = "ask"
    DENY = "deny"


class ApprovalAnswer(StrEnum):
    """The answer of a user to a Question."""

    ONCE = "once"
    ALWAYS = "always"
    """For the current version of the skill."""
    NO = "no"


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """The user's policy. Patterns are checked first; the other fields are the defaults."""

    allow: tuple[ToolPattern, ...] = ()
    deny: tuple[ToolPattern, ...] = ()
    scripts: PolicyVerdict = PolicyVerdict.ALLOW
    """They run in the sandbox, without network."""
    network: PolicyVerdict = PolicyVerdict.ASK
    secrets: PolicyVerdict = PolicyVerdict.ASK
    toolsets: PolicyVerdict = PolicyVerdict.ASK
    """They run in the process of the agent."""
    tools: PolicyVerdict = PolicyVerdict.ASK
    """Tools of the host, and metier's own general tools where no active skill requests them."""
    packages: PolicyVerdict = PolicyVerdict.ASK
    """Packages that scripts declare: fetching them once, for all runs."""
    workspace_read: PolicyVerdict = PolicyVerdict.ALLOW
    """Listing, reading and searching the workspace with general tools. A session has one only if the user agreed to it."""
    workspace_write: PolicyVerdict = PolicyVerdict.ASK
    """Applying changes to the user's folder."""

    @classmethod
    def of(cls, *, allow: Iterable[str] = (), deny: Iterable[str] = (), **defaults: PolicyVerdict) -> Policy:
        return cls(allow=tuple(map(ToolPattern.parse, allow)), deny=tuple(map(ToolPattern.parse, deny)), **defaults)

    def default_for(self, tool: str) -> PolicyVerdict:
        ours = {SCRIPT: self.scripts, NETWORK: self.network, SECRET: self.secrets, TOOLSET: self.toolsets}
        ours |= {WORKSPACE: self.workspace_write, PACKAGES: self.packages}
        return ours.get(tool, self.tools)

    def default_of(self, request: ToolRequest) -> tuple[str, PolicyVerdict]:
        """Returns the setting that applies to a confined tool, and its value."""
        if is_reader(request.tool):
            return "policy.workspace.read", self.workspace_read
        return "policy.tools", self.tools


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyDecision:
    verdict: PolicyVerdict
    rule: str
    """The pattern, setting or approval that decided."""
    argv: tuple[str, ...] = ()
    """For an allowed command: its words, without a shell, with the path of the program if a trusted PATH is known."""
    is_named: bool = False
    """The user allowed this by name, not by a default."""

    def __bool__(self) -> bool:
        raise TypeError("use PolicyDecision.verdict")


@dataclass(frozen=True, slots=True, kw_only=True)
class Requester:
    """The skill that requests a permission. Its digest is computed only if it is needed."""

    name: str
    tools: tuple[str, ...] = ()
    digest: Callable[[], str] = lambda: ""
    """Returns an empty text if the skill cannot be bound to a version; then no approval is stored or applied."""
    bundled: bool = False
    origin: str = ""
    """The owner, if it is on another server."""
    limit: CapabilityList | None = None
    """The list of an installed skill; None for any other."""

    @classmethod
    def of(
        cls, manifest: Manifest, digest: Callable[[], str], *, bundled: bool = False, limit: CapabilityList | None = None
    ) -> Requester:
        return cls(name=manifest.name, tools=manifest.allowed_tools, digest=digest, bundled=bundled, limit=limit)


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A question to an approval hook."""

    skill: str
    digest: str
    request: ToolRequest
    reason: str

    @property
    def words(self) -> tuple[str, ...]:
        """The command line that would run: a script with its arguments. Empty if none would."""
        return self.request.words or self.request.argv

    @property
    def program(self) -> str:
        """The shell line or the code that would run, if it is more than one plain command. It may have several lines."""
        is_code = self.request.is_command or kind_of_tool(self.request.tool) is ToolKind.CODE
        return self.request.argument if is_code and not self.words else ""


ApprovalHook = Callable[[Question], ApprovalAnswer | bool | Awaitable[ApprovalAnswer | bool]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Permissions:
    policy: Policy = field(default_factory=Policy)
    approvals: Approvals = field(default_factory=MemoryApprovals)
    approve: ApprovalHook | None = None
    """Decides `ask`. Without a hook, such requests are refused."""
    which: Which | None = None
    context: PathContext = field(default_factory=PathContext)
    """Where paths start and lead to."""

    def check(self, tool: str, argument: str = "", *, skills: Sequence[Requester] = ()) -> PolicyDecision:
        """Decides whether a host may use a tool while these skills are active. `argument` is a shell command or a path."""
        request = tool_request(tool, argument)
        decisions = [self.decide(request, skill) for skill in skills] or [self.decide(request, None)]
        # One active skill that allows it is enough; a deny of the user applies to all of them.
        order = (PolicyVerdict.DENY, PolicyVerdict.ALLOW, PolicyVerdict.ASK)
        return min(decisions, key=lambda decision: order.index(decision.verdict))

    def denies(self, request: ToolRequest) -> bool:
        return any(pattern.forbids(request, context=self.context) for pattern in self.policy.deny)

    def decide(self, request: ToolRequest, skill: Requester | None) -> PolicyDecision:
        decision = self._decide(request, skill)
        limit = skill.limit if skill is not None else None
        if limit is None or decision.verdict is PolicyVerdict.DENY or decision.is_named:
            return decision
        if not beyond_list(request, limit.listed if limit.is_agreed else Capabilities(), self.context):
            return decision
        return PolicyDecision(verdict=PolicyVerdict.ASK, rule=limit.rule)

    def _decide(self, request: ToolRequest, skill: Requester | None) -> PolicyDecision:
        for pattern in self.policy.deny:
            if pattern.forbids(request, context=self.context):
                return PolicyDecision(verdict=PolicyVerdict.DENY, rule=f"policy.deny: {pattern}")
        if skill is not None and skill.origin:
            return self._decide_remote(request, skill)
        if request.is_confined:
            return self._decide_confined(request, skill)
        lists_tools = skill is not None and bool(skill.tools)
        requested = skill is not None and any(self._grants(pattern, request) for pattern in parse_patterns(skill.tools))
        if lists_tools and not requested and request.tool == SCRIPT:
            # The user may allow more than the author asked for, but only for this version of this skill.
            approved = self._approved(request, skill)
            if approved is not None:
                return approved
            return PolicyDecision(verdict=PolicyVerdict.DENY, rule="allowed-tools: the skill does not request it")
        if request.tool not in _OURS and not requested:
            return PolicyDecision(verdict=PolicyVerdict.ASK, rule="no active skill requests it")
        for pattern in self.policy.allow:
            if self._grants(pattern, request):
                return PolicyDecision(
                    verdict=PolicyVerdict.ALLOW, rule=f"policy.allow: {pattern}", argv=self._argv(request),
                    is_named=pattern.is_specific,
                )  # fmt: skip
        approved = self._approved(request, skill)
        return approved if approved is not None else self._default(request, skill)

    def _decide_confined(self, request: ToolRequest, skill: Requester | None) -> PolicyDecision:
        setting, verdict = self.policy.default_of(request)
        if verdict is PolicyVerdict.DENY:
            return PolicyDecision(verdict=verdict, rule=f"{setting}: deny")
        tools = parse_patterns(skill.tools) if skill is not None else []
        for name, patterns in (("allowed-tools", tools), ("policy.allow", self.policy.allow)):
            granting = self._granting(request, patterns)
            if granting:
                return PolicyDecision(
                    verdict=PolicyVerdict.ALLOW, rule=f"{name}: {' '.join(map(str, granting))}",
                    is_named=name == "policy.allow" and all(pattern.is_specific for pattern in granting),
                )  # fmt: skip
        approved = self._approved(request, skill)
        return approved if approved is not None else PolicyDecision(verdict=verdict, rule=f"{setting}: {verdict}")

    def _granting(self, request: ToolRequest, patterns: Sequence[ToolPattern]) -> tuple[ToolPattern, ...]:
        """Returns the patterns that together cover the request; none if they do not."""
        whole = next((pattern for pattern in patterns if self._grants(pattern, request)), None)
        if whole is not None:
            return (whole,)
        parts = part_requests(request.argument) if request.is_command else ()
        found = [next((pattern for pattern in patterns if self._grants(pattern, part)), None) for part in parts]
        return tuple(dict.fromkeys(each for each in found if each is not None)) if None not in found else ()

    def authorise_any(self, request: ToolRequest, skills: Sequence[Requester]) -> PolicyDecision:
        """Like `authorise`, for a call that belongs to no skill alone: one active skill that allows it is enough.

        The question, if there is one, is asked for the last skill; without any, for the model itself.
        """
        for skill in skills:
            decision = self.decide(request, skill)
            if decision.verdict is PolicyVerdict.ALLOW:
                return decision
        return self.authorise(request, skills[-1] if skills else Requester(name="", digest=lambda: "model"))

    def script_denial(self, script: str, skill: Requester) -> str:
        """Returns why a script of the skill cannot run with any arguments; empty if it may."""
        arguments = ((), *(pattern.arguments_of(script) for pattern in parse_patterns(skill.tools)))
        requests = [script_tool_request(skill.name, script, each) for each in dict.fromkeys(arguments)]
        decisions = [self.decide(request, skill) for request in requests]
        if any(decision.verdict is not PolicyVerdict.DENY for decision in decisions):
            return ""
        return f"{decisions[0].rule}; {_hint(requests[0], skill, decisions[0])}"

    def authorise(self, request: ToolRequest, skill: Requester) -> PolicyDecision:
        """Returns an allow or raises RefusedError; the hook decides `ask`. The answer `always` is stored for this version."""
        decision = self.decide(request, skill)
        if decision.verdict is PolicyVerdict.ASK:
            decision = self._ask(request, skill, decision)
        if decision.verdict is not PolicyVerdict.ALLOW:
            raise RefusedError(
                f"{skill.name or 'the model'} may not use {_shortened(request)}: {decision.rule}",
                rule=_rule(decision),
                hint=_hint(request, skill, decision),
            )
        return decision

    def authorise_toolsets(self, toolsets: Iterable[Toolset], skill: Requester, *, ask: bool) -> None:
        """Raises RefusedError unless all toolsets are allowed. Without `ask` the user is not asked, and `ask` is a refusal."""
        for toolset in toolsets:
            request = ToolRequest(tool=TOOLSET, argument=str(toolset))
            permissions = self if ask else replace(self, approve=None)
            permissions.authorise(request, skill)

    def _decide_remote(self, request: ToolRequest, skill: Requester) -> PolicyDecision:
        if request.tool == TOOLSET or not skill.digest():
            return PolicyDecision(verdict=PolicyVerdict.DENY, rule=f"origin: not available to skills from {skill.origin}")
        approved = self._approved(request, skill)
        if approved is not None:
            return approved
        # The policy can forbid it but not allow it: its general permissions are for local skills.
        verdict = PolicyVerdict.DENY if self.policy.default_for(request.tool) is PolicyVerdict.DENY else PolicyVerdict.ASK
        return PolicyDecision(
            verdict=verdict, rule=f"origin: it comes from {skill.origin}, and its current version is not approved"
        )

    def _grants(self, pattern: ToolPattern, request: ToolRequest, *, known_only: bool = False) -> bool:
        return pattern.grants(request, which=self.which, context=self.context, known_only=known_only)

    def _approved(self, request: ToolRequest, skill: Requester | None) -> PolicyDecision | None:
        if skill is None:
            return None
        approvals = self.approvals.of_skill(skill.name)
        if not approvals:
            return None
        digest = skill.digest()
        for approval in approvals if digest else ():
            if approval.digest == digest and self._grants(ToolPattern.parse(approval.pattern), request):
                return PolicyDecision(
                    verdict=PolicyVerdict.ALLOW, rule=f"approved: {approval.pattern}", argv=self._argv(request), is_named=True
                )
        return None

    def _default(self, request: ToolRequest, skill: Requester | None) -> PolicyDecision:
        if skill is not None and skill.bundled and request.tool == TOOLSET:
            return PolicyDecision(verdict=PolicyVerdict.ALLOW, rule="it is bundled with metier")
        verdict = self.policy.default_for(request.tool)
        if verdict is PolicyVerdict.ALLOW and request.is_command and not self._knows(request, skill):
            # The user has named no program, and the skill names one that is not in the table.
            return PolicyDecision(verdict=PolicyVerdict.ASK, rule="the program is not known")
        names = {SCRIPT: "scripts", NETWORK: "network", SECRET: "secrets", TOOLSET: "toolsets", WORKSPACE: "workspace.write"}
        names |= {PACKAGES: "packages"}
        name = names.get(request.tool, "tools")
        return PolicyDecision(
            verdict=verdict,
            rule=f"policy.{name}: {verdict}",
            argv=self._argv(request) if verdict is PolicyVerdict.ALLOW else (),
        )

    def _knows(self, request: ToolRequest, skill: Requester | None) -> bool:
        return skill is not None and any(
            self._grants(pattern, request, known_only=True) for pattern in parse_patterns(skill.tools)
        )

    def _ask(self, request: ToolRequest, skill: Requester, decision: PolicyDecision) -> PolicyDecision:
        if self.approve is None:
            return decision
        digest = skill.digest()
        given = self.approve(Question(skill=skill.name, digest=digest, request=request, reason=decision.rule))
        answer = wait_for(given) if inspect.isawaitable(given) else given
        # An approval that is bound to no version would hold for every version.
        if answer is True or answer == ApprovalAnswer.ONCE or (answer == ApprovalAnswer.ALWAYS and not digest):
            return PolicyDecision(verdict=PolicyVerdict.ALLOW, rule="approved once", argv=self._argv(request))
        if answer == ApprovalAnswer.ALWAYS:
            pattern = str(literal_pattern(request))
            self.approvals.add(skill.name, digest, pattern)
            return PolicyDecision(verdict=PolicyVerdict.ALLOW, rule=f"approved: {pattern}", argv=self._argv(request))
        return PolicyDecision(verdict=PolicyVerdict.DENY, rule="the user refused")

    def _argv(self, request: ToolRequest) -> tuple[str, ...]:
        if not request.argv:
            return ()
        found = self.which(request.argv[0]) if self.which is not None and "/" not in request.argv[0] else None
        return (found or request.argv[0], *request.argv[1:])


def workspace_write_request() -> ToolRequest:
    """Returns the request to apply changes to the user's folder."""
    return ToolRequest(tool=WORKSPACE, argument="write")


def script_tool_request(skill: str, script: str, arguments: Sequence[str]) -> ToolRequest:
    """Returns the request for a run of a script, with every name by which an author may have requested it."""
    suffix = "." + script.rpartition(".")[2] if "." in script.rpartition("/")[2] else ""
    starts = [tuple(start.split()) for start in _INTERPRETERS.get(suffix, ())]
    commands = [(*start, script, *arguments) for start in starts] + [(script, *arguments)]
    shells = [
        ToolRequest(tool="Bash", argument=" ".join(words), argv=words, is_command=True, is_script=True) for words in commands
    ]
    stem = script.rpartition("/")[2].removesuffix(suffix)
    names = (ToolRequest(tool="run_skill_script"), ToolRequest(tool=f"{skill}_{stem}"))
    return ToolRequest(tool=SCRIPT, argument=script, words=(script, *arguments), also=(*shells, *names))


def parse_patterns(tools: Iterable[str]) -> list[ToolPattern]:
    found = []
    for text in tools:
        try:
            found.append(ToolPattern.parse(text))
        except UsageError:
            # A pattern with a typo requests nothing; `metier skill lint` reports it.
            continue
    return found


def _shortened(request: ToolRequest) -> str:
    """A request as a part of a sentence: code may have any length."""
    text = " ".join(str(request).split())
    return text if len(text) <= _LONGEST_NAMED else f"{text[: _LONGEST_NAMED - 1]}…"


def _rule(decision: PolicyDecision) -> str:
    return decision.rule.partition(":")[0].replace(" ", "-")


def _hint(request: ToolRequest, skill: Requester, decision: PolicyDecision) -> str:
    if decision.rule.startswith("allowed-tools"):
        return (
            f"the user can allow it with `metier policy allow {_quoted(str(literal_pattern(request)))} --skill {skill.name}`, "
            f"or its author with {request} in allowed-tools"
        )
    if decision.rule.startswith("policy.deny") or decision.rule.endswith(": deny"):
        return "the user's policy forbids it; see `metier policy show`"
    if request.tool == PACKAGES:
        return f"run `metier skill prepare {skill.name}`, which fetches them once; then scripts run without network"
    of_skill = f" --skill {skill.name}" if skill.name else ""
    return f"the user can allow it with `metier policy allow {_quoted(str(literal_pattern(request)))}{of_skill}`"


def _quoted(text: str) -> str:
    """For a shell, always in quotes."""
    return "'" + text.replace("'", "'\"'\"'") + "'"
