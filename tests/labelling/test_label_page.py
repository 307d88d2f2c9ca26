"""The page's server: who is let in, what is refused, and what is sent of a row."""

import json
import os

import numpy as np
import pandas as pd
import pytest

from mercer.labelling import LabellingSession, PageServer, read_sheet
from mercer.labelling.row_view import Pixels, png

TestClient = pytest.importorskip("starlette.testclient").TestClient

TOKEN = "a-token-of-this-test"
HEADERS = {"Authorization": f"Bearer {TOKEN}"}
WHO = {"tab": "tab1", "person": "me"}
HOSTILE = "<script>alert(1)</script>"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A pool with pictures, and others that must not be served."""
    place = tmp_path_factory.mktemp("page")
    (place / "pool" / "pictures").mkdir(parents=True)
    image = png(np.zeros((4, 4), dtype=np.uint8))
    (place / "pool" / "pictures" / "a.png").write_bytes(image)
    (place / "secret.png").write_bytes(image)
    (place / "pool" / "notes.txt").write_text("secret")
    (place / "pool" / "link.png").symlink_to(place / "secret.png")
    (place / "pool" / "text.png").symlink_to(place / "pool" / "notes.txt")
    (place / "pool" / "folder.png").mkdir()
    names = ["pictures/a.png", "../secret.png", str(place / "secret.png"), "link.png", "text.png"]
    names += ["folder.png", "missing.png", "folder.png/../../secret.png"]
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.random(64), HOSTILE: "=1+1", "file": names * 8})
    frame.to_csv(place / "pool" / "pool.csv", index=False)
    return place / "pool"


@pytest.fixture
def client(folder, tmp_path):
    from mercer.labelling.page.page_app import page_app

    sheet = tmp_path / "sheet.csv"
    with LabellingSession(folder / "pool.csv", sheet, 40, refit_every=40) as session:
        app = page_app(session, TOKEN)
        with TestClient(app, base_url="http://127.0.0.1:8080", headers=HEADERS) as found:
            found.sheet, found.session = sheet, session
            yield found


def act(client, action, status=200, **content):
    answer = client.post(f"/api/{action}", json={**WHO, **content})
    assert answer.status_code == status, answer.text
    return answer.json()


def test_from_the_task_to_labels_in_the_sheet(client):
    state = client.get("/api/state", params=WHO).json()
    assert state["task"] is None
    assert state["row"] is None
    state = act(client, "task", kind="classification", classes=["yes", "no"])
    shown = {column["name"]: column["text"] for column in state["row"]["columns"]}
    assert shown[HOSTILE] == "=1+1"
    first = state["row"]["id"]
    state = act(client, "label", row=first, label="yes")
    assert state["labelled"] == 1
    assert state["row"]["id"] != first
    assert act(client, "undo")["row"]["id"] == first
    assert act(client, "skip", row=first)["skipped"] == 1
    act(client, "task", kind="classification", classes=["maybe"])
    state = act(client, "label", row=state["row"]["id"], label="maybe")
    assert state["classes"] == ["yes", "no", "maybe"]
    client.session.settle()
    assert [label for label in read_sheet(client.sheet).labels if label] == ["maybe"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"row": "nowhere", "label": "yes"}, "no row"),
        ({"row": 3, "label": "yes"}, "row must be text"),
        ({"label": "yes"}, "row must be text"),
        ({"tab": "../../x", "row": "1"}, "tab must be"),
        ({"person": "x" * 65, "row": "1"}, "person must be"),
    ],
)
def test_requests_that_make_no_sense_are_refused_in_words(content, message, client):
    act(client, "task", kind="classification", classes=["yes", "no"])
    assert message in act(client, "label", status=400, **content)["error"]
    row = client.get("/api/state", params=WHO).json()["row"]["id"]
    assert "one of the classes" in act(client, "label", status=400, row=row, label="=1")["error"]
    assert "no such action" in act(client, "delete", status=404)["error"]
    for body in (b"[" * 90_000, b"x" * 100_001, b"[]", b"{"):
        answer = client.post(
            "/api/label", content=body, headers={"Content-Type": "application/json"}
        )
        assert answer.status_code == 400
        assert answer.json()["error"]


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Authorization": ""}, 401),
        ({"Authorization": "Bearer wrong"}, 401),
        ({"Authorization": f"Bearer {TOKEN}x"}, 401),
        ({"Host": "evil.example"}, 400),
        ({"Host": "127.0.0.1.evil.example:80"}, 400),
        ({"Host": "[::1].evil.example"}, 400),
        ({"Host": "[::1]@evil.example"}, 400),
        ({"Host": "[::1]:80.evil.example"}, 400),
        ({"Host": "[127.0.0.1]"}, 400),
        ({"Host": "127.0.0.1:99@evil.example"}, 400),
        ({"Host": "127.0.0.1:99:99"}, 400),
        ({"Host": "127.0.0.1 "}, 400),
        ({"Host": "127.0.0.1/evil.example"}, 400),
        ({"Host": ""}, 400),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "http://127.0.0.1:81"}, 403),
        ({"Origin": "null"}, 403),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Sec-Fetch-Site": "same-site"}, 403),
        ({"Sec-Fetch-Site": "none"}, 403),
        ({"Content-Type": "text/plain"}, 415),
    ],
)
def test_requests_of_others_change_nothing(headers, status, client):
    act(client, "task", kind="classification", classes=["yes", "no"])
    row = client.get("/api/state", params=WHO).json()["row"]["id"]
    content = json.dumps({**WHO, "row": row, "label": "yes"})
    good = {"Content-Type": "application/json", "Origin": "http://127.0.0.1:8080"}
    answer = client.post("/api/label", content=content, headers={**good, **headers})
    assert answer.status_code == status
    assert row not in answer.text
    assert client.session.book.labelled == 0
    answer = client.post(
        "/api/label", content=content, headers={**good, "Sec-Fetch-Site": "same-origin"}
    )
    assert answer.json()["labelled"] == 1


def test_headers_let_the_browser_run_nothing_else(client):
    for path in ("/", "/static/page.js", "/api/state?tab=a&person=b", "/nowhere"):
        headers = client.get(path).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert "frame-ancestors 'none'" in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["cache-control"] == "no-store"
        assert "set-cookie" not in headers
    page = client.get("/", headers={"Authorization": ""}).text
    assert "http" not in page  # nothing from elsewhere
    for path in ("/static/..%2f..%2flabel_book.py", "/static/%2e%2e/page_app.py", "/static/x"):
        assert client.get(path).status_code == 404


def test_only_pictures_in_the_folder_of_the_pool_are_served(client):
    act(client, "task", kind="classification", classes=["yes", "no"])
    session, found = client.session, {}
    sheet = session.book.sheet
    for id_, file in zip(sheet.drawn.ids, sheet.shown["file"], strict=True):
        answer = client.get("/api/picture", params={"row": id_, "column": "file"})
        found[os.path.basename(file), file.startswith("pictures")] = answer.status_code
        if answer.status_code == 200:
            assert answer.headers["content-type"] == "image/png"
    assert found.pop(("a.png", True)) == 200
    assert len(found) >= 4
    assert set(found.values()) == {404}
    for query in ({"row": "0", "column": "x"}, {"row": "nowhere", "column": "file"}, {}):
        assert client.get("/api/picture", params=query).status_code == 404


def test_other_machines_need_a_token_and_a_known_name(client):
    from mercer.labelling.page.page_app import page_app

    session = client.session
    for token, message in [(None, "needs a token of your own"), ("short", "at least 16")]:
        with pytest.raises(ValueError, match=message):
            PageServer(session, "0.0.0.0", token=token)
    app = page_app(session, TOKEN, host="0.0.0.0")
    known = ("192.168.1.4:99", "localhost", "[::1]", "[2001:db8::1]:8000", "LOCALHOST:1")
    for name, status in [*((name, 200) for name in known), ("evil.example", 400)]:
        with TestClient(app, base_url=f"http://{name}", headers=HEADERS) as other:
            assert other.get("/api/state", params=WHO).status_code == status


def test_a_server_frees_its_port_and_a_taken_one_is_refused(client):
    server = client.session.serve()
    assert server.link.startswith(f"http://127.0.0.1:{server.port}/#token=")
    with pytest.raises(OSError, match="cannot be used"):
        PageServer(client.session, port=server.port)
    server.stop()
    with PageServer(client.session, port=server.port, framed=True) as again:
        assert again.link in again._repr_html_()


@pytest.mark.parametrize(("shape", "channels"), [("2x3", 1), ("2x2x3", 3)])
def test_pixels_are_the_numbers(shape, channels):
    import base64
    import zlib

    size = int(np.prod([int(part) for part in shape.split("x")]))
    values = np.linspace(0, 1, size)
    data = base64.b64decode(Pixels(shape, values[None]).uri(values).partition(",")[2])
    start = data.index(b"IDAT") + 4
    length = int.from_bytes(data[start - 8 : start - 4], "big")
    lines = np.frombuffer(zlib.decompress(data[start : start + length]), dtype=np.uint8)
    pixels = lines.reshape(2, -1)[:, 1:].ravel()
    assert pixels.tolist() == np.rint(255 * values).astype(int).tolist()
    with pytest.raises(ValueError, match="must have"):
        Pixels("9x9", values[None])
