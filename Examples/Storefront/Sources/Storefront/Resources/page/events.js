// The office as the server tells it: the state at once, then every change, each once and in order.

const rows = 8;

// office(state) for each change; missed(count) for changes the server left out because this page was slow;
// connection("live" or "lost").
export function listen({ office, missed, connection }) {
  let source;
  let timer;
  let seen = { run: "", version: -1 };
  let state;

  function take(event, read) {
    const [run, text] = event.lastEventId.split(".");
    const version = Number(text);
    // Nothing that was seen before is shown again.
    if (run === seen.run && version <= seen.version) return;
    seen = { run, version };
    state = read(event.data);
    office(state);
  }

  function open() {
    clearTimeout(timer);
    source?.close();
    source = new EventSource("/events");
    source.addEventListener("open", () => connection("live"));
    source.addEventListener("missed", (event) => missed(Number(event.data)));
    source.addEventListener("office", (event) => take(event, JSON.parse));
    // A change has the figures as they are, but of the sales only those that are new.
    source.addEventListener("change", (event) => take(event, (text) => {
      const change = JSON.parse(text);
      return { ...change, recent: [...change.recent, ...state.recent].slice(0, rows) };
    }));
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
