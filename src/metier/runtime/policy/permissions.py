"""What may be done: what a skill asks for, as far as the user's policy allows it.

`allowed-tools` is a request by the skill's author, not a grant. For the scripts that metier runs the request is also
the boundary: a skill that lists its tools gets no others. A toolset and the network are asked for in their own way,
by the manifest and by the call, and are the user's to give. For tools that the host runs we answer allow, ask or
deny, and the host does as it likes.

    deny      the user's policy forbids it, or metier would run it and the skill never asked for it
    allow     the skill asks for it (or lists nothing), and the policy or an approval of this very version allows it
    ask       anything else

A skill that comes from another server asks for nothing and is allowed nothing in general: only what the user approved
for it, as it is, counts.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Iterable, Sequence
from enum import StrEnum

from metier.errors import RefusedError, UsageError
from metier.runtime.async_bridge import wait_for
from metier.spec import Manifest, Toolset
from metier.values import dataclass, field, replace

from .approvals import Approvals, MemoryApprovals
from .patterns import ToolPattern, ToolRequest, Which, tool_request

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
]

NETWORK, SCRIPT, TOOLSET = "Network", "Script", "Toolset"
_OURS = frozenset({NETWORK, SCRIPT, TOOLSET})
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
    ALLOW = "allow"
    ASK = "ask"
    DENY = "deny"


class ApprovalAnswer(StrEnum):
    """What a person says when asked."""

    ONCE = "once"
    ALWAYS = "always"
    """For this version of the skill."""
    NO = "no"


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """What the user has said. Patterns come first; the words stand for whatever no pattern names."""

    allow: tuple[ToolPattern, ...] = ()
    deny: tuple[ToolPattern, ...] = ()
    scripts: PolicyVerdict = PolicyVerdict.ALLOW
    """In the sandbox, without a network, they can do no harm."""
    network: PolicyVerdict = PolicyVerdict.ASK
    toolsets: PolicyVerdict = PolicyVerdict.ASK
    """They run inside the agent's own process."""
    tools: PolicyVerdict = PolicyVerdict.ASK
    """Of the host."""

    @classmethod
    def of(cls, *, allow: Iterable[str] = (), deny: Iterable[str] = (), **words: PolicyVerdict) -> Policy:
        return cls(allow=tuple(map(ToolPattern.parse, allow)), deny=tuple(map(ToolPattern.parse, deny)), **words)

    def default_for(self, tool: str) -> PolicyVerdict:
        return {SCRIPT: self.scripts, NETWORK: self.network, TOOLSET: self.toolsets}.get(tool, self.tools)


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyDecision:
    verdict: PolicyVerdict
    rule: str
    """Why: the pattern, the setting or the approval that decided."""
    argv: tuple[str, ...] = ()
    """For a command that may run: these words, without a shell, and the very file where a trusted PATH is known."""

    def __bool__(self) -> bool:
        raise TypeError("ask a Decision for .verdict")


