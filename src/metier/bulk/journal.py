"""The results so far, one JSON object on each line, so that work that was interrupted can be resumed.

A row is found by the digest of its item, of the function and of metier's version: changed items, and all items after an
update, are done again. A row that a killed process left half written is dropped.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
from collections.abc import Callable
from typing import Any, Self

import msgspec

from metier.errors import ConfigError, ConflictError, UnavailableError

__all__ = ["ResultJournal"]


class ResultJournal:
    def __init__(self, file: str | os.PathLike[str], result: type, *, version: str = "") -> None:
        """Opens or creates the file. Raises ConflictError if another process uses it."""
        self.file = os.fspath(file)
        self._decoder: msgspec.json.Decoder[Any] = msgspec.json.Decoder(result)
        self._version = version
        self._rows: dict[str, Any] = {}  # Any: of the type `result`
        try:
            self._stream = os.fdopen(os.open(self.file, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600), "a+b")
        except OSError as error:
            raise UnavailableError(f"cannot use {self.file}: {error.strerror}", hint="choose another file") from error
        try:
            fcntl.flock(self._stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self._read()
        except BlockingIOError:
            self._stream.close()
            raise ConflictError(
                f"{self.file} is in use by another process", hint="wait for it, or choose another file"
            ) from None  # fmt: skip
        except BaseException:
            self._stream.close()
            raise

    def key(self, function: Callable[..., Any], item: object) -> str:
        known = [function.__module__, function.__qualname__, self._version]
        return hashlib.sha256(msgspec.msgpack.encode([known, item])).hexdigest()

    def __contains__(self, key: str) -> bool:
        return key in self._rows

    def __getitem__(self, key: str) -> Any:  # Any: of the type `result`
        return self._rows[key]

    def __len__(self) -> int:
        return len(self._rows)

    def add(self, key: str, result: object) -> None:
        self._rows[key] = result
        self._stream.write(b'{"key":"%s","result":%s}\n' % (key.encode(), msgspec.json.encode(result)))
        self._stream.flush()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stream.close()

    def _read(self) -> None:
        self._stream.seek(0)
        end = 0
        for number, line in enumerate(self._stream, 1):
            if not line.endswith(b"\n"):
                break
            try:
                row = msgspec.json.decode(line, type=_Row)
                self._rows[row.key] = self._decoder.decode(row.result)
            except (msgspec.DecodeError, UnicodeDecodeError, json.JSONDecodeError) as error:
                # Never continued: it may be a file of the user's that is no journal.
                raise ConfigError(
                    f"not a journal of this command: {error}", file=self.file, line=number, hint="choose another file"
                ) from None  # fmt: skip
            end += len(line)
        self._stream.truncate(end)


class _Row(msgspec.Struct):
    key: str
    result: msgspec.Raw
