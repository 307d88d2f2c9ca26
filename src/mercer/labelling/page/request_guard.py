"""Which requests are answered: from whom, from which page, and with which headers.

Three things have to be right before anything of a pool is sent. The ``Host`` must be an address of
this server, so that a site whose name is suddenly that of this machine (DNS rebinding) gets
nothing. A request from a page must be from our own (``Sec-Fetch-Site`` and ``Origin``), so that no
other site can send one through the browser (CSRF). And the token must be in a header, which only
our script sets: there is no cookie that a browser would add to the requests of others. Besides, the
browser is told to run nothing but our own script (``Content-Security-Policy``).
"""

from __future__ import annotations

import ipaddress
import json
import re
import secrets
import socket
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

LOOPBACK = ("127.0.0.1", "localhost", "::1")
#: A ``Host`` header as a whole (RFC 9110, section 7.2): nothing may follow the name but a port.
HOST = re.compile(
    r"(?:\[(?P<address>[0-9A-Fa-f]*:[0-9A-Fa-f:.]+)\]|(?P<name>[A-Za-z0-9._-]+))(?::\d{0,5})?", re.A
)
#: Fewest characters of a token that a person chooses.
SHORTEST = 16
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'"
)
HEADERS = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
}


class RequestGuard:
    """An ASGI application in front of another, which sees only requests that may be answered.

    Parameters
    ----------
    app : ASGI application
        What answers.
    token : str
        What requests to ``/api/`` must have in their header ``Authorization``, after "Bearer ".
    host : str
        The address that the server listens at.
    framed : bool
        Whether pages of others may show this one in a frame, as a notebook does.
    """

    def __init__(self, app: App, token: str, host: str = "127.0.0.1", framed: bool = False) -> None:
        self._app, self._token = app, token.encode()
        self._host, self._any = host, is_wildcard(host)
        policy = POLICY if framed else f"{POLICY}; frame-ancestors 'none'"
        headers = {**HEADERS, "content-security-policy": policy}
        self._headers = [(name.encode(), value.encode()) for name, value in headers.items()]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        if scope["type"] != "http":  # web sockets are not answered
            return
        given = {name.lower(): value for name, value in scope["headers"]}

        async def with_headers(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", []), *self._headers]
            await send(message)

        refusal = self._refusal(scope, given)
        if refusal is None:
            await self._app(scope, receive, with_headers)
            return
        status, words = refusal
        body = json.dumps({"error": words}).encode()
        headers = [(b"content-type", b"application/json")]
        await with_headers({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    def _refusal(self, scope: Scope, given: dict[bytes, bytes]) -> tuple[int, str] | None:
        host = given.get(b"host", b"").decode("latin-1")
        if not self._is_ours(host):
            return 400, "this server is not known by that name: open the link that it printed"
        if scope["path"] == "/":  # nothing of the pool is in it, and links lead here
            return None
        site = given.get(b"sec-fetch-site", b"same-origin")
        origin = given.get(b"origin")
        if site != b"same-origin" or origin not in (None, f"http://{host}".encode("latin-1")):
            return 403, "requests must come from the page itself, not from another site"
        if not scope["path"].startswith("/api/"):
            return None
        if not secrets.compare_digest(given.get(b"authorization", b""), b"Bearer " + self._token):
            return 401, "the link has no valid token: open the one that the server printed last"
        if scope["method"] == "POST" and given.get(b"content-type") != b"application/json":
            return 415, "requests must be JSON"
        return None

    def _is_ours(self, host: str) -> bool:
        name = host_name(host)
        if name is None:
            return False
        if name in LOOPBACK or name == self._host.lower():
            return True
        machine = socket.gethostname().lower()
        return self._any and (_is_address(name) or name in (machine, f"{machine}.local"))


def host_name(host: str) -> str | None:
    """Return the name in a ``Host`` header, without its port; None if that is no name and port.

    >>> host_name("localhost:80"), host_name("[::1]:80"), host_name("EXAMPLE.org")
    ('localhost', '::1', 'example.org')
    >>> host_name("[::1].example.org"), host_name("127.0.0.1:80@example.org"), host_name("")
    (None, None, None)
    """
    found = HOST.fullmatch(host)
    return None if found is None else (found["address"] or found["name"]).lower()


def is_loopback(host: str) -> bool:
    """Return whether an address can be reached from this machine only.

    >>> is_loopback("127.0.0.1"), is_loopback("localhost"), is_loopback("0.0.0.0")
    (True, True, False)
    """
    if host == "localhost":
        return True
    return _is_address(host) and ipaddress.ip_address(host).is_loopback


def is_wildcard(host: str) -> bool:
    """Return whether this stands for all addresses of a machine."""
    return _is_address(host) and ipaddress.ip_address(host).is_unspecified


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def checked_token(host: str, token: str | None) -> str:
    """Return the token, or a new one; for other machines, one must be chosen.

    >>> len(checked_token("127.0.0.1", None)) > 40
    True
    """
    if token is None:
        if not is_loopback(host):
            raise ValueError(
                f"host {host} lets other machines in, so it needs a token of your own (--token), "
                f"with at least {SHORTEST} letters and digits; rows and labels are sent without "
                f"encryption"
            )
        return secrets.token_urlsafe(32)
    if len(token) < SHORTEST or not all(c.isascii() and (c.isalnum() or c in "-_") for c in token):
        raise ValueError(
            f"the token must have at least {SHORTEST} characters, letters, digits, - and _ only: "
            f"choose another"
        )
    return token
