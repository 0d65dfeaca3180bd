"""Sessions over the local skills: their store, permissions, limits and script runner."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping
from functools import cached_property
from typing import TYPE_CHECKING

from metier.values import dataclass, replace

if TYPE_CHECKING:
    from metier.catalog import Catalog
    from metier.config import Settings
    from metier.mcp import OpenSession, SkillWatcher
    from metier.runtime import (
        ApprovalHook,
        ContainerRunner,
        FindCapabilities,
        Interpreters,
        Permissions,
        Runner,
        SecretStore,
        SelectionPrior,
        Session,
        SessionOptions,
        SessionServices,
        SkillSelector,
        SqlSessionStore,
        StoredApprovals,
        Telemetry,
        Workspace,
    )

    from .packages import Packages
    from .paths import Paths
    from .registries import Registries
    from .skills import LocalSkills

__all__ = ["Sessions"]

_SYSTEM_PATH = "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin"


@dataclass(frozen=True, kw_only=True)
class Sessions:
    paths: Paths
    settings: Settings
    environment: Mapping[str, str]
    skills: LocalSkills
    packages: Packages
    find_capabilities: FindCapabilities
    registries: Registries

    @cached_property
    def store(self) -> SqlSessionStore:
        from metier.runtime import SqlSessionStore

        return SqlSessionStore(self.settings.path("session.store") or self.paths.at("sessions.sqlite"))

    @property
    def shared_database(self) -> str | None:
        """The address of the database that holds sessions, conversations and approvals for several machines, if any."""
        from metier.runtime import is_address

        location = self.settings.path("session.store") or ""
        return location if is_address(location) else None

    @cached_property
    def prior(self) -> SelectionPrior:
        """The user's corrections of the selection."""
        from metier.runtime import SelectionPrior

        return SelectionPrior(self.paths.at("corrections.json"))

    @property
    def is_writable(self) -> bool:
        """Returns True if sessions and usage can be recorded; False for a read-only home."""
        import os

        if self.shared_database:
            return True
        path = self.store.location
        folder = os.path.dirname(path)
        while not os.path.exists(folder) and folder != os.path.dirname(folder):
            folder = os.path.dirname(folder)
        return os.access(folder, os.W_OK) and (not os.path.exists(path) or os.access(path, os.W_OK))

    @cached_property
    def approvals(self) -> StoredApprovals:
        from metier.runtime import FileApprovals, SqlApprovals

        shared = self.shared_database
        return SqlApprovals(shared) if shared else FileApprovals(self.paths.at("approvals.json"))

    @cached_property
    def secrets(self) -> SecretStore:
        from metier.config import one_of
        from metier.runtime import SecretStore, VaultKind

        passphrase = self.environment.get("METIER_SECRETS_PASSPHRASE")
        ask = (lambda _: passphrase) if passphrase else _ask_passphrase()
        is_auto = self.settings["secrets.store"].value == "auto"
        kind = None if is_auto else one_of(self.settings, "secrets.store", VaultKind)
        return SecretStore(self.paths.at("secrets.json"), kind=kind, ask=ask)

    def permissions(self, approve: ApprovalHook | None = None) -> Permissions:
        """Returns what the user allows. `approve` decides the rest; without it the rest is refused."""
        import os

        from metier.config import one_of, patterns
        from metier.runtime import PathContext, Permissions, Policy, PolicyVerdict
        from metier.sources import find_command

        settings = self.settings
        verdicts = {
            name: one_of(settings, f"policy.{name}", PolicyVerdict)
            for name in ("scripts", "network", "secrets", "toolsets", "tools", "packages")
        }
        verdicts["workspace_write"] = one_of(settings, "policy.workspace.write", PolicyVerdict)
        allow, deny = (patterns(settings, f"policy.{name}") for name in ("allow", "deny"))
        return Permissions(
            policy=Policy(allow=allow, deny=deny, **verdicts), approvals=self.approvals, approve=approve,
            which=lambda name: find_command(name, _SYSTEM_PATH),
            context=PathContext(folder=self.paths.folder, home=self.paths.user_home, resolve=os.path.realpath),
        )  # fmt: skip

    def options(self) -> SessionOptions:
        from metier.config import budgets, one_of, tables
        from metier.runtime import ActivationMode, IsolationLevel, Limits, SessionOptions

        settings = self.settings
        return SessionOptions(
            max_active=settings.number("skills.max_active"),
            mode=one_of(settings, "session.mode", ActivationMode),
            pinned=frozenset(settings.strings("session.pinned")),
            instruction_tokens=settings.number("session.instruction_tokens"),
            parameters=tables(settings, "skills.parameters"),
            environment={
                name: text for name, text in self.environment.items() if name in settings.strings("sandbox.environment")
            },
            limits=Limits(
                seconds=settings.number("skills.script_timeout"), output_bytes=settings.number("sandbox.output_bytes"),
                memory_bytes=settings.number("sandbox.memory_bytes"),
                require=one_of(settings, "sandbox.require", IsolationLevel),
            ),
            budgets=budgets(settings),
        )  # fmt: skip

    @cached_property
    def runner(self) -> Runner | ContainerRunner:
        return self.runner_with(None)

    @property
    def uses_containers(self) -> bool:
        """Returns True if scripts run in containers."""
        from metier.config import one_of
        from metier.runtime import RunnerKind

        return one_of(self.settings, "sandbox.runner", RunnerKind) is RunnerKind.CONTAINER

    def runner_with(self, interpreters: Interpreters | None) -> Runner | ContainerRunner:
        from metier.runtime import IsolationLevel, Runner

        if self.uses_containers:
            return self.container_runner(interpreters)
        runner = Runner(interpreters=interpreters)
        require = self.options().limits.require
        if require in (IsolationLevel.LIMITS, IsolationLevel.OFF) and runner.best() is None:
            # The weak levels are never chosen silently: here the user has named one.
            return Runner(level=require, interpreters=interpreters)
        return runner

    def container_runner(self, interpreters: Interpreters | None = None) -> ContainerRunner:
        from metier.config import one_of
        from metier.runtime import ContainerOptions, ContainerRunner, EngineKind

        settings = self.settings
        is_automatic = settings["sandbox.container_engine"].value == "auto"
        options = ContainerOptions(
            engine=None if is_automatic else one_of(settings, "sandbox.container_engine", EngineKind),
            image=str(settings["sandbox.image"].value), allow_tags=settings.boolean("sandbox.allow_tags"),
            options=settings.strings("sandbox.container_options"),
        )  # fmt: skip
        return ContainerRunner(options, interpreters=interpreters, environment=self.environment)

    @cached_property
    def telemetry(self) -> Telemetry:
        from metier.runtime import otlp_telemetry

        settings = self.settings
        return otlp_telemetry(content=settings.boolean("telemetry.content"), metrics=settings.boolean("telemetry.metrics"))

    def open(
        self, id: str | None = None, *, approve: ApprovalHook | None = None, kept: bool = True,  # noqa: A002
        only: Container[str] | None = None, catalog: Catalog | None = None, parameters: Mapping[str, str] | None = None,
        workspace: Workspace | None = None, general_tools: bool = False,
    ) -> Session:  # fmt: skip
        """Opens a session over the skills, over `only` some, or over another catalog. A kept one can be resumed by its id."""
        from metier.runtime import Session

        skills = self.skills
        last: list[Catalog] = []

        def view(whole: Catalog) -> Catalog:
            """Returns the same object for the same catalog."""
            if only is None:
                return whole
            if not last or last[0] is not whole:
                last[:] = [whole, whole.only(only)]
            return last[1]

        def open_selector(catalog: Catalog) -> SkillSelector:
            selector = skills.selector if catalog is skills.catalog else skills.selector_for(catalog)
            selector.recall = self.registries.configured_recall
            return selector

        services = self._services(
            approve,
            kept=kept,
            open_selector=open_selector,
            current_catalog=lambda: view(skills.refresh() if catalog is None else catalog),
        )
        options = replace(self.options(), given_parameters=dict(parameters or {}), general_tools=general_tools)
        return Session(
            view(skills.catalog if catalog is None else catalog), id=id, options=options, services=services, workspace=workspace
        )

    def skill_watcher(self, *, scripts: bool) -> tuple[SkillWatcher, OpenSession]:
        """Returns what an MCP server serves: skills kept current while it runs, and sessions over them."""
        from metier.mcp import SkillWatcher
        from metier.runtime import Session

        selectors: dict[int, SkillSelector] = {}

        def open_selector(catalog: Catalog) -> SkillSelector:
            # One selector for each catalog, of which only the newest is used.
            if id(catalog) not in selectors:
                selectors.clear()
                selectors[id(catalog)] = self.skills.selector_for(catalog)
            return selectors[id(catalog)]

        def open_session(catalog: Catalog) -> Session:
            services = self._services(None, kept=False, open_selector=open_selector)
            return Session(catalog, options=self.options(), services=services)

        return SkillWatcher(lambda stop: self.skills.watch(stop, files=True), open_session, scripts=scripts), open_session

    def open_general(self, workspace: Workspace | None) -> Session:
        """Opens a session without skills for the general tools of an MCP server.

        The user who starts the server with them agrees to them, and the client asks before a call; so `policy.tools = "ask"`
        allows them. Deny patterns still count.
        """
        from metier.catalog import Catalog
        from metier.runtime import PolicyVerdict, Session

        services = self._services(None, kept=False, open_selector=self.skills.selector_for)
        permissions = services.permissions
        if permissions.policy.tools is PolicyVerdict.ASK:
            permissions = replace(permissions, policy=replace(permissions.policy, tools=PolicyVerdict.ALLOW))
        return Session(
            Catalog(), workspace=workspace, options=replace(self.options(), general_tools=True),
            services=replace(services, permissions=permissions),
        )  # fmt: skip

    def _services(
        self, approve: ApprovalHook | None, *, kept: bool, open_selector: Callable[[Catalog], SkillSelector],
        current_catalog: Callable[[], Catalog] | None = None,
    ) -> SessionServices:  # fmt: skip
        from metier.runtime import EventBus, LazyRunner, MemorySessionStore, SelectionPrior, SessionServices

        bus = EventBus()
        if self.settings.boolean("telemetry.enabled"):
            bus.subscribe(self.telemetry)
        return SessionServices(
            store=self.store if kept else MemorySessionStore(),
            runner=LazyRunner(lambda: self.runner),
            permissions=self.permissions(approve),
            bus=bus,
            open_selector=open_selector,
            current_catalog=current_catalog,
            remote_files=lambda entry: self.skills.remote_servers.files(entry),
            secrets=self.secrets,
            packages=self.packages,
            capabilities=self.find_capabilities,
            prior=self.prior if kept else SelectionPrior(),
        )


def _ask_passphrase() -> Callable[[bool], str] | None:
    """Returns a function that asks at the terminal; None without one."""
    import sys
    from getpass import getpass

    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return None

    def ask(is_new: bool) -> str:
        from metier.errors import UsageError

        typed = getpass("New passphrase for your secrets: " if is_new else "Passphrase of your secrets: ")
        if is_new and (not typed or typed != getpass("The same again: ")):
            raise UsageError("the passphrases differ, or are empty", hint="run the command again")
        return typed

    return ask
