"""The server of the page, in a thread of its own."""

from __future__ import annotations

import html
import os
import socket
import threading
import time
from typing import TYPE_CHECKING, Any, Self

from mercer.labelling.page.request_guard import checked_token, is_wildcard
from mercer.validation import check_count

if TYPE_CHECKING:
    from mercer.labelling.labelling_session import LabellingSession

#: Seconds until the server must answer, and until it must have ended.
START, STOP = 30.0, 5.0


class PageServer:
    """A session on a page in the browser, which is answered until :meth:`stop`.

    In a notebook, the object is shown as the page in a frame; the notebook must run on the machine
    of the browser.

    Parameters
    ----------
    session : LabellingSession
        The rows and labels; it is not closed with the server.
    host : str
        The address to listen at; anything but this machine needs a token.
    port : int
        The port, or 0 for one that is free.
    token : str or None
        What the link has to contain; None draws one at random.
    framed : bool
        Whether other pages may show this one in a frame.

    Attributes
    ----------
    link : str
        The address of the page with the token, which is to be kept to oneself.
    """

    def __init__(
        self,
        session: LabellingSession,
        host: str = "127.0.0.1",
        port: int = 0,
        token: str | None = None,
        framed: bool = False,
    ) -> None:
        token = checked_token(host, token)
        uvicorn, page_app = needed_for_pages()
        self._socket = _listening(host, check_count(port, "port", minimum=0))
        self.host, self.port = host, int(self._socket.getsockname()[1])
        shown = "127.0.0.1" if is_wildcard(host) else host
        name = f"[{shown}]" if ":" in shown else shown
        self.link = f"http://{name}:{self.port}/#token={token}"
        config = uvicorn.Config(
            page_app(session, token, host, framed),
            log_config=None,
            access_log=False,
            lifespan="off",
            ws="none",
            server_header=False,
            timeout_graceful_shutdown=2,
        )
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._run, name="mercer page", daemon=True)
        self._thread.start()
        end = time.monotonic() + START
        while not self._server.started:
            if not self._thread.is_alive() or time.monotonic() > end:
                self._socket.close()
                raise OSError(f"the page could not be served at {name}:{self.port}")
            time.sleep(0.01)

    def _run(self) -> None:
        self._server.run(sockets=[self._socket])

    def stop(self) -> None:
        """Answer no more requests."""
        self._server.should_exit = True
        self._thread.join(STOP)
        self._socket.close()

    def _repr_html_(self) -> str:
        """Return the page in a frame, for a notebook."""
        link = html.escape(self.link, quote=True)
        return (
            f'<iframe src="{link}" title="Label rows" width="100%" height="760" '
            f'style="border: 1px solid #8886; border-radius: 8px"></iframe>'
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()


def needed_for_pages() -> tuple[Any, Any]:
    """Return uvicorn and the function that makes the application, or say what to install."""
    try:
        import uvicorn

        from mercer.labelling.page.page_app import page_app
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] not in ("uvicorn", "starlette", "jinja2"):
            raise
        raise ImportError(
            f"a page to label on needs {error.name}, which is not installed: try pip install "
            f"'mercer[page]' (pip install mercer[page] in most shells)"
        ) from error
    return uvicorn, page_app


def _listening(host: str, port: int) -> socket.socket:
    """Return a socket that listens; raise OSError in words if it cannot."""
    try:
        family, kind, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        found = socket.socket(family, kind)
    except OSError as error:
        raise OSError(
            f"--host must be an address of this machine, got {host!r}: {error}"
        ) from error
    try:
        if os.name == "posix":  # elsewhere, this would share the port with others
            found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind(address)
        found.listen(128)
    except (OSError, OverflowError) as error:
        found.close()
        raise OSError(
            f"port {port} of {host} cannot be used ({error}): choose another one, or let 0 find "
            f"one that is free"
        ) from error
    return found
