"""Every setting there is: its type, its default, and what it is for. `metier config show` prints this table."""

from __future__ import annotations

from enum import StrEnum

from metier.values import dataclass

__all__ = ["KEYS", "Key", "Kind", "Plain"]

Plain = None | bool | int | float | str | tuple[str, ...]


class Kind(StrEnum):
    TEXT = "text"
    PATH = "path"
    """Expanded: `~` is the home folder, and a relative path starts at the file that names it."""
    NUMBER = "number"
    TRUTH = "true or false"
    WORDS = "list of texts"
    TABLE = "table"


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    name: str
    kind: Kind
    text: str
    default: Plain = None
    variables: tuple[str, ...] = ()
    """Environment variables beside the METIER_* one that every key has."""
    least: int | None = None

    @property
    def variable(self) -> str:
        return "METIER_" + self.name.upper().replace(".", "_")


KEYS: dict[str, Key] = {
    key.name: key
    for key in (
        Key(name="skills.dir", kind=Kind.PATH, variables=("SKILLS_DIR",),
            text="a folder searched instead of the project's own; naming it trusts it"),
        Key(name="skills.user_dir", kind=Kind.PATH, text="your own skills"),
        Key(name="skills.plugins_dir", kind=Kind.PATH, text="skills that were installed"),
        Key(name="skills.disabled", kind=Kind.WORDS, default=(), text="skills that are switched off"),
        Key(name="skills.enabled", kind=Kind.WORDS, default=(), text="skills that are on although they ask to be off"),
        Key(name="skills.disabled_bundled", kind=Kind.WORDS, default=(), text="bundled skills that are switched off"),
        Key(name="skills.enabled_bundled", kind=Kind.WORDS, default=(), text="when not empty, the only bundled skills that are on"),
        Key(name="skills.allow", kind=Kind.WORDS, default=(), text="globs; when not empty, a skill's name must match one"),
        Key(name="skills.deny", kind=Kind.WORDS, default=(), text="globs of names that are never used"),
        Key(name="skills.max_depth", kind=Kind.NUMBER, default=6, least=1, text="how many levels below a place are searched"),
        Key(name="skills.max_directories", kind=Kind.NUMBER, default=2000, least=1,
            text="how many folders that are no skills are searched in one place"),
        Key(name="skills.max_active", kind=Kind.NUMBER, default=3, least=1, variables=("SKILLS_MAX_ACTIVE",),
            text="how many skills a session holds at once"),
        Key(name="skills.auto_select", kind=Kind.TRUTH, default=True, variables=("SKILLS_AUTO_SELECT",),
            text="pick skills for each request by themselves"),
        Key(name="skills.script_timeout", kind=Kind.NUMBER, default=60, least=1, text="seconds that a skill's script may run"),
        Key(name="skills.registry", kind=Kind.TEXT, text="address of the registry that bare names come from"),
        Key(name="skills.sources", kind=Kind.TABLE, text="named sources: [skills.sources.NAME] url, auth"),
        Key(name="skills.mcp", kind=Kind.TABLE, text="MCP servers whose skills are used: [skills.mcp.NAME] command, args, env or url, auth"),
        Key(name="skills.plugins", kind=Kind.TABLE, text="plugins: [[skills.plugins]] url, ref, name, enabled"),
        Key(name="skills.parameters", kind=Kind.TABLE, text="values for skills' parameters: [skills.parameters.SKILL] name = value"),
        Key(name="selection.semantic", kind=Kind.TRUTH, default=False,
            text="pick skills by meaning too, not only by words; needs pip install 'metier[semantic]'"),
        Key(name="session.store", kind=Kind.PATH, text="the file that sessions and usage are kept in"),
        Key(name="session.mode", kind=Kind.TEXT, default="bounded", text="how long a skill stays active: persistent, bounded or ephemeral"),
        Key(name="session.pinned", kind=Kind.WORDS, default=(), text="skills that never leave a session to make room"),
        Key(name="session.instruction_tokens", kind=Kind.NUMBER, default=10_000, least=100,
            text="more of a skill's instructions than that is trimmed, at a heading"),
        Key(name="policy.allow", kind=Kind.WORDS, default=(), text="tool patterns that skills may use when they ask for them; `metier policy allow`"),
        Key(name="policy.deny", kind=Kind.WORDS, default=(), text="tool patterns that no skill may use; `metier policy deny`"),
        Key(name="policy.scripts", kind=Kind.TEXT, default="allow", text="scripts of skills, in the sandbox: allow, ask or deny"),
        Key(name="policy.network", kind=Kind.TEXT, default="ask", text="the network for scripts: allow, ask or deny"),
        Key(name="policy.toolsets", kind=Kind.TEXT, default="ask", text="Python toolsets inside the agent's own process: allow, ask or deny"),
        Key(name="policy.tools", kind=Kind.TEXT, default="ask", text="tools of the host that a skill asks for: allow, ask or deny"),
        Key(name="sandbox.require", kind=Kind.TEXT, default="landlock", text="nothing runs below this level: namespace, landlock, limits or off"),
        Key(name="sandbox.environment", kind=Kind.WORDS, default=(), text="environment variables that scripts may see, by name"),
        Key(name="sandbox.output_bytes", kind=Kind.NUMBER, default=1024 * 1024, least=1, text="output that is kept of a script, stdout and stderr together"),
        Key(name="sandbox.memory_bytes", kind=Kind.NUMBER, default=1024 * 1024 * 1024, least=1024 * 1024, text="memory of a script"),
        Key(name="budget.session_activations", kind=Kind.NUMBER, default=0, least=0, text="activations of one session; 0 is no limit, as for all budgets"),
        Key(name="budget.session_tokens", kind=Kind.NUMBER, default=0, least=0, text="tokens of instructions given to a model in one session"),
        Key(name="budget.session_script_seconds", kind=Kind.NUMBER, default=0, least=0, text="seconds that scripts of one session may run"),
        Key(name="budget.skill_activations", kind=Kind.NUMBER, default=0, least=0, text="activations of one skill in a session"),
        Key(name="budget.skill_tokens", kind=Kind.NUMBER, default=0, least=0, text="tokens of one skill's instructions in a session"),
        Key(name="budget.skill_script_seconds", kind=Kind.NUMBER, default=0, least=0, text="seconds that one skill's scripts may run in a session"),
        Key(name="telemetry.enabled", kind=Kind.TRUTH, default=False, text="send traces and metrics by OTLP; OTEL_EXPORTER_OTLP_ENDPOINT says where"),
        Key(name="telemetry.metrics", kind=Kind.TRUTH, default=True, text="send metrics too; some services take only traces"),
        Key(name="telemetry.content", kind=Kind.TRUTH, default=False, text="also send what skills and users say"),
        Key(name="model.name", kind=Kind.TEXT, text="the model that chat, agents and evals ask: openai:NAME, anthropic:NAME, or a name that base_url knows"),
        Key(name="model.base_url", kind=Kind.TEXT, variables=("OPENAI_BASE_URL",), text="an OpenAI-compatible server that is asked instead of the provider's own"),
        Key(name="model.key_variable", kind=Kind.TEXT, text="the environment variable that holds the key; by default the provider's (OPENAI_API_KEY, ANTHROPIC_API_KEY)"),
        Key(name="registry.db", kind=Kind.TEXT, variables=("METIER_DB",), text="where your own registry keeps rows: sqlite:///path or postgresql://…"),
        Key(name="registry.blobs", kind=Kind.TEXT, variables=("METIER_BLOBS",), text="where it keeps archives: file:///path or s3://bucket?endpoint=…"),
        Key(name="registry.url", kind=Kind.TEXT, default="", text="how clients reach it, if by another address than its own"),
        Key(name="registry.rate_limits", kind=Kind.TRUTH, default=True, text="count requests by visitor, and refuse floods"),
        Key(name="registry.proxy_blobs", kind=Kind.TRUTH, default=False, text="send bytes of an object store itself instead of pointing to it"),
        Key(name="engine.selection", kind=Kind.TEXT, default="local", text="who picks skills for a message: local, or llm to let the model choose from the shortlist"),
        Key(name="engine.catalog_tokens", kind=Kind.NUMBER, default=4_000, least=0, text="tokens of the list of skills in the system prompt"),
        Key(name="engine.context_tokens", kind=Kind.NUMBER, default=100_000, least=1_000, text="tokens that one request may hold; what is more is compacted"),
        Key(name="engine.compaction", kind=Kind.TEXT, default="drop", text="what stands for turns that no longer fit: drop for a note, model for a summary by the model"),
        Key(name="engine.steps", kind=Kind.NUMBER, default=30, least=1, text="requests to the model in one turn; more is a loop"),
        Key(name="engine.turn_tokens", kind=Kind.NUMBER, default=0, least=0, text="tokens that one turn may use; 0 is no limit"),
        Key(name="engine.session_tokens", kind=Kind.NUMBER, default=0, least=0, text="tokens that a whole conversation may use; 0 is no limit"),
        Key(name="engine.retries", kind=Kind.NUMBER, default=4, least=0, text="how often a model that failed is asked again"),
        Key(name="cache.enabled", kind=Kind.TRUTH, default=True, text="remember what SKILL.md files say between runs"),
    )
}  # fmt: skip
