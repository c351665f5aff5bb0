"""A browser context that records errors, warnings and failed requests, and blocks requests to other origins."""

from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, ConsoleMessage, Page, Request, Route
from tests.web.browser.site import Site

READY_MILLISECONDS = 20_000
RESET = """async () => {
  const { fitMap, map, setMode } = await import('./static/map.js');
  const { clearSelection } = await import('./static/map_input.js');
  const { publish, store } = await import('./static/store.js');
  localStorage.clear();
  location.hash = '#/config';
  await new Promise(requestAnimationFrame);
  location.hash = '#/map';
  await new Promise(requestAnimationFrame);
  for (const [id, value] of [['group-first', 'topology.kubernetes.io/zone'], ['group-second', 'pool']]) {
    const list = document.getElementById(id);
    if (list.value !== value) {
      list.value = value;
      list.dispatchEvent(new Event('change'));
    }
  }
  history.replaceState(null, '', '#/map');
  document.getElementById('search').value = '';
  document.activeElement.blur();
  clearSelection();
  map.cursor = -1;
  setMode('fullest');
  fitMap();
  store.focus = null;
  publish('focus');
  await new Promise(requestAnimationFrame);
}"""


class Visit:
    """One page in a context of its own, logged in."""

    def __init__(self, browser: Browser, site: Site, *, width: int, height: int, theme: str, **options: Any) -> None:
        self.site = site
        self.messages: list[str] = []
        self.expected: tuple[str, ...] = options.pop("expected", ())
        """Parts of messages that the test provokes."""
        self.context = browser.new_context(
            viewport={"width": width, "height": height}, color_scheme=theme, reduced_motion="reduce", **options
        )
        self.context.set_default_timeout(READY_MILLISECONDS)
        self.context.route(lambda url: not url.startswith((site.origin, "blob:", "data:")), self._elsewhere)
        self.page: Page = self.context.new_page()
        self.page.on("console", self._console)
        self.page.on("pageerror", lambda error: self._add(f"exception: {error}"))
        self.page.on("requestfailed", self._failed)

    def open(self, fragment: str = "", *, ready: bool = True) -> Page:
        """Logs in and opens a view; waits until it is ready."""
        self.context.request.get(self.site.login)
        self.page.goto(f"{self.site.origin}/{fragment}")
        if ready:
            self.page.locator("html[data-ready][data-painted]").wait_for(state="attached")
        return self.page

    def go(self, fragment: str) -> Page:
        """Opens another view of the same page."""
        self.page.evaluate("fragment => { location.hash = fragment; }", fragment)
        return self.page

    def reset(self) -> None:
        """Brings the page back to the map, as after loading."""
        self.page.mouse.move(0, 0)
        self.page.evaluate(RESET)

    def state(self, expression: str) -> Any:
        """A value of the page: `stowplan` has the map and the store."""
        return self.page.evaluate(f"() => {expression}")

    def screenshot(self, folder: Path | None, name: str) -> None:
        if folder is not None:
            self.page.screenshot(path=folder / f"{name}.png")

    def close(self) -> None:
        self.context.close()

    def _console(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self._add(f"{message.type}: {message.text}")

    def _failed(self, request: Request) -> None:
        if request.failure != "net::ERR_ABORTED":  # by leaving the page
            self._add(f"failed: {request.url} {request.failure}")

    def _elsewhere(self, route: Route) -> None:
        self._add(f"request elsewhere: {route.request.url}")
        route.abort()

    def _add(self, text: str) -> None:
        if not any(part in text for part in self.expected):
            self.messages.append(text)
