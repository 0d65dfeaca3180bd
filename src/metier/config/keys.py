"""All settings: type, default and purpose. `metier config show` prints this table."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from metier.values import dataclass, field

__all__ = ["KEYS", "Held", "SettingKey", "SettingKind", "SettingValue"]

SettingValue = None | bool | int | float | str | tuple[str, ...]


class SettingKind(StrEnum):
    TEXT = "text"
    PATH = "path"
    """Expanded: `~` is the home folder, and a relative path starts at the file that names it."""
    LOCATION = "path or address"
    """A path as above, or an address such as postgresql://…, which is left as it is."""
    NUMBER = "number"
    BOOLEAN = "true or false"
    LIST = "list of texts"
    TABLE = "table"


class Held(StrEnum):
    """The way in which an administrator's setting limits the user's."""

    UNION = "union"
    """Both lists count."""
    WITHIN = "within"
    """Of the user's list, only what the administrator's has."""
    STRICTEST = "strictest"
    BOTH = "both"
    """The two are compared where they are used; `Settings.system` has the administrator's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingKey:
    name: str
    kind: SettingKind
    text: str
    default: SettingValue = None
    variables: tuple[str, ...] = ()
    """Environment variables beside the METIER_* one that every key has."""
    least: int | None = None
    fields: Mapping[str, SettingKind] = field(default_factory=dict)
    """The keys of each table in a TABLE; others are a warning. Empty means any."""
    project: bool = False
    """A trusted project may set it. The others reach the user's own folders, secrets, money or permissions."""
    asks: bool = False
    """A trusted project may ask for it: it counts as far as the user allows, by name and host; see `metier trust --allow`."""
    held: Held | None = None
    """The way in which the administrator's value, in the system's file, limits the user's. None: the user may override it."""
    order: tuple[str, ...] = ()
    """For Held.STRICTEST: the values, the least strict first."""

    @property
    def variable(self) -> str:
        return "METIER_" + self.name.upper().replace(".", "_")


_VERDICTS = ("allow", "ask", "deny")
_SOURCE = {"url": SettingKind.TEXT, "auth": SettingKind.TEXT, "mirrors": SettingKind.LIST, "keys": SettingKind.LIST,
           "signed": SettingKind.BOOLEAN, "kind": SettingKind.TEXT,
           "signature": SettingKind.TABLE}  # fmt: skip
_MCP_SERVER = {"command": SettingKind.TEXT, "args": SettingKind.LIST, "env": SettingKind.TABLE, "url": SettingKind.TEXT,
               "auth": SettingKind.TEXT, "enabled": SettingKind.BOOLEAN}  # fmt: skip
_PLUGIN = {"url": SettingKind.TEXT, "ref": SettingKind.TEXT, "name": SettingKind.TEXT, "enabled": SettingKind.BOOLEAN,
           "installed_at": SettingKind.TEXT}  # fmt: skip

