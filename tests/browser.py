"""A real browser for the page: Debian's chromium. Without one its tests are skipped, but in CI they fail."""

import os
import shutil

import pytest


@pytest.fixture(scope="session")
def chromium():
    executable = shutil.which("chromium") or shutil.which("chromium-browser")
    if executable is None:
        reason = "no chromium on this machine (Debian: apt-get install chromium)"
        pytest.fail(reason) if os.environ.get("CI") == "true" else pytest.skip(reason)
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        # Everything that a browser does on its own account is off: what is requested, the page asked for.
        flags = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-background-networking"]
        browser = playwright.chromium.launch(executable_path=executable, args=flags)
        yield browser
        browser.close()


class Opened:
    """A page in the browser, with everything it complained about or asked for."""

    def __init__(self, browser, path, **options):
        self.context = browser.new_context(**options)
        self.page = self.context.new_page()
        self.complaints, self.requests = [], []
        self.page.on("console", lambda message: self._note(message))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.address = path.resolve().as_uri()
        self.page.goto(self.address)
        self.page.wait_for_selector("html[data-ready=true]", state="attached")

    def _note(self, message):
        if message.type in ("error", "warning"):
            self.complaints.append(message.text)

    @property
    def left(self):
        """Requests for anything but the file itself and what stands in it."""
        return [url for url in self.requests if url != self.address and not url.startswith("data:")]

    def pixels(self, canvas):
        return self.page.evaluate(f"document.getElementById('{canvas}').toDataURL()")


@pytest.fixture
def opened(chromium):
    made = []

    def open_page(path, **options):
        made.append(Opened(chromium, path, **options))
        return made[-1]

    yield open_page
    for one in made:
        one.context.close()
