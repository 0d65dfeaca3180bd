"""The bytes of an upload, taken as they come and no further than the limit."""

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
    request: RegistryRequest, *, limit: int, what: str = "the archive", empty: bool = False
) -> tuple[bytes, dict[str, str]]:
    """The archive and the other fields of a form; an archive may also be the whole body."""
    kind = request.headers.get("content-type", "")
    if kind.startswith("multipart/form-data"):
        return await _from_form(request, limit)
    with tempfile.SpooledTemporaryFile(_IN_MEMORY) as spool:
        async for chunk in _limited(request, what, limit):
            spool.write(chunk)
        spool.seek(0)
        data = spool.read()
    if not data and not empty:
        raise UsageError("there is no archive in the request", hint="send a zip or tar.gz as the body, or as a file of a form")
    return data, {}


async def _from_form(request: RegistryRequest, limit: int) -> tuple[bytes, dict[str, str]]:
    # What a form adds around its file is small; the file itself is measured exactly below.
    parser = MultiPartParser(request.headers, _limited(request, "the form", limit + _IN_MEMORY), max_files=1, max_fields=20)
    try:
        form = await parser.parse()
    except MultiPartException as error:
        raise UsageError(f"this form cannot be read: {error.message}", hint="send one file and its fields") from None
    except (KeyError, ValueError) as error:
        raise UsageError(f"this form cannot be read: {error}", hint="send one file and its fields") from None
    try:
        files = [value for value in form.values() if isinstance(value, UploadFile)]
        if not files:
            raise UsageError("there is no file in the form", hint="add a zip or tar.gz")
        data = await files[0].read()
        if len(data) > limit:
            raise TooLargeError("the archive", limit=limit, size=len(data))
        return data, {name: value for name, value in form.items() if isinstance(value, str)}
    finally:
        await form.close()


async def read_json(request: RegistryRequest, kind: type[T]) -> T:
    body = b"".join([chunk async for chunk in _limited(request, "the request", _LARGEST_JSON)])
    try:
        return msgspec.json.decode(body or b"{}", type=kind)
    except msgspec.DecodeError as error:
        raise UsageError(f"the request is not what is expected here: {error}", hint="see /openapi.json") from None


async def _limited(request: RegistryRequest, what: str, limit: int) -> AsyncGenerator[bytes, None]:
    said = request.headers.get("content-length", "")
    if said.isdigit() and int(said) > limit:
        raise TooLargeError(what, limit=limit, size=int(said))
    size = 0
    stream = request.stream()
    while True:
        try:
            chunk = await asyncio.wait_for(anext(stream), _PATIENCE_SECONDS)
        except StopAsyncIteration:
            return
        except TimeoutError:
            raise UsageError(f"nothing came for {_PATIENCE_SECONDS} seconds", hint="send it again, without a pause") from None
        except ClientDisconnect:
            raise UsageError("the sender has gone", hint="send it again") from None
        size += len(chunk)
        if size > limit:
            raise TooLargeError(what, limit=limit)
        yield chunk
