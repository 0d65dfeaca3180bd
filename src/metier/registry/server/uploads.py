"""Reads uploads and JSON bodies, up to a size limit."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import AsyncGenerator
from typing import TypeVar

import msgspec
from starlette.datastructures import UploadFile
from starlette.formparsers import MultiPartException, MultiPartParser
from starlette.requests import ClientDisconnect

from metier.errors import UsageError

from .error_responses import TooLargeError
from .routing import RegistryRequest

__all__ = ["read_archive", "read_json"]

T = TypeVar("T")
_IN_MEMORY = 1024 * 1024
_LARGEST_JSON = 256 * 1024
_PATIENCE_SECONDS = 30


async def read_archive(
    request: RegistryRequest, *, limit: int, subject: str = "the archive", empty: bool = False
) -> tuple[bytes, dict[str, str]]:
    """Returns the archive and the other form fields. The archive may also be the whole body."""
    kind = request.headers.get("content-type", "")
    if kind.startswith("multipart/form-data"):
        return await _from_form(request, limit)
    with tempfile.SpooledTemporaryFile(_IN_MEMORY) as spool:
        async for chunk in _limit(request, subject, limit):
            spool.write(chunk)
        spool.seek(0)
        data = spool.read()
    if not data and not empty:
        raise UsageError("the request contains no archive", hint="send a zip or tar.gz as the body or as a form file")
    return data, {}


async def _from_form(request: RegistryRequest, limit: int) -> tuple[bytes, dict[str, str]]:
    # The limit of the form is approximate; the file itself is checked below.
    parser = MultiPartParser(request.headers, _limit(request, "the form", limit + _IN_MEMORY), max_files=1, max_fields=20)
    try:
        form = await parser.parse()
    except MultiPartException as error:
        raise UsageError(f"invalid form: {error.message}", hint="send one file and its fields") from None
    except (KeyError, ValueError) as error:
        raise UsageError(f"invalid form: {error}", hint="send one file and its fields") from None
    try:
        files = [value for value in form.values() if isinstance(value, UploadFile)]
        if not files:
            raise UsageError("the form contains no file", hint="add a zip or tar.gz")
        data = await files[0].read()
        if len(data) > limit:
            raise TooLargeError("the archive", limit=limit, size=len(data))
        return data, {name: value for name, value in form.items() if isinstance(value, str)}
    finally:
        await form.close()


async def read_json(request: RegistryRequest, kind: type[T]) -> T:
    body = b"".join([chunk async for chunk in _limit(request, "the request", _LARGEST_JSON)])
    try:
        return msgspec.json.decode(body or b"{}", type=kind)
    except msgspec.DecodeError as error:
        raise UsageError(f"invalid request body: {error}", hint="see /openapi.json") from None


async def _limit(request: RegistryRequest, subject: str, limit: int) -> AsyncGenerator[bytes, None]:
    declared = request.headers.get("content-length", "")
    if declared.isdigit() and int(declared) > limit:
        raise TooLargeError(subject, limit=limit, size=int(declared))
    size = 0
    stream = request.stream()
    while True:
        try:
            chunk = await asyncio.wait_for(anext(stream), _PATIENCE_SECONDS)
        except StopAsyncIteration:
            return
        except TimeoutError:
            raise UsageError(f"no data for {_PATIENCE_SECONDS} seconds", hint="send the request again") from None
        except ClientDisconnect:
            raise UsageError("the client disconnected", hint="send the request again") from None
        size += len(chunk)
        if size > limit:
            raise TooLargeError(subject, limit=limit)
        yield chunk
