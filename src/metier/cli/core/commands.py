"""The table of all commands: where each one lives, its one-line help, its section on a help page, and its other names.

`metier --help` is printed from this table alone, and a command's module is imported only when the command is used.
"""

from __future__ import annotations

__all__ = ["ALIASES", "DEFAULTS", "GROUPS", "SECTIONS", "about_group", "expand_words", "find_command", "usage"]

GROUPS: dict[str, dict[str, tuple[str, str]]] = {
    "": {
        "skill": ("", "Write, check, find and list skills."),
        "agent": ("", "Manage agents and their versions."),
        "chat": ("metier.cli.chat.chat:chat", "Chat with an agent that uses your skills."),
        "run": ("metier.cli.run:run", "Run a single request with your skills."),
        "prompt": ("metier.cli.prompt:prompt", "Print the part of a prompt that describes your skills."),
        "mcp": ("", "Serve skills over MCP, and use those of other servers."),
        "hook": ("", "Let other agents find the skill that fits each prompt."),
        "session": ("", "List, show and clear sessions."),
        "workspace": ("", "Show and apply changes of scripts to your folders."),
        "policy": ("", "Show and change what skills may do."),
        "stats": ("metier.cli.stats:stats", "Show usage of skills, here and in other agents."),
        "secret": ("", "Store keys and passwords for skills."),
        "registry": ("", "Run your own registry."),
        "login": ("metier.cli.login:login", "Log in to a registry."),
        "logout": ("metier.cli.login:logout", "Remove the stored token of a registry."),
        "trust": ("metier.cli.trust:trust", "Trust a project folder, so that its skills are used."),
        "config": ("", "Show and change settings."),
        "cache": ("", "Show and clean the cache of downloaded skills."),
        "doctor": ("metier.cli.doctor:doctor", "Check this machine, its settings and its skills."),
        "completion": ("metier.cli.completion:completion", "Print a completion script for your shell."),
        "man": ("metier.cli.man:man", "Write the manual pages of all commands."),
    },
    "skill": {
        "create": ("metier.cli.skill.create:create", "Create a new skill."),
        "convert": ("metier.cli.skill.convert:convert", "Make skills of rules, commands and prompts."),
        "install": ("metier.cli.skill.install:install", "Install skills from anywhere, or restore the lock."),
        "import": ("metier.cli.skill.import_:import_file", "Install what the lock of another installer pins."),
        "try": ("metier.cli.skill.try_:try_it", "Read, scan and run a skill without installing it."),
        "search": ("metier.cli.skill.search:search", "Search a registry for skills."),
        "info": ("metier.cli.skill.info:info", "Show a skill of a registry."),
        "versions": ("metier.cli.skill.versions:versions", "List all versions of a skill in a registry."),
        "publish": ("metier.cli.skill.publish:publish", "Publish a skill to a registry."),
        "export": ("metier.cli.skill.export:export", "Export skills as a plugin, an archive, a site or another lock."),
        "yank": ("metier.cli.skill.yank:yank", "Withdraw a version from a registry."),
        "unyank": ("metier.cli.skill.yank:unyank", "Undo a yank."),
        "list": ("metier.cli.skill.list:list_skills", "List every skill on this machine with its state."),
        "show": ("metier.cli.skill.show:show", "Show a skill, here or at its source, or the state of all of them."),
        "select": ("metier.cli.skill.select:select", "Pick the skills that fit a request."),
        "activate": ("metier.cli.skill.activate:activate", "Print the text that a model gets when a skill is activated."),
        "resources": ("metier.cli.skill.resources:resources", "List the files of a skill."),
        "read": ("metier.cli.skill.read:read", "Print one file of a skill."),
        "run": ("metier.cli.skill.run:run_script", "Run a script of a skill in a sandbox."),
        "validate": ("metier.cli.skill.validate:validate", "Check skills against the standard."),
        "lint": ("metier.cli.skill.lint:lint", "Check skills against the standard and good practice."),
        "scan": ("metier.cli.skill.scan:scan", "Report what a skill can do and whether it looks safe."),
        "test": ("metier.cli.skill.test:test", "Run a skill's own tests in the sandbox."),
        "eval": ("metier.cli.skill.eval:evaluate", "Measure whether a skill triggers when it should, and helps when it does."),
        "bisect": ("metier.cli.skill.bisect:bisect", "Find the version of a skill that broke its evals."),
        "optimize": ("metier.cli.skill.optimize:optimize", "Propose a better description from failed trigger evals."),
        "conflicts": ("metier.cli.skill.conflicts:conflicts", "Find skills that compete for the same requests."),
        "missed": ("metier.cli.skill.missed:missed", "Find requests in your agents for which a skill should have been loaded."),
        "learn": ("metier.cli.skill.learn:learn", "Draft a skill from a session."),
        "bench": ("metier.cli.skill.bench:bench", "Measure how well your skills are found."),
        "fit": ("metier.cli.skill.fit:fit", "Make your skills fit into the list of another agent."),
        "fix": ("metier.cli.skill.fix:fix", "Fix mechanical problems and change nothing else."),
        "explain": ("metier.cli.skill.explain:explain", "Explain a problem code."),
        "enable": ("metier.cli.skill.enable:enable", "Enable a skill."),
        "disable": ("metier.cli.skill.enable:disable", "Disable a skill without removing it."),
        "delete": ("metier.cli.skill.delete:delete", "Delete a skill that you wrote."),
        "remove": ("metier.cli.skill.remove:remove", "Remove an installed skill: folder, lock and agents."),
        "audit": ("metier.cli.skill.audit:audit", "Show what installed skills can do, what they did, and which are unused."),
        "verify": ("metier.cli.skill.verify:verify", "Compare installed skills with the lock."),
        "sbom": ("metier.cli.skill.sbom:sbom", "Print a software bill of materials of installed skills (CycloneDX)."),
        "prepare": ("metier.cli.skill.prepare:prepare", "Fetch the packages that scripts declare, pinned and verified."),
        "outdated": ("metier.cli.skill.outdated:outdated", "Show which installed skills have a newer version."),
        "update": ("metier.cli.skill.update:update", "Install newer versions, and show what changed."),
        "pin": ("metier.cli.skill.pin:pin", "Keep a skill at its version."),
        "unpin": ("metier.cli.skill.pin:unpin", "Let a skill be updated again."),
        "sync": ("metier.cli.skill.sync:sync", "Repair links and copies of installed skills."),
        "manage": ("", "Enable, disable, update, remove and list skills."),
    },
    "skill manage": {
        "enable": ("metier.cli.skill.enable:enable", "Enable a skill."),
        "disable": ("metier.cli.skill.enable:disable", "Disable a skill without removing it."),
        "update": ("metier.cli.skill.update:update", "Install newer versions, and show what changed."),
        "remove": ("metier.cli.skill.remove:remove", "Remove an installed skill: folder, lock and agents."),
        "list": ("metier.cli.skill.manage_list:list_plugins", "List installed plugins."),
    },
    "agent": {
        "create": ("metier.cli.agent.create:create", "Create an agent."),
        "list": ("metier.cli.agent.list:list_agents", "List agents."),
        "show": ("metier.cli.agent.show:show", "Show an agent as TOML."),
        "edit": ("metier.cli.agent.edit:edit", "Change an agent, by options or in your editor."),
        "delete": ("metier.cli.agent.delete:delete", "Delete an agent and all of its versions."),
        "history": ("metier.cli.agent.history:history", "List every version of an agent."),
        "diff": ("metier.cli.agent.diff:diff", "Show the changes between two versions."),
        "rollback": ("metier.cli.agent.rollback:rollback", "Restore an earlier version of an agent."),
        "export": ("metier.cli.agent.export:export", "Export an agent as one file."),
        "import": ("metier.cli.agent.import_:import_agent", "Import an exported agent."),
        "skill": ("", "Add, remove and list the skills of an agent."),
    },
    "agent skill": {
        "add": ("metier.cli.agent.skill:add", "Add skills to an agent."),
        "remove": ("metier.cli.agent.skill:remove", "Remove skills from an agent."),
        "list": ("metier.cli.agent.skill:list_skills", "List the skills of an agent."),
    },
    "session": {
        "list": ("metier.cli.session:list_sessions", "List stored sessions."),
        "show": ("metier.cli.session:show", "Show the active skills of a session."),
        "clear": ("metier.cli.session:clear", "Delete a session, or all of them."),
    },
    "workspace": {
        "list": ("metier.cli.workspace:list_changes", "List changes that wait to be applied."),
        "show": ("metier.cli.workspace:show", "Show the changes of an earlier run."),
        "apply": ("metier.cli.workspace:apply", "Apply the changes of an earlier run."),
        "discard": ("metier.cli.workspace:discard", "Forget the changes of an earlier run."),
    },
    "policy": {
        "show": ("metier.cli.policy:show", "Show what skills may do."),
        "allow": ("metier.cli.policy:allow", "Allow a tool pattern, for all skills or one."),
        "deny": ("metier.cli.policy:deny", "Deny a tool pattern for all skills, or revoke an approval of one."),
    },
    "secret": {
        "set": ("metier.cli.secret:set_secret", "Store a secret for skills."),
        "list": ("metier.cli.secret:list_secrets", "List stored secrets, without their values."),
        "remove": ("metier.cli.secret:remove", "Remove a stored secret."),
    },
    "hook": {
        "install": ("metier.cli.hook.install:install", "Add the hook to your agents."),
        "status": ("metier.cli.hook.status:status", "Show which agents have the hook, and what it sees."),
        "uninstall": ("metier.cli.hook.uninstall:uninstall", "Remove the hook from your agents."),
        "run": ("metier.cli.hook.run:run", "Answer one prompt; agents start this."),
    },
    "mcp": {
        "serve": ("metier.cli.mcp.serve:serve", "Serve your skills; `metier mcp` alone does the same."),
        "install": ("metier.cli.mcp.install:install", "Configure a client to start the server."),
        "list": ("metier.cli.mcp.list:list_servers", "List the MCP servers whose skills you use."),
        "refresh": ("metier.cli.mcp.refresh:refresh", "Fetch the listings of those servers again."),
    },
    "registry": {
        "serve": ("metier.cli.registry.serve:serve", "Serve a registry of skills."),
        "key": ("", "Manage the key that signs your releases."),
        "advisory": ("", "Manage what a registry knows to be bad."),
        "token": ("", "Create, list and revoke tokens of your registry."),
        "trusted-publisher": ("", "Manage the CI jobs that may publish without a stored token."),
        "review": ("", "Review uploads before they are online."),
        "invite": ("metier.cli.registry.invite:invite", "Make a link that invites one person."),
        "user": ("", "List and disable the people who sign in."),
        "stats": ("metier.cli.registry.stats:stats", "Show registry statistics."),
        "migrate": ("metier.cli.registry.migrate:migrate", "Copy a registry to other engines."),
        "backup": ("metier.cli.registry.backup:backup", "Copy a registry into a folder."),
        "export": ("metier.cli.registry.export:export", "Write the public skills as a static folder for any web server."),
        "restore": ("metier.cli.registry.restore:restore", "Restore a backup of a registry."),
        "bundle": ("metier.cli.registry.bundle:bundle", "Write skills and their dependencies into one file."),
        "unbundle": ("metier.cli.registry.unbundle:unbundle", "Import such a file into a registry."),
        "rescan": ("metier.cli.registry.rescan:rescan", "Scan every release again with the rules of today."),
        "reindex": ("metier.cli.registry.reindex:reindex", "Write the search index again."),
        "gc": ("metier.cli.registry.gc:gc", "Delete archives that no release uses."),
    },
    "registry key": {
        "new": ("metier.cli.registry.key:new", "Create a signing key."),
        "show": ("metier.cli.registry.key:show", "Show the public half of your key."),
        "register": ("metier.cli.registry.key:register", "Register your key with a registry."),
    },
    "registry advisory": {
        "list": ("metier.cli.registry.advisory:list_all", "List the advisories of a registry, verified."),
        "add": ("metier.cli.registry.advisory:add", "Add an advisory, and quarantine what it names."),
        "withdraw": ("metier.cli.registry.advisory:withdraw", "Withdraw an advisory."),
        "trust": ("metier.cli.registry.advisory:trust", "Accept another key, or an older list, of a registry."),
        "key": ("metier.cli.registry.advisory:key", "Show or replace the key that signs your registry's advisories."),
    },
    "registry token": {
        "create": ("metier.cli.registry.token:create", "Create a token; it is shown once."),
        "list": ("metier.cli.registry.token:list_all", "List all tokens by their prefix."),
        "revoke": ("metier.cli.registry.token:revoke", "Revoke a token."),
    },
    "registry trusted-publisher": {
        "add": ("metier.cli.registry.trusted_publisher:add", "Let a CI job publish in a namespace."),
        "list": ("metier.cli.registry.trusted_publisher:list_all", "List the CI jobs that may publish."),
        "remove": ("metier.cli.registry.trusted_publisher:remove", "Remove a trusted publisher."),
    },
    "registry review": {
        "list": ("metier.cli.registry.review:list_all", "List drafts and versions in review."),
        "show": ("metier.cli.registry.review:show", "Show what a reviewer looks at."),
        "approve": ("metier.cli.registry.review:approve", "Put a version online."),
        "return": ("metier.cli.registry.review:return_to_draft", "Return a version with a comment."),
        "submit": ("metier.cli.registry.review:submit", "Submit a draft."),
        "withdraw": ("metier.cli.registry.review:withdraw", "Delete a draft or a version in review."),
        "require": ("metier.cli.registry.review:require", "Say whether uploads of a namespace wait for a review."),
    },
    "registry user": {
        "list": ("metier.cli.registry.user:list_all", "List the people who have signed in."),
        "disable": ("metier.cli.registry.user:disable", "Disable a user, and end their sessions and tokens."),
        "enable": ("metier.cli.registry.user:enable", "Enable a disabled user."),
    },
    "cache": {
        "info": ("metier.cli.cache:info", "Show the location and size of the cache."),
        "clean": ("metier.cli.cache:clean", "Delete downloaded skills."),
    },
    "config": {
        "show": ("metier.cli.config:show", "Show every setting and where it came from."),
        "get": ("metier.cli.config:get", "Print one setting."),
        "set": ("metier.cli.config:set_setting", "Change one setting."),
        "unset": ("metier.cli.config:unset_setting", "Reset a setting to its default."),
        "path": ("metier.cli.config:path", "Print the path of the configuration file."),
    },
}
DEFAULTS = {"mcp": "serve"}
"""The command that runs when a group is called without one; MCP clients start `metier mcp`."""
ALIASES: dict[str, dict[str, str]] = {
    "": {
        "install": "skill install",
        "add": "skill install",
        "list": "skill list",
        "ls": "skill list",
        "search": "skill search",
        "find": "skill search",
        "update": "skill update",
        "upgrade": "skill update",
        "remove": "skill remove",
        "rm": "skill remove",
        "uninstall": "skill remove",
        "new": "skill create",
        "init": "skill create",
        "create": "skill create",
        "publish": "skill publish",
        "skills": "skill",
        "agents": "agent",
        "sessions": "session",
        "secrets": "secret",
    },
    "skill": {
        "add": "skill install",
        "rm": "skill remove",
        "uninstall": "skill remove",
        "ls": "skill list",
        "new": "skill create",
        "init": "skill create",
        "find": "skill search",
        "upgrade": "skill update",
    },
    "agent": {"ls": "agent list", "new": "agent create", "rm": "agent delete", "remove": "agent delete"},
    "session": {"ls": "session list", "rm": "session clear"},
    "secret": {"add": "secret set", "ls": "secret list", "rm": "secret remove", "delete": "secret remove"},
    "config": {"list": "config show", "ls": "config show"},
}
"""Other names by group, each with the full name of its command."""
SECTIONS: dict[str, tuple[tuple[str, tuple[str, ...]], ...]] = {
    "": (
        ("Use skills", ("install", "list", "search", "update", "remove")),
        ("Write skills", ("new", "publish", "skill")),
        ("Work with a model", ("run", "chat", "agent", "prompt", "hook", "mcp", "session", "workspace", "stats")),
        ("Share skills", ("registry", "login", "logout")),
        ("Set up", ("trust", "policy", "secret", "config", "doctor", "cache", "completion", "man")),
    ),
    "skill": (
        (
            "Find and use",
            (
                "list",
                "show",
                "select",
                "activate",
                "resources",
                "read",
                "run",
                "enable",
                "disable",
                "conflicts",
            ),
        ),
        (
            "Install and update",
            (
                "try",
                "install",
                "import",
                "update",
                "outdated",
                "remove",
                "pin",
                "unpin",
                "verify",
                "audit",
                "sbom",
                "prepare",
                "sync",
                "manage",
            ),
        ),
        ("Write and check", ("create", "convert", "learn", "validate", "lint", "fix", "explain", "scan", "delete")),
        ("Test and improve", ("test", "eval", "bench", "missed", "fit", "bisect", "optimize")),
        ("Share", ("search", "info", "versions", "publish", "yank", "unyank", "export")),
    ),
}
"""The commands of a long help page, by task. Other pages have one list."""
_ABOUT = {
    "": "metier gives any agent the right skill at the right moment, safely.",
    "mcp": "Serve skills over the Model Context Protocol, and use those of other servers.",
}
_GLOBAL_OPTIONS = (
    ("--json", "Print one JSON object, for programs."),
    ("--skills-dir PATH", "Search this folder instead of the project's own, and trust it."),
    ("-h, --help", "Show the help of a command, with examples."),
)


