"""A PostgreSQL database that processes on several machines share.

All tables are in the schema `metier`, so that the database may hold other things too. Advisory locks order the changes of one
name; the server releases them when it loses the connection, so a process that is killed leaves no lock behind.

A message never holds the password: not even when the address is so wrong that the driver would quote parts of it.
"""

from __future__ import annotations

import contextlib
import os
import re
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, unquote

from metier.errors import UnavailableError, UsageError
from metier.extras import MissingExtraError

from .store_schema import SqlDialect, StoreSchema

if TYPE_CHECKING:
    import psycopg

__all__ = ["PostgresDatabase"]

_MOST_CONNECTIONS = 4
_CONNECT_SECONDS = 5
_ADDRESS = re.compile(
    r"postgres(?:ql)?://(?:(?P<user>[^:@/?#]*)(?::(?P<password>[^@/?#]*))?@)?"
    r"(?P<hosts>[^@/?#:,]*(?::\d*)?(?:,[^@/?#:,]*(?::\d*)?)*|\[[0-9A-Fa-f:.]+\](?::\d*)?)"
    r"(?:/(?P<database>[^/?#]*))?(?:\?(?P<options>[^#]*))?",
    re.IGNORECASE,
)
_HINTS = (
    ("password authentication failed", "check the user and the password of session.store, PGPASSWORD or ~/.pgpass"),
    ("no password supplied", "give the password in PGPASSWORD, in ~/.pgpass or in session.store"),
    ("does not exist", "create it, or check the name in session.store"),
    ("translate host name", "check the host in session.store"),
    ("resolve host", "check the host in session.store"),
)


class PostgresDatabase:
    """Connects on first use and after an interruption. A fork connects anew."""

    dialect = SqlDialect.POSTGRESQL
    damaged_copy = None

    def __init__(self, url: str, schema: StoreSchema, *, timeout: float = 5.0) -> None:
        self.location, self._secrets = _read_address(url)
        self._url = url
        self._schema = schema
        self._timeout = timeout
        self._free = threading.BoundedSemaphore(_MOST_CONNECTIONS)
        self._lock = threading.Lock()
        self._process = os.getpid()
        self._idle: list[psycopg.Connection[Any]] = []
        self._current = threading.local()
        """The connection of the block that this thread is in."""
        self._holder: psycopg.Connection[Any] | None = None
        """Holds what `try_hold` took, all in one connection."""
        self._held: set[str] = set()
        self._is_migrated = False

    @contextlib.contextmanager
    def read(self) -> Iterator[_Connection]:
        inside = getattr(self._current, "connection", None)
        if inside is not None:
            yield inside
            return
        with self._transaction(None) as connection:
            yield connection

    @contextlib.contextmanager
    def write(self, name: str) -> Iterator[_Connection]:
        with self._transaction(name) as connection:
            self._current.connection = connection
            try:
                yield connection
            finally:
                self._current.connection = None

    def try_hold(self, name: str) -> Callable[[], None] | None:
        with self._explained(), self._lock:
            self._leave_parent()
            if name in self._held:
                return None
            for is_last in (False, True):
                try:
                    if self._holder is None or self._holder.closed:
                        self._holder = self._connect()
                    row = self._holder.execute("select pg_try_advisory_lock(hashtextextended(%s, 1))", (name,)).fetchone()
                    break
                except _driver().OperationalError:
                    # The server was restarted; what was held is lost, and with it the turns that other processes ran.
                    self._holder = None
                    if is_last:
                        raise
            if row is None or not row[0]:
                return None
            self._held.add(name)
        return lambda: self._end_hold(name)

    def _end_hold(self, name: str) -> None:
        with self._lock:
            if name not in self._held:
                return
            self._held.remove(name)
            if self._holder is not None:
                try:
                    self._holder.execute("select pg_advisory_unlock(hashtextextended(%s, 1))", (name,))
                except _driver().Error:
                    # The connection is gone, and its locks with it.
                    self._holder = None

    def close(self) -> None:
        with self._lock:
            self._leave_parent()
            for connection in (*self._idle, *((self._holder,) if self._holder else ())):
                connection.close()
            self._idle, self._holder = [], None
            self._held.clear()

    def __del__(self) -> None:
        # Not `close`: it needs what the constructor may not have reached.
        for connection in (*getattr(self, "_idle", ()), getattr(self, "_holder", None)):
            if connection is not None and self._process == os.getpid():
                connection.close()

    @contextlib.contextmanager
    def _transaction(self, name: str | None) -> Iterator[_Connection]:
        with self._explained(), self._free:
            connection = self._begin(name)
            try:
                yield _Connection(connection)
                connection.execute("commit")
            except BaseException:
                # A connection that cannot even do that is not used again.
                with contextlib.suppress(_driver().Error):
                    connection.execute("rollback")
                raise
            finally:
                with self._lock:
                    if not connection.closed and not connection.broken:
                        self._idle.append(connection)

    def _begin(self, name: str | None) -> psycopg.Connection[Any]:
        with self._lock:
            self._leave_parent()
            connection = self._idle.pop() if self._idle else None
        try:
            if connection is not None:
                return _begun(connection, name)
        except _driver().OperationalError:
            # A restart of the server breaks idle connections. A lock that is not granted leaves this one usable.
            if connection is not None and not connection.broken:
                connection.execute("rollback")
                with self._lock:
                    self._idle.append(connection)
                raise
        new = self._connect()
        try:
            return _begun(new, name)
        except BaseException:
            new.close()
            raise

    def _connect(self) -> psycopg.Connection[Any]:
        seconds = {} if "connect_timeout" in self._url else {"connect_timeout": _CONNECT_SECONDS}
        connection: psycopg.Connection[Any] = _driver().connect(
            self._url, autocommit=True, application_name="metier", **seconds
        )
        try:
            # The server notices within a minute that the machine of a client is gone, and releases its locks.
            for key, value in (
                ("search_path", "metier"), ("lock_timeout", f"{int(self._timeout * 1000)}ms"),
                ("tcp_keepalives_idle", "30"), ("tcp_keepalives_interval", "10"), ("tcp_keepalives_count", "3"),
                ("client_min_messages", "warning"),
            ):  # fmt: skip
                connection.execute("select set_config(%s, %s, false)", (key, value))
            if not self._is_migrated:
                self._migrate(connection)
                self._is_migrated = True
        except BaseException:
            connection.close()
            raise
        return connection

    def _migrate(self, connection: psycopg.Connection[Any]) -> None:
        schema = self._schema
        if self._version(connection) == schema.version:
            return
        with connection.transaction():
            connection.execute("select pg_advisory_xact_lock(hashtextextended('metier-schema', 0))")
            found = self._version(connection)
            if found > schema.version:
                raise UnavailableError(
                    f"{self.location} was written by a newer metier", hint="update metier, or use another database",
                    retryable=False,
                )  # fmt: skip
            connection.execute("create schema if not exists metier")
            connection.execute(
                "create table if not exists metier.version (part text primary key, number integer not null)"
            )  # fmt: skip
            for statement in schema.statements(self.dialect, after=found):
                connection.execute(statement.encode())
            connection.execute(
                "insert into metier.version values (%s, %s) on conflict (part) do update set number = excluded.number",
                (schema.part, schema.version),
            )

    def _version(self, connection: psycopg.Connection[Any]) -> int:
        # Not `to_regclass`: it may answer from a cache that does not know yet what another process has just created.
        known = connection.execute("select 1 from pg_catalog.pg_tables where schemaname = 'metier' and tablename = 'version'")
        if known.fetchone() is None:
            return 0
        row = connection.execute("select number from metier.version where part = %s", (self._schema.part,)).fetchone()
        return int(row[0]) if row else 0

    def _leave_parent(self) -> None:
        """Drops connections that a parent process opened and still uses. The driver does not close them."""
        if self._process != os.getpid():
            self._process, self._idle, self._holder = os.getpid(), [], None
            self._held = set()

    @contextlib.contextmanager
    def _explained(self) -> Iterator[None]:
        """Turns the driver's errors into ours, each with a hint."""
        driver = _driver()
        try:
            yield
        except driver.errors.LockNotAvailable as error:
            raise UnavailableError(f"{self.location} is in use by another process", hint="try again in a moment") from error
        except driver.errors.InsufficientPrivilege as error:
            raise UnavailableError(
                f"the user of {self.location} may not do this: {self._reason(error)}",
                hint="let the administrator run: grant create on database NAME to USER", retryable=False,
            ) from None  # fmt: skip
        except driver.Error as error:
            why = self._reason(error)
            hint = next(
                (hint for part, hint in _HINTS if part in why), "start the server, or check the address in session.store"
            )
            # The driver's error is not chained: it knows the whole address.
            raise UnavailableError(f"cannot use {self.location}: {why}", hint=hint) from None

    def _reason(self, error: Exception) -> str:
        text = " ".join(str(error).split())
        for secret in self._secrets:
            text = text.replace(secret, "***")
        # The driver tries every address of a host and lists them all.
        text = re.sub(r" Multiple connection attempts failed.*", "", text)
        return text[:300] or type(error).__name__


