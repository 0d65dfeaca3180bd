"""The baseline for the registry benchmark: one JSON route of Starlette with the same server options."""

from __future__ import annotations

import sys

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

SKILL = {
    "name": "pdf-forms", "description": "Fill, read and flatten PDF forms. Use when the user has a form to fill. " * 4,
    "version": "1.2.3", "author": "acme", "downloads": 1234, "download_url": "http://127.0.0.1/skills/pdf-forms/1.2.3.zip",
    "tags": ["pdf", "forms"], "digest": "sha256:" + "0" * 64, "license": "MIT",
}  # fmt: skip


async def skill(_request: Request) -> JSONResponse:
    return JSONResponse(SKILL)


if __name__ == "__main__":
    app = Starlette(routes=[Route("/j", skill)])
    uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[1]), access_log=False, log_level="warning", server_header=False)