@dataclass(frozen=True, slots=True, kw_only=True)
class Requester:
    """The skill on whose behalf something is asked. Its digest is read only when it is needed."""

    name: str
    tools: tuple[str, ...] = ()
    digest: Callable[[], str] = lambda: ""
    bundled: bool = False
    origin: str = ""
    """Whose it is, where it is not of this machine."""

    @classmethod
    def of(cls, manifest: Manifest, digest: Callable[[], str], *, bundled: bool = False) -> Requester:
        return cls(name=manifest.name, tools=manifest.allowed_tools, digest=digest, bundled=bundled)


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What an approval hook is asked."""

    skill: str
    digest: str
    request: ToolRequest
    reason: str


ApprovalHook = Callable[[Question], ApprovalAnswer | bool | Awaitable[ApprovalAnswer | bool]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Permissions:
    policy: Policy = field(default_factory=Policy)
    approvals: Approvals = field(default_factory=MemoryApprovals)
    approve: ApprovalHook | None = None
    """Decides `ask`. Without one, what must be asked is refused."""
    which: Which | None = None

    def check(self, tool: str, argument: str = "", *, skills: Sequence[Requester] = ()) -> PolicyDecision:
        """May the host use this tool while these skills are active? `argument` is the command of a shell, or a path."""
        request = tool_request(tool, argument)
        decisions = [self.decide(request, skill) for skill in skills] or [self.decide(request, None)]
        # Whatever one active skill may do is allowed; a deny is the user's and holds for all of them.
        order = (PolicyVerdict.DENY, PolicyVerdict.ALLOW, PolicyVerdict.ASK)
        return min(decisions, key=lambda decision: order.index(decision.verdict))

    def denies(self, request: ToolRequest) -> bool:
        return any(pattern.forbids(request) for pattern in self.policy.deny)

    def decide(self, request: ToolRequest, skill: Requester | None) -> PolicyDecision:
        for pattern in self.policy.deny:
            if pattern.forbids(request):
                return PolicyDecision(verdict=PolicyVerdict.DENY, rule=f"policy.deny: {pattern}")
        if skill is not None and skill.origin:
            return self._of_a_stranger(request, skill)
        listed = skill is not None and bool(skill.tools)
        asked = skill is not None and any(pattern.grants(request, which=self.which) for pattern in parse_patterns(skill.tools))
        ours = request.tool in _OURS
        if listed and not asked and ours and request.tool == SCRIPT:
            return PolicyDecision(verdict=PolicyVerdict.DENY, rule="allowed-tools: the skill does not ask for it")
        if not ours and not asked:
            return PolicyDecision(verdict=PolicyVerdict.ASK, rule="no active skill asks for it")
        for pattern in self.policy.allow:
            if pattern.grants(request, which=self.which):
                return PolicyDecision(verdict=PolicyVerdict.ALLOW, rule=f"policy.allow: {pattern}", argv=self._exact(request))
        approved = self._approved(request, skill)
        return approved if approved is not None else self._otherwise(request, skill)

    def authorise(self, request: ToolRequest, skill: Requester) -> PolicyDecision:
        """Allow, or Refused: `ask` is put to the hook. An answer of `always` is kept for this version of the skill."""
        decision = self.decide(request, skill)
        if decision.verdict is PolicyVerdict.ASK:
            decision = self._asked(request, skill, decision)
        if decision.verdict is not PolicyVerdict.ALLOW:
            raise RefusedError(
                f"{request} is not allowed for {skill.name}: {decision.rule}",
                rule=_rule(decision),
                hint=_hint(request, skill, decision),
            )
        return decision

    def authorise_toolsets(self, toolsets: Iterable[Toolset], skill: Requester, *, ask: bool) -> None:
        """All of a skill's toolsets, or Refused. Without `ask` nobody is disturbed: what would have to be asked is refused."""
        for toolset in toolsets:
            request = ToolRequest(tool=TOOLSET, argument=str(toolset))
            quiet = self if ask else replace(self, approve=None)
            quiet.authorise(request, skill)

    def _of_a_stranger(self, request: ToolRequest, skill: Requester) -> PolicyDecision:
        if request.tool == TOOLSET or not skill.digest():
            return PolicyDecision(verdict=PolicyVerdict.DENY, rule=f"origin: {skill.origin} cannot be given that")
        approved = self._approved(request, skill)
        if approved is not None:
            return approved
        # The policy can forbid it, and allow nothing: what it allows in general was said about this machine's skills.
        verdict = PolicyVerdict.DENY if self.policy.default_for(request.tool) is PolicyVerdict.DENY else PolicyVerdict.ASK
        return PolicyDecision(
            verdict=verdict, rule=f"origin: it comes from {skill.origin}, and nobody has approved it as it is"
        )

    def _approved(self, request: ToolRequest, skill: Requester | None) -> PolicyDecision | None:
        if skill is None:
            return None
        kept = self.approvals.of(skill.name)
        if not kept:
            return None
        digest = skill.digest()
        for approval in kept:
            if approval.digest == digest and ToolPattern.parse(approval.pattern).grants(request, which=self.which):
                return PolicyDecision(
                    verdict=PolicyVerdict.ALLOW, rule=f"approved: {approval.pattern}", argv=self._exact(request)
                )
        return None

    def _otherwise(self, request: ToolRequest, skill: Requester | None) -> PolicyDecision:
        if skill is not None and skill.bundled and request.tool == TOOLSET:
            return PolicyDecision(verdict=PolicyVerdict.ALLOW, rule="it comes with metier")
        verdict = self.policy.default_for(request.tool)
        name = {SCRIPT: "scripts", NETWORK: "network", TOOLSET: "toolsets"}.get(request.tool, "tools")
        return PolicyDecision(
            verdict=verdict,
            rule=f"policy.{name}: {verdict}",
            argv=self._exact(request) if verdict is PolicyVerdict.ALLOW else (),
        )

    def _asked(self, request: ToolRequest, skill: Requester, decision: PolicyDecision) -> PolicyDecision:
        if self.approve is None:
            return decision
        digest = skill.digest()
        said = self.approve(Question(skill=skill.name, digest=digest, request=request, reason=decision.rule))
        answer = wait_for(said) if inspect.isawaitable(said) else said
        if answer is True or answer == ApprovalAnswer.ONCE:
            return PolicyDecision(verdict=PolicyVerdict.ALLOW, rule="approved once", argv=self._exact(request))
        if answer == ApprovalAnswer.ALWAYS:
            self.approvals.keep(skill.name, digest, str(request))
            return PolicyDecision(verdict=PolicyVerdict.ALLOW, rule=f"approved: {request}", argv=self._exact(request))
        return PolicyDecision(verdict=PolicyVerdict.DENY, rule="the user said no")

    def _exact(self, request: ToolRequest) -> tuple[str, ...]:
        if not request.argv:
            return ()
        found = self.which(request.argv[0]) if self.which is not None and "/" not in request.argv[0] else None
        return (found or request.argv[0], *request.argv[1:])


