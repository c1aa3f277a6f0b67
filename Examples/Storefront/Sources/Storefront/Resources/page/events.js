// The office as the server tells it: the state at once, then every change, each once and in order.

// office(state) for each change; missed(count) for changes the server left out because this page was slow;
// connection("live" or "lost").
export function listen({ office, missed, connection }) {
  let source;
  let timer;
  let seen = { run: "", version: -1 };

  function open() {
    clearTimeout(timer);
    source?.close();
    source = new EventSource("/events");
    source.addEventListener("open", () => connection("live"));
    source.addEventListener("missed", (event) => missed(Number(event.data)));
    source.addEventListener("office", (event) => {
      const [run, text] = event.lastEventId.split(".");
      const version = Number(text);
      // After a reconnection the state comes again, also where nothing has changed.
      if (run === seen.run && version <= seen.version) return;
      seen = { run, version };
      office(JSON.parse(event.data));
    });
    source.addEventListener("error", () => {
      connection("lost");
      // It tries again by itself, unless the server has refused it.
      if (source.readyState === EventSource.CLOSED) timer = setTimeout(open, 2000);
    });
  }

  // A browser opens six connections to a server, however many tabs there are: one that nobody sees gives its own
  // up, and gets the state as it is when it is looked at again.
  document.addEventListener("visibilitychange", () => {
    clearTimeout(timer);
    if (document.hidden) source?.close();
    else open();
  });
  if (!document.hidden) open();
}
