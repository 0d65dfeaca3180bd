"""The table of all commands: where each one lives, and its one-line help.

`metier --help` is printed from this table alone, and a command's module is imported only when the command is used.
"""

from __future__ import annotations

__all__ = ["DEFAULTS", "GROUPS", "usage"]

GROUPS: dict[str, dict[str, tuple[str, str]]] = {
    "": {
        "skill": ("", "Write, check, find and list skills."),
        "agent": ("", "Manage agents and their versions."),
        "chat": ("metier.cli.chat.chat:chat", "Chat with an agent that uses your skills."),
        "run": ("metier.cli.run:run", "Run a single request with your skills."),
        "prompt": ("metier.cli.prompt:prompt", "Print the part of a prompt that describes your skills."),
        "mcp": ("", "Serve skills over MCP, and use those of other servers."),
        "session": ("", "List, show and clear sessions."),
        "policy": ("", "Show and change what skills may do."),
        "stats": ("metier.cli.stats:stats", "Show usage: activations, tokens, scripts."),
        "registry": ("", "Run your own registry."),
        "login": ("metier.cli.login:login", "Log in to a registry."),
        "logout": ("metier.cli.login:logout", "Remove the stored token of a registry."),
        "trust": ("metier.cli.trust:trust", "Trust a project folder, so that its skills are used."),
        "config": ("", "Show and change settings."),
        "cache": ("", "Show and clean the cache of downloaded skills."),
        "doctor": ("metier.cli.doctor:doctor", "Check this machine, its settings and its skills."),
        "completion": ("metier.cli.completion:completion", "Print a completion script for your shell."),
    },
    "skill": {
        "create": ("metier.cli.skill.create:create", "Create a new skill."),
        "install": ("metier.cli.skill.install:install", "Install skills from anywhere, or restore the lock."),
        "search": ("metier.cli.skill.search:search", "Search a registry for skills."),
        "info": ("metier.cli.skill.info:info", "Show a skill of a registry."),
        "versions": ("metier.cli.skill.versions:versions", "List all versions of a skill in a registry."),
        "publish": ("metier.cli.skill.publish:publish", "Publish a skill to a registry."),
        "yank": ("metier.cli.skill.yank:yank", "Withdraw a version from a registry."),
        "unyank": ("metier.cli.skill.yank:unyank", "Undo a yank."),
        "list": ("metier.cli.skill.list:list_skills", "List every skill on this machine with its state."),
        "show": ("metier.cli.skill.show:show", "Show one skill, or the state of all of them."),
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
        "optimize": ("metier.cli.skill.optimize:optimize", "Propose a better description from failed trigger evals."),
        "conflicts": ("metier.cli.skill.conflicts:conflicts", "Find skills that compete for the same requests."),
        "fix": ("metier.cli.skill.fix:fix", "Fix mechanical problems and change nothing else."),
        "explain": ("metier.cli.skill.explain:explain", "Explain a problem code."),
        "enable": ("metier.cli.skill.enable:enable", "Enable a skill."),
        "disable": ("metier.cli.skill.enable:disable", "Disable a skill without removing it."),
        "delete": ("metier.cli.skill.delete:delete", "Delete a skill's folder."),
        "remove": ("metier.cli.skill.remove:remove", "Remove an installed skill: folder, lock and agents."),
        "verify": ("metier.cli.skill.verify:verify", "Compare installed skills with the lock."),
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
    "policy": {
        "show": ("metier.cli.policy:show", "Show what skills may do."),
        "allow": ("metier.cli.policy:allow", "Allow a tool pattern, for all skills or one."),
        "deny": ("metier.cli.policy:deny", "Deny a tool pattern for all skills, or revoke an approval of one."),
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
        "token": ("", "Create, list and revoke tokens of your registry."),
        "stats": ("metier.cli.registry.stats:stats", "Show registry statistics."),
        "migrate": ("metier.cli.registry.migrate:migrate", "Copy a registry to other engines."),
        "backup": ("metier.cli.registry.backup:backup", "Copy a registry into a folder."),
        "restore": ("metier.cli.registry.restore:restore", "Restore a backup of a registry."),
        "gc": ("metier.cli.registry.gc:gc", "Delete archives that no release uses."),
    },
    "registry key": {
        "new": ("metier.cli.registry.key:new", "Create a signing key."),
        "show": ("metier.cli.registry.key:show", "Show the public half of your key."),
        "register": ("metier.cli.registry.key:register", "Register your key with a registry."),
    },
    "registry token": {
        "create": ("metier.cli.registry.token:create", "Create a token; it is shown once."),
        "list": ("metier.cli.registry.token:list_all", "List all tokens by their prefix."),
        "revoke": ("metier.cli.registry.token:revoke", "Revoke a token."),
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
_ABOUT = {
    "": "metier gives any agent the right skill at the right moment, safely.",
    "skill": "Write, check, find and list skills.",
    "agent": "Manage agents and their versions.",
    "agent skill": "Add, remove and list the skills of an agent.",
    "session": "List, show and clear sessions.",
    "policy": "Show and change what skills may do.",
    "mcp": "Serve skills over the Model Context Protocol, and use those of other servers.",
    "skill manage": "Enable, disable, update, remove and list skills.",
    "registry": "Run your own registry.",
    "registry key": "Manage the key that signs your releases.",
    "registry token": "Create, list and revoke tokens of your registry.",
    "cache": "Show and clean the cache of downloaded skills.",
    "config": "Show and change settings.",
}


def usage(group: str) -> str:
    """Returns the help page of a group."""
    program = f"metier {group}".strip()
    rows = GROUPS[group]
    width = max(map(len, rows)) + 2
    lines = [f"Usage: {program} COMMAND [ARGUMENTS]", "", f"  {_ABOUT[group]}", "", "Commands:"]
    lines += [f"  {name:<{width}}{text}" for name, (_, text) in rows.items()]
    lines += ["", "Options:", f"  {'--help':<{width}}Show this page; every command has one."]
    if not group:
        lines.append(f"  {'--version':<{width}}Print the version.")
    return "\n".join(lines)