def script_tool_request(skill: str, script: str, arguments: Sequence[str]) -> ToolRequest:
    """A run of a script, under every name by which an author may have asked for it."""
    suffix = "." + script.rpartition(".")[2] if "." in script.rpartition("/")[2] else ""
    starts = [tuple(start.split()) for start in _INTERPRETERS.get(suffix, ())]
    commands = [(*start, script, *arguments) for start in starts] + [(script, *arguments)]
    shells = [ToolRequest(tool="Bash", argument=" ".join(words), argv=words, is_command=True) for words in commands]
    stem = script.rpartition("/")[2].removesuffix(suffix)
    return ToolRequest(
        tool=SCRIPT, argument=script, also=(*shells, ToolRequest(tool="run_skill_script"), ToolRequest(tool=f"{skill}_{stem}")),
    )  # fmt: skip


def parse_patterns(tools: Iterable[str]) -> list[ToolPattern]:
    found = []
    for text in tools:
        try:
            found.append(ToolPattern.parse(text))
        except UsageError:
            # The author's typo asks for nothing; `metier skill lint` names it.
            continue
    return found


def _rule(decision: PolicyDecision) -> str:
    return decision.rule.partition(":")[0].replace(" ", "-")


def _hint(request: ToolRequest, skill: Requester, decision: PolicyDecision) -> str:
    if decision.rule.startswith("allowed-tools"):
        return f"its author must add {request} to allowed-tools"
    if decision.rule.startswith("policy.deny"):
        return "the user has forbidden it; `metier policy show` lists the rules"
    return f"the user can allow it with `metier policy allow '{request}' --skill {skill.name}`"