def find_command(group: str, name: str) -> tuple[str, str] | None:
    """Returns group and name of a command, also by one of its other names; None if the group has no such command."""
    if name in GROUPS[group]:
        return group, name
    full = ALIASES.get(group, {}).get(name)
    if full is None:
        return None
    path, _, last = full.rpartition(" ")
    return path, last


def expand_words(words: list[str]) -> list[str]:
    """Returns the command line with full names: `ls` is `skill list`, `help chat` is `chat --help`.

    Global options that stand before the command are moved behind it.
    """
    options, rest = _split_global_options(words)
    if rest[:1] in (["help"], ["version"]):
        rest = [*rest[1:], "--help"] if rest[0] == "help" else ["--version"]
    path, used = "", 0
    for word in rest:
        found = find_command(path, word) if path in GROUPS else None
        if found is None:
            break
        path, used = " ".join(filter(None, found)), used + 1
    if used and rest[used:] == ["help"] and path in GROUPS:
        rest[used:] = ["--help"]
    return [*path.split(), *options, *rest[used:]]


def usage(group: str) -> str:
    """Returns the help page of a group."""
    program = f"metier {group}".strip()
    sections = SECTIONS.get(group) or (("Commands", tuple(GROUPS[group])),)
    options = (*_GLOBAL_OPTIONS, ("-V, --version", "Print the version.")) if not group else _GLOBAL_OPTIONS[-1:]
    width = max(len(name) for _, names in sections for name in names) + 2
    lines = [f"Usage: {program} COMMAND [ARGUMENTS]", "", f"  {about_group(group)}"]
    for title, names in sections:
        lines += ["", f"{title}:", *(f"  {name:<{width}}{_one_line_help(group, name)}" for name in names)]
    width = max(len(name) for name, _ in options) + 2
    lines += ["", "Options:" if group else "Options of every command:"]
    lines += [f"  {name:<{width}}{text}" for name, text in options]
    from .examples import EXAMPLES

    return "\n".join([*lines, "", "Examples:", *(f"  {example}" for example in EXAMPLES[group])])


def about_group(group: str) -> str:
    """Returns the one line that describes a group."""
    parent, _, name = group.rpartition(" ")
    return _ABOUT.get(group) or GROUPS[parent][name][1]


def _one_line_help(group: str, name: str) -> str:
    path, last = find_command(group, name) or ("", "")
    return GROUPS[path][last][1]


def _split_global_options(words: list[str]) -> tuple[list[str], list[str]]:
    """Splits off the global options that stand before the command."""
    used = 0
    while used < len(words):
        if words[used] == "--json" or words[used].startswith("--skills-dir="):
            used += 1
        elif words[used] == "--skills-dir" and used + 1 < len(words):
            used += 2
        else:
            break
    return words[:used], words[used:]