class _Connection:
    """A connection that takes the stores' SQL."""

    def __init__(self, connection: psycopg.Connection[Any]) -> None:
        self._connection = connection

    def execute(self, sql: str, arguments: Sequence[Any] = (), /) -> psycopg.Cursor[Any]:
        return self._connection.execute(_to_driver(sql), arguments)

    def executemany(self, sql: str, arguments: Sequence[Sequence[Any]], /) -> None:
        if arguments:
            with self._connection.cursor() as cursor:
                cursor.executemany(_to_driver(sql), arguments)


def _begun(connection: psycopg.Connection[Any], name: str | None) -> psycopg.Connection[Any]:
    connection.execute("begin")
    if name is not None:
        connection.execute("select pg_advisory_xact_lock(hashtextextended(%s, 0))", (name,))
    return connection


def _to_driver(sql: str) -> bytes:
    return sql.replace("%", "%%").replace("?", "%s").encode()


def _driver() -> Any:  # Any: the module
    try:
        import psycopg
    except ImportError:
        raise MissingExtraError("PostgreSQL needs a driver that is not installed", extra="postgresql") from None
    return psycopg


def _read_address(url: str) -> tuple[str, tuple[str, ...]]:
    """Returns the address without user and password, and the texts that no message may hold."""
    found = _ADDRESS.fullmatch(url)
    if not found:
        raise UsageError(
            "session.store is not the address of a PostgreSQL database",
            hint="use postgresql://USER@HOST/DATABASE; write @ : / ? # in a password as %40 %3A %2F %3F %23",
        )
    options = dict(parse_qsl(found["options"] or ""))
    secrets = [
        found["password"] or "",
        unquote(found["password"] or ""),
        options.get("password", ""),
        options.get("sslpassword", ""),
    ]
    hosts = found["hosts"] or options.get("host", "")
    location = f"postgresql://{hosts}/{found['database'] or options.get('dbname', '')}".rstrip("/")
    return location, tuple(dict.fromkeys(each for each in secrets if each))
