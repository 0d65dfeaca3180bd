"""Reads uploads, forms and JSON bodies, up to a size limit."""

from __future__ import annotations

import asyncio
import contextlib
import tempfile
from collections.abc import AsyncGenerator, AsyncIterator
from typing import IO, TypeVar

import msgspec
from starlette.datastructures import FormData, UploadFile
from starlette.formparsers import FormParser, MultiPartException, MultiPartParser
from starlette.requests import ClientDisconnect

from metier.errors import UsageError
from metier.values import dataclass, field

from .error_responses import TooLargeError
from .request_checks import check_json_text, check_text
from .routing import RegistryRequest

__all__ = ["Upload", "read_form", "read_json", "receive_archive"]

T = TypeVar("T")
_IN_MEMORY = 256 * 1024
_FORM_BYTES = 1024 * 1024
"""What the other fields and the framing of a form may add to its file."""
_LARGEST_JSON = 256 * 1024
_LARGEST_FORM = 64 * 1024
_MOST_FIELDS = 20
_PATIENCE_SECONDS = 30


@dataclass(frozen=True, slots=True)
class Upload:
    """An archive that has arrived. It is on the disk if it is large, and is read when it is its turn."""

    file: IO[bytes]
    fields: dict[str, str] = field(default_factory=dict)
    """The other fields of the form."""

    def read(self) -> bytes:
        self.file.seek(0)
        return self.file.read()


@contextlib.asynccontextmanager
async def receive_archive(
    request: RegistryRequest, *, limit: int, subject: str = "the archive", empty: bool = False
) -> AsyncIterator[Upload]:
    """Receives an archive, as the whole body or as a file of a form. It counts as under way until the block ends."""
    with request.registry.publisher.turns.in_flight(request.caller):
        if request.headers.get("content-type", "").startswith("multipart/form-data"):
            # The limit of the form is approximate; the file itself is checked below.
            body = _limit(request, "the form", limit + _FORM_BYTES)
            form = await _parse(_SmallSpool(request.headers, body, max_files=1, max_fields=_MOST_FIELDS))
            try:
                yield _from_form(form, limit)
            finally:
                await form.close()
            return
        with tempfile.SpooledTemporaryFile(_IN_MEMORY) as spool:
            async for chunk in _limit(request, subject, limit):
                spool.write(chunk)
            if not spool.tell() and not empty:
                raise UsageError("the request contains no archive", hint="send a zip or tar.gz as the body or as a form file")
            yield Upload(spool)


class _SmallSpool(MultiPartParser):
    spool_max_size = _IN_MEMORY


def _from_form(form: FormData, limit: int) -> Upload:
    files = [value for value in form.values() if isinstance(value, UploadFile)]
    if not files:
        raise UsageError("the form contains no file", hint="add a zip or tar.gz")
    size = files[0].size or 0
    if size > limit:
        raise TooLargeError("the archive", limit=limit, size=size)
    return Upload(files[0].file, _fields(form))


async def read_form(request: RegistryRequest, *, limit: int = _LARGEST_FORM) -> dict[str, str]:
    """Returns the fields of a page's form. It is small enough to stay in memory, and files in it are ignored."""
    body = _limit(request, "the form", limit)
    if request.headers.get("content-type", "").startswith("multipart/form-data"):
        form = await _parse(MultiPartParser(request.headers, body, max_files=1, max_fields=_MOST_FIELDS))
    else:
        form = await _parse(FormParser(request.headers, body, max_fields=_MOST_FIELDS))
    try:
        return {name: value.strip() for name, value in _fields(form).items()}
    finally:
        await form.close()


async def _parse(parser: FormParser | MultiPartParser) -> FormData:
    try:
        return await parser.parse()
    except MultiPartException as error:
        raise UsageError(f"invalid form: {error.message}", hint="send a form as a browser does") from None
    except (LookupError, ValueError) as error:
        raise UsageError(f"invalid form: {error}", hint="send a form as a browser does") from None


def _fields(form: FormData) -> dict[str, str]:
    fields = {name: value for name, value in form.items() if isinstance(value, str)}
    check_text(fields.values(), "the form")
    return fields


async def read_json(request: RegistryRequest, kind: type[T]) -> T:
    body = b"".join([chunk async for chunk in _limit(request, "the request", _LARGEST_JSON)])
    check_json_text(body)
    try:
        return msgspec.json.decode(body or b"{}", type=kind)
    except RecursionError:
        raise UsageError("the request body is nested too deeply", hint="see /openapi.json") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"invalid request body: {error}", hint="see /openapi.json") from None


async def _limit(request: RegistryRequest, subject: str, limit: int) -> AsyncGenerator[bytes, None]:
    declared = request.headers.get("content-length", "")
    if declared.isascii() and declared.isdigit() and int(declared[:20]) > limit:
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