KEYS: dict[str, SettingKey] = {
    key.name: key
    for key in (
        SettingKey(name="skills.dir", kind=SettingKind.PATH, project=True, variables=("SKILLS_DIR",),
            text="a folder searched instead of the project's own; naming it trusts it"),
        SettingKey(name="skills.user_dir", kind=SettingKind.PATH, text="your own skills"),
        SettingKey(name="skills.plugins_dir", kind=SettingKind.PATH, text="skills that were installed"),
        SettingKey(name="skills.disabled", kind=SettingKind.LIST, project=True, default=(), text="skills that are disabled"),
        SettingKey(name="skills.enabled", kind=SettingKind.LIST, project=True, default=(), text="skills that are enabled although they ask to be disabled"),
        SettingKey(name="skills.disabled_bundled", kind=SettingKind.LIST, project=True, default=(), text="bundled skills that are disabled"),
        SettingKey(name="skills.enabled_bundled", kind=SettingKind.LIST, project=True, default=(), text="if not empty, the only bundled skills that are enabled"),
        SettingKey(name="skills.allow", kind=SettingKind.LIST, project=True, default=(), text="globs; if not empty, a skill's name must match one"),
        SettingKey(name="skills.deny", kind=SettingKind.LIST, project=True, default=(), text="globs of names that are never used"),
        SettingKey(name="skills.packages", kind=SettingKind.LIST, project=True, default=(),
            text="installed packages whose skills are used in a trusted project, as python:NAME or npm:NAME"),
        SettingKey(name="skills.max_depth", kind=SettingKind.NUMBER, project=True, default=6, least=1, text="how many levels below a place are searched"),
        SettingKey(name="skills.max_directories", kind=SettingKind.NUMBER, project=True, default=2000, least=1,
            text="how many folders that are not skills are searched in one place"),
        SettingKey(name="skills.max_active", kind=SettingKind.NUMBER, project=True, default=3, least=1, variables=("SKILLS_MAX_ACTIVE",),
            text="how many skills a session holds at once"),
        SettingKey(name="skills.auto_select", kind=SettingKind.BOOLEAN, project=True, default=True, variables=("SKILLS_AUTO_SELECT",),
            text="select skills for each request automatically"),
        SettingKey(name="skills.script_timeout", kind=SettingKind.NUMBER, default=60, least=1, text="seconds that a skill's script may run"),
        SettingKey(name="skills.registry", kind=SettingKind.TEXT, asks=True, text="URL of the default registry"),
        SettingKey(name="skills.sources", kind=SettingKind.TABLE, asks=True, fields=_SOURCE, text="named sources: [skills.sources.NAME] url, auth, kind"),
        SettingKey(name="skills.mcp", kind=SettingKind.TABLE, fields=_MCP_SERVER, text="MCP servers whose skills are used: [skills.mcp.NAME] command, args, env or url, auth"),
        SettingKey(name="skills.plugins", kind=SettingKind.TABLE, fields=_PLUGIN, project=True, text="plugins: [[skills.plugins]] url, ref, name, enabled"),
        SettingKey(name="skills.parameters", kind=SettingKind.TABLE, project=True, text="values for skills' parameters: [skills.parameters.SKILL] name = value"),
        SettingKey(name="selection.semantic", kind=SettingKind.BOOLEAN, project=True, default=False,
            text="pick skills by meaning too, not only by words; needs the extra metier[semantic]"),
        SettingKey(name="selection.registry", kind=SettingKind.TEXT, default="",
            text="if no installed skill fits a message, look in this registry (name or URL) and propose what fits; sends a few words of the message"),
        SettingKey(name="router.enabled", kind=SettingKind.BOOLEAN, project=True, default=True,
            text="let prompt hooks of other agents name the skill that fits; false switches them off, here or everywhere"),
        SettingKey(name="scan.advisories", kind=SettingKind.LIST, default=(),
            text="files or folders of advisories (JSON, also OSV records) that `metier skill scan` checks skills against"),
        SettingKey(name="scan.registry_advisories", kind=SettingKind.BOOLEAN, default=True,
            text="fetch the signed advisories of your registries once an hour, for scan, install, update and audit"),
        SettingKey(name="stats.transcripts", kind=SettingKind.BOOLEAN, default=True,
            text="read the transcripts of other agents on this machine, for stats, missed and learn; nothing leaves it"),
        SettingKey(name="install.compare_requests", kind=SettingKind.BOOLEAN, default=True,
            text="say after an install or update which of your last requests a new skill takes from others"),
        SettingKey(name="session.store", kind=SettingKind.LOCATION, text="the file that sessions and usage are kept in; or postgresql://…, which keeps conversations and approvals too, for several machines"),
        SettingKey(name="session.mode", kind=SettingKind.TEXT, project=True, default="bounded", text="how long a skill stays active: persistent, bounded or ephemeral"),
        SettingKey(name="session.pinned", kind=SettingKind.LIST, project=True, default=(), text="skills that are never evicted from a session"),
        SettingKey(name="session.instruction_tokens", kind=SettingKind.NUMBER, project=True, default=10_000, least=100,
            text="longer instructions of a skill are cut at a heading"),
        SettingKey(name="install.targets", kind=SettingKind.LIST, default=(),
            text="agents that see a new skill: names, all-detected or none; if empty, those on this machine"),
        SettingKey(name="install.allow_sources", kind=SettingKind.LIST, held=Held.BOTH, default=(),
            text="if not empty, the only sources that skills are fetched from: hosts, host/owner/*, URLs, or path for this disk"),
        SettingKey(name="install.deny_sources", kind=SettingKind.LIST, held=Held.BOTH, default=(), text="sources that skills are never fetched from"),
        SettingKey(name="install.cooldown", kind=SettingKind.TEXT, held=Held.BOTH, default="0",
            text="how old a version must be before it is installed: 3d, 12h; 0 is no limit"),
        SettingKey(name="policy.allow", kind=SettingKind.LIST, held=Held.WITHIN, default=(), text="tool patterns that skills may use when they ask for them; `metier policy allow`"),
        SettingKey(name="policy.deny", kind=SettingKind.LIST, held=Held.UNION, default=(), text="tool patterns that no skill may use; `metier policy deny`"),
        SettingKey(name="policy.scripts", kind=SettingKind.TEXT, held=Held.STRICTEST, order=_VERDICTS, default="allow", text="scripts of skills, in the sandbox: allow, ask or deny"),
        SettingKey(name="policy.network", kind=SettingKind.TEXT, held=Held.STRICTEST, order=_VERDICTS, default="ask", text="hosts that scripts want to reach: allow, ask or deny"),
        SettingKey(name="policy.secrets", kind=SettingKind.TEXT, held=Held.STRICTEST, order=_VERDICTS, default="ask", text="stored secrets for the skills that need them: allow, ask or deny"),
        SettingKey(name="policy.toolsets", kind=SettingKind.TEXT, held=Held.STRICTEST, order=_VERDICTS, default="ask", text="Python toolsets inside the agent's own process: allow, ask or deny"),
        SettingKey(name="policy.tools", kind=SettingKind.TEXT, held=Held.STRICTEST, order=_VERDICTS, default="ask", text="tools of the host that a skill asks for: allow, ask or deny"),
        SettingKey(name="policy.packages", kind=SettingKind.TEXT, held=Held.STRICTEST, order=_VERDICTS, default="ask", text="fetching the packages that scripts declare: allow, ask or deny"),
        SettingKey(name="policy.workspace.read", kind=SettingKind.TEXT, held=Held.STRICTEST, order=_VERDICTS, default="ask", text="scripts in the current folder, without its hidden files: allow, ask or deny"),
        SettingKey(name="policy.workspace.write", kind=SettingKind.TEXT, held=Held.STRICTEST, order=_VERDICTS, default="ask", text="changes of scripts to the current folder: allow, ask or deny"),
        SettingKey(name="workspace.hide", kind=SettingKind.LIST, held=Held.UNION, default=(), text="files that scripts do not see in a workspace, as in .gitignore, besides .env*, keys and the like"),
        SettingKey(name="sandbox.require", kind=SettingKind.TEXT, held=Held.STRICTEST, order=("off", "limits", "landlock", "seatbelt", "namespace"), default="landlock", text="the minimum isolation level: namespace, landlock, limits or off"),
        SettingKey(name="sandbox.runner", kind=SettingKind.TEXT, default="sandbox", text="what runs scripts: sandbox, or container for podman or docker"),
        SettingKey(name="sandbox.image", kind=SettingKind.TEXT, default="", text="the image of containers, NAME@sha256:...; if empty, this machine's own system folders"),
        SettingKey(name="sandbox.allow_tags", kind=SettingKind.BOOLEAN, default=False, text="accept an image that is named by a tag, which can change"),
        SettingKey(name="sandbox.container_engine", kind=SettingKind.TEXT, default="auto", text="podman, docker or auto: podman if it is installed"),
        SettingKey(name="sandbox.container_options", kind=SettingKind.LIST, default=(), text="options of the engine's program, such as --runtime=runc; if empty, found by trying"),
        SettingKey(name="sandbox.environment", kind=SettingKind.LIST, default=(), text="environment variables that scripts may see, by name"),
        SettingKey(name="sandbox.output_bytes", kind=SettingKind.NUMBER, default=1024 * 1024, least=1, text="maximum output of a script, stdout and stderr together"),
        SettingKey(name="sandbox.memory_bytes", kind=SettingKind.NUMBER, default=1024 * 1024 * 1024, least=1024 * 1024, text="memory of a script"),
        SettingKey(name="budget.session_activations", kind=SettingKind.NUMBER, default=0, least=0, text="activations of one session; 0 is no limit, as for all budgets"),
        SettingKey(name="budget.session_tokens", kind=SettingKind.NUMBER, default=0, least=0, text="tokens of instructions given to a model in one session"),
        SettingKey(name="budget.session_script_seconds", kind=SettingKind.NUMBER, default=0, least=0, text="seconds that scripts of one session may run"),
        SettingKey(name="budget.skill_activations", kind=SettingKind.NUMBER, default=0, least=0, text="activations of one skill in a session"),
        SettingKey(name="budget.skill_tokens", kind=SettingKind.NUMBER, default=0, least=0, text="tokens of one skill's instructions in a session"),
        SettingKey(name="budget.skill_script_seconds", kind=SettingKind.NUMBER, default=0, least=0, text="seconds that one skill's scripts may run in a session"),
        SettingKey(name="secrets.store", kind=SettingKind.TEXT, default="auto", text="where new secrets are kept: keyring, file, passphrase (a file encrypted with one), or auto for the keyring if there is one"),
        SettingKey(name="telemetry.enabled", kind=SettingKind.BOOLEAN, default=False, text="send traces and metrics by OTLP; OTEL_EXPORTER_OTLP_ENDPOINT says where"),
        SettingKey(name="telemetry.metrics", kind=SettingKind.BOOLEAN, default=True, text="send metrics too; some services take only traces"),
        SettingKey(name="telemetry.content", kind=SettingKind.BOOLEAN, default=False, text="also send the text of messages and skills"),
        SettingKey(name="model.name", kind=SettingKind.TEXT, text="the model for chat, agents and evals: openai:NAME, anthropic:NAME, or a name that base_url knows"),
        SettingKey(name="model.base_url", kind=SettingKind.TEXT, variables=("OPENAI_BASE_URL",), text="an OpenAI-compatible server to use instead of the provider's own"),
        SettingKey(name="model.key_variable", kind=SettingKind.TEXT, text="the environment variable that holds the key; by default the provider's (OPENAI_API_KEY, ANTHROPIC_API_KEY)"),
        SettingKey(name="registry.db", kind=SettingKind.TEXT, variables=("METIER_DB",), text="where your own registry keeps rows: sqlite:///path or postgresql://…"),
        SettingKey(name="registry.blobs", kind=SettingKind.TEXT, variables=("METIER_BLOBS",), text="where it keeps archives: file:///path or s3://bucket?endpoint=…"),
        SettingKey(name="registry.url", kind=SettingKind.TEXT, default="", text="its public URL, if it differs from the address it listens on"),
        SettingKey(name="registry.rate_limits", kind=SettingKind.BOOLEAN, default=True, text="limit the number of requests per client"),
        SettingKey(name="registry.proxy_blobs", kind=SettingKind.BOOLEAN, default=False, text="send bytes of an object store itself instead of pointing to it"),
        SettingKey(name="registry.name", kind=SettingKind.TEXT, default="", text="its name on the pages; if empty, its address"),
        SettingKey(name="registry.welcome", kind=SettingKind.TEXT, default="", text="a sentence on its start page"),
        SettingKey(name="registry.logo", kind=SettingKind.TEXT, default="", text="an SVG or PNG file of at most 256 KiB instead of metier's icon"),
        SettingKey(name="registry.log", kind=SettingKind.TEXT, default="errors", text="its log on stderr: errors, or every request too as text or json"),
        SettingKey(name="registry.public_metrics", kind=SettingKind.BOOLEAN, default=False, text="answer /metrics without a token"),
        SettingKey(name="registry.run_uploads", kind=SettingKind.BOOLEAN, default=False, text="run uploaded skills in the sandbox and show what they do; needs isolation level namespace"),
        SettingKey(name="registry.token_days", kind=SettingKind.NUMBER, default=0, least=0, text="days until a new token expires, unless its creator chooses; 0 for never"),
        SettingKey(name="registry.review", kind=SettingKind.BOOLEAN, default=False, text="uploads wait for a reviewer in every namespace; else each namespace decides"),
        SettingKey(name="registry.self_review", kind=SettingKind.BOOLEAN, default=False, text="let reviewers approve their own uploads"),
        SettingKey(name="registry.cooldown", kind=SettingKind.TEXT, default="0", text="time for which a new version is installed only by its exact version, such as 24h or 3d; 0 for none"),
        SettingKey(name="registry.draft_days", kind=SettingKind.NUMBER, default=0, least=0, text="`metier registry gc` deletes drafts after this many days; 0 for never"),
        SettingKey(name="registry.prerelease_days", kind=SettingKind.NUMBER, default=0, least=0, text="`metier registry gc` deletes prereleases this many days after they were yanked; 0 for never"),
        SettingKey(name="registry.oidc.issuer", kind=SettingKind.TEXT, default="", text="single sign-on: the address of the OpenID provider; empty for none"),
        SettingKey(name="registry.oidc.client_id", kind=SettingKind.TEXT, default="", text="the registry's name at the provider"),
        SettingKey(name="registry.oidc.client_secret", kind=SettingKind.TEXT, default="", text="its secret there, best by the environment variable; empty for a public client"),
        SettingKey(name="registry.oidc.groups_claim", kind=SettingKind.TEXT, default="groups", text="the claim with the groups of a person"),
        SettingKey(name="registry.oidc.roles", kind=SettingKind.TABLE, text="the scopes of each group: [registry.oidc.roles] team-a = [\"publish:team-a\", \"read\"]; \"*\" is everyone"),
        SettingKey(name="registry.oidc.allowed_domains", kind=SettingKind.LIST, default=(), text="domains of verified email addresses that may sign in; empty for all"),
        SettingKey(name="registry.trusted_issuers", kind=SettingKind.LIST, default=("https://token.actions.githubusercontent.com", "https://gitlab.com"), text="trusted publishing: the issuers of ID tokens of CI jobs; no other is contacted"),
        SettingKey(name="engine.selection", kind=SettingKind.TEXT, default="local", text="how skills are picked for a message: local, or llm to let the model choose from the shortlist"),
        SettingKey(name="engine.catalog_tokens", kind=SettingKind.NUMBER, default=4_000, least=0, text="tokens of the list of skills in the system prompt"),
        SettingKey(name="engine.context_tokens", kind=SettingKind.NUMBER, default=100_000, least=1_000, text="tokens of one request; older turns beyond that are compacted"),
        SettingKey(name="engine.compaction", kind=SettingKind.TEXT, default="drop", text="how turns that no longer fit are replaced: drop for a note, model for a summary by the model"),
        SettingKey(name="engine.tools", kind=SettingKind.BOOLEAN, default=True, text="offer run and chat general tools: files of the workspace, commands and Python code, in the sandbox"),
        SettingKey(name="engine.steps", kind=SettingKind.NUMBER, default=30, least=1, text="maximum model requests in one turn"),
        SettingKey(name="engine.turn_tokens", kind=SettingKind.NUMBER, default=0, least=0, text="tokens that one turn may use; 0 is no limit"),
        SettingKey(name="engine.session_tokens", kind=SettingKind.NUMBER, default=0, least=0, text="tokens that a whole conversation may use; 0 is no limit"),
        SettingKey(name="engine.retries", kind=SettingKind.NUMBER, default=4, least=0, text="how often a failed model request is retried"),
        SettingKey(name="cache.enabled", kind=SettingKind.BOOLEAN, project=True, default=True, text="cache the contents of SKILL.md files between runs"),
    )
}  # fmt: skip
