"""Nobody but who has the link sees anything, and nothing in the cluster becomes a script."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

import pytest
from tests.browser.conftest import Serve, node, pod, small_cluster

MARKUP = '<img src=x onerror="window.hacked=1">'
SCRIPT = "<script>window.hacked=1</script>"


@pytest.fixture
def other_site() -> Iterator[str]:
    """An address of another origin, with an empty page."""

    class Empty(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("content-type", "text/html")
            self.end_headers()
            self.wfile.write(b"<!doctype html><title>elsewhere</title>")

        def log_message(self, *_: object) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Empty)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://elsewhere.test:{server.server_address[1]}"
    server.shutdown()
    server.server_close()


def test_without_the_link_there_is_nothing(tab: Any, serve: Serve) -> None:
    """The page says what to do; its questions are refused."""
    address = serve(small_cluster()).partition("?")[0]
    tab.goto(address)
    tab.get_by_text("open the page with the link").wait_for()
    assert tab.request.get(f"{address}api/queue").status == 401
    assert tab.request.get(f"{address}?token=guess").status == 401


def test_another_host_name(tab: Any, serve: Serve) -> None:
    """A name that was pointed at this machine (DNS rebinding) is refused, even with the token."""
    parts = urlsplit(serve(small_cluster()))
    answer = tab.goto(f"http://rebound.test:{parts.port}/?{parts.query}")
    assert answer.status == 403
    assert "is not a name of this server" in tab.content()


def test_another_origin(tab: Any, serve: Serve, other_site: str) -> None:
    """A page of another site can neither read, post, nor show ours in a frame, though the browser has the cookie."""
    link = serve(small_cluster())
    tab.goto(link)
    tab.wait_for_selector("canvas[data-painted]")
    parts = urlsplit(link)
    address = f"{parts.scheme}://{parts.netloc}"
    tab.goto(other_site)
    outcome = tab.evaluate(
        """async (address) => {
            const read = await fetch(`${address}/api/queue`, {credentials: "include"})
                .then(() => "read", () => "refused");
            const opaque = await fetch(`${address}/api/queue`, {mode: "no-cors", credentials: "include"})
                .then((answer) => answer.type, () => "refused");
            const script = await new Promise((done) => {
                const element = document.createElement("script");
                element.src = `${address}/static/main.js`;
                element.onload = () => done("loaded");
                element.onerror = () => done("refused");
                document.head.append(element);
            });
            const post = await fetch(`${address}/api/what-if`, {method: "POST", body: "{}"})
                .then(() => "read", () => "refused");
            return {read, opaque, script, post};
        }""",
        address,
    )
    assert outcome["read"] == outcome["script"] == outcome["post"] == "refused"
    assert outcome["opaque"] in ("refused", "opaque")  # an opaque answer cannot be read
    frame = tab.evaluate(
        """async (address) => {
            const frame = document.createElement("iframe");
            frame.src = address;
            document.body.append(frame);
            await new Promise((done) => { frame.onload = done; setTimeout(done, 3000); });
            try { return frame.contentDocument ? "readable" : "foreign"; } catch { return "foreign"; }
        }""",
        address,
    )
    assert frame == "foreign"
    shown = [one for one in tab.frames if one != tab.main_frame]
    assert all("kubesched" not in (one.title() or "") for one in shown)


def test_a_link_on_another_site_may_lead_here(tab: Any, serve: Serve, other_site: str) -> None:
    """Who has the cookie and follows a colleague's link sees the view."""
    link = serve(small_cluster())
    tab.goto(link)
    tab.wait_for_selector("canvas[data-painted]")
    parts = urlsplit(link)
    tab.goto(other_site)
    tab.evaluate("address => { location.href = address; }", f"{parts.scheme}://{parts.netloc}/#/pod/default/large")
    tab.get_by_text("Fits nowhere").wait_for()


def test_markup_in_the_cluster_stays_text(tab: Any, serve: Serve) -> None:
    """Names, labels and namespaces with markup, as a hostile API server may have them, in every view."""
    hostile = [
        node(MARKUP, labels={"topology.kubernetes.io/zone": SCRIPT, f"{SCRIPT}/key": MARKUP}),
        node("plain", labels={"topology.kubernetes.io/zone": MARKUP}),
        pod(f"placed-{SCRIPT}", on="plain", labels={"app": SCRIPT}),
        pod("waits", namespace=MARKUP.replace("/", ""), cpu="99"),
    ]
    link = serve(hostile)
    tab.goto(link)
    tab.wait_for_selector("canvas[data-painted]")
    tab.keyboard.press("ArrowRight")
    tab.locator("aside h2").wait_for()
    tab.locator("aside summary").click()
    assert SCRIPT in tab.locator("aside").inner_text() or MARKUP in tab.locator("aside").inner_text()
    tab.keyboard.press("Escape")
    tab.keyboard.press("/")
    tab.keyboard.type("<")
    tab.get_by_role("option").first.wait_for()
    tab.keyboard.press("Escape")
    tab.goto(f"{link}#/queue")
    tab.get_by_role("cell", name="waits").wait_for()
    tab.locator("td.name a").click()
    tab.get_by_text("Fits nowhere").wait_for()
    tab.get_by_role("button", name="which?").first.click()
    assert tab.locator(".names a").first.is_visible()
    assert tab.evaluate("window.hacked") is None
    assert tab.locator("img[onerror]").count() == 0


def test_nothing_is_loaded_from_elsewhere(tab: Any, serve: Serve) -> None:
    link = serve(small_cluster())
    asked: list[str] = []
    tab.on("request", lambda request: asked.append(request.url))
    tab.goto(link)
    tab.wait_for_selector("canvas[data-painted]")
    assert {urlsplit(url).netloc for url in asked} == {urlsplit(link).netloc}
