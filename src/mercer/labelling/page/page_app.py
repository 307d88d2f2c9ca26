"""The application behind the page: what it asks for, as JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined, select_autoescape
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from mercer.labelling.label_book import TakenError
from mercer.labelling.labelling_session import LabellingSession
from mercer.labelling.page.request_guard import App, RequestGuard
from mercer.labelling.row_view import PictureError
from mercer.version import VERSION

FOLDER = Path(__file__).parent
#: The files that the page is made of, and their types.
STATIC = {
    "page.css": "text/css; charset=utf-8",
    "page.js": "text/javascript; charset=utf-8",
    "row.js": "text/javascript; charset=utf-8",
    "chart.js": "text/javascript; charset=utf-8",
    "server.js": "text/javascript; charset=utf-8",
    "icon.png": "image/png",
}
#: The most bytes of a request.
LARGEST = 100_000
#: Names that pages and people give themselves.
NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


def page_app(
    session: LabellingSession, token: str, host: str = "127.0.0.1", framed: bool = False
) -> App:
    """Return the ASGI application of a session; see :class:`RequestGuard` for the parameters."""
    found = _Answers(session)
    routes = [
        Route("/", found.page),
        Route("/static/{name}", found.static),
        Route("/api/state", found.state),
        Route("/api/picture", found.picture),
        Route("/api/{action}", found.act, methods=["POST"]),
    ]
    return RequestGuard(Starlette(routes=routes), token, host, framed)


class _Answers:
    """The answer to each request."""

    def __init__(self, session: LabellingSession) -> None:
        self._session, book = session, session.book
        loader = FileSystemLoader(FOLDER / "templates")
        pages = Environment(
            loader=loader, autoescape=select_autoescape(default=True), undefined=StrictUndefined
        )
        self._page = pages.get_template("page.html").render(version=VERSION)
        self._static = {name: (FOLDER / "static" / name).read_bytes() for name in STATIC}
        #: By name: what is done with the body of a request, its tab and its person.
        self._actions: dict[str, Callable[[dict[str, Any], str, str], Any]] = {
            "label": lambda given, tab, by: book.label(_text(given, "row"), given.get("label"), by),
            "skip": lambda given, tab, by: book.skip(_text(given, "row"), by),
            "undo": lambda given, tab, by: book.undo(tab, by),
            "again": lambda given, tab, by: book.ask_again(),
            "release": lambda given, tab, by: book.release(tab),
            "task": lambda given, tab, by: book.choose_task(_text(given, "kind"), _classes(given)),
        }

    async def page(self, request: Request) -> Response:
        """The page itself, which has nothing of the pool in it."""
        return Response(self._page, media_type="text/html")

    async def static(self, request: Request) -> Response:
        """A file that the page is made of."""
        name = request.path_params["name"]
        if name not in self._static:
            return JSONResponse({"error": "there is no such file"}, 404)
        return Response(self._static[name], headers={"content-type": STATIC[name]})

    async def state(self, request: Request) -> Response:
        """Everything that a tab shows."""
        given = dict(request.query_params)
        try:
            tab, person = _name(given, "tab"), _name(given, "person")
        except ValueError as error:
            return JSONResponse({"error": str(error)}, 400)
        return JSONResponse(await run_in_threadpool(self._session.state, tab, person))

    async def picture(self, request: Request) -> Response:
        """A picture of a row."""
        row, column = (request.query_params.get(name, "") for name in ("row", "column"))
        try:
            data, kind = await run_in_threadpool(self._session.picture, row, column)
        except PictureError as error:
            return JSONResponse({"error": str(error)}, 404)
        return Response(data, headers={"content-type": kind})

    async def act(self, request: Request) -> Response:
        """A label, a skip, an undo or a choice; the answer is the state after it."""
        action = self._actions.get(request.path_params["action"])
        if action is None:
            return JSONResponse({"error": "there is no such action"}, 404)
        try:
            given = await _body(request)
            tab, person = _name(given, "tab"), _name(given, "person")
            await run_in_threadpool(action, given, tab, person)
        except TakenError as error:
            return JSONResponse({"error": str(error)}, 409)
        except ValueError as error:
            return JSONResponse({"error": str(error)}, 400)
        except OSError as error:
            return JSONResponse({"error": f"nothing was kept, as the disk failed: {error}"}, 500)
        if request.path_params["action"] == "release":
            return JSONResponse({})
        return JSONResponse(await run_in_threadpool(self._session.state, tab, person))


async def _body(request: Request) -> dict[str, Any]:
    """Return the JSON object of a request; refuse a long one before it is read."""
    content = b""
    async for chunk in request.stream():
        content += chunk
        if len(content) > LARGEST:
            raise ValueError(f"a request must have at most {LARGEST:,} bytes")
    try:
        found = json.loads(content)
    except RecursionError as error:
        raise ValueError("a request must be a JSON object") from error
    if not isinstance(found, dict):
        raise ValueError("a request must be a JSON object")
    return found


def _text(given: dict[str, Any], name: str) -> str:
    value = given.get(name)
    if not isinstance(value, str):
        raise ValueError(f"{name} must be text")
    return value


def _name(given: dict[str, Any], name: str) -> str:
    value = _text(given, name)
    if not NAME.fullmatch(value):
        raise ValueError(f"{name} must be up to 64 letters and digits")
    return value


def _classes(given: dict[str, Any]) -> list[str]:
    found = given.get("classes", [])
    if not isinstance(found, list) or not all(isinstance(name, str) for name in found):
        raise ValueError("classes must be a list of texts")
    return found
