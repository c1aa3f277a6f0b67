// One channel: who posts, who listens, how long they take, and the last messages.
import {clock, delivery, duration, element, long, plural, rate, setText, short, visible} from "./text.js";

export class Detail {
  #root;
  #feed;
  #closed;
  #channel = null;
  #timer = 0;
  #parts = null;
  #opener = null;
  #shownListeners = "";
  #newestShown = -1;

  /** `closed()` is called when the visitor has closed the view. */
  constructor(root, feed, closed) {
    this.#root = root;
    this.#feed = feed;
    this.#closed = closed;
    root.addEventListener("keydown", (event) => {
      if (event.key === "Escape") this.close();
    });
  }

  get channel() { return this.#channel; }

  open(channel) {
    if (this.#channel?.id === channel.id && !this.#root.hidden) return this.#parts.title.focus();
    if (this.#root.hidden) this.#opener = document.activeElement;
    this.#channel = channel;
    this.#build();
    this.#root.hidden = false;
    document.body.classList.add("has-detail");
    this.#parts.title.focus({ preventScroll: false });
    this.#load();
  }

  close() {
    clearTimeout(this.#timer);
    this.#channel = null;
    this.#root.hidden = true;
    document.body.classList.remove("has-detail");
    this.#opener?.focus?.();
    this.#closed();
  }

  #build() {
    const channel = this.#channel;
    const close = element("button", { type: "button", className: "close", "aria-label": "Close the details" }, "×");
    close.addEventListener("click", () => this.close());
    const title = element("h2", { id: "detail-title", tabIndex: -1 }, element("bdi", {}, visible(channel.name)));
    const parts = {
      title,
      subtitle: element(
        "p",
        { className: "subtitle" },
        `${visible(channel.kind)} of `,
        element("code", {}, visible(channel.type))
      ),
      numbers: element("dl", { className: "numbers" }),
      gone: element(
        "p", { className: "note", hidden: true }, "This channel is gone. It shows again when somebody listens."
      ),
      post: element("div"),
      senders: element("ul", { className: "senders" }),
      sendersNote: element("p", { className: "note" }),
      listeners: element("ul", { className: "listeners" }),
      listenersTitle: element("h3", {}, "Listeners"),
      messages: element("ol", { className: "messages" }),
      messagesNote: element("p", { className: "note" }),
    };
    this.#parts = parts;
    this.#shownListeners = "";
    this.#newestShown = -1;
    this.#root.replaceChildren(
      element("div", { className: "title" }, title, close),
      parts.subtitle,
      parts.gone,
      parts.numbers,
      parts.listenersTitle,
      parts.listeners,
      element("h3", {}, "Posted by"),
      parts.senders,
      parts.sendersNote,
      parts.post,
      element("h3", {}, "Messages of the last minute"),
      parts.messages,
      parts.messagesNote
    );
    this.update();
  }

  async #load() {
    clearTimeout(this.#timer);
    const channel = this.#channel;
    if (!channel) return;
    try {
      const response = await fetch(`/channel?id=${encodeURIComponent(channel.id)}`);
      if (this.#channel !== channel) return;
      this.#parts.gone.hidden = response.status !== 404;
      if (response.ok) this.#show(await response.json());
    } catch {
      // The connection is lost: the status line says so.
    }
    this.#timer = setTimeout(() => this.#load(), 1_000);
  }

  #show(detail) {
    const parts = this.#parts;
    const text = JSON.stringify(detail.listeners);
    if (text !== this.#shownListeners) {
      this.#shownListeners = text;
      setText(
        parts.listenersTitle, detail.listeners.length ? plural(detail.listeners.length, "listener") : "Nobody listens"
      );
      const shown = detail.listeners.slice(0, 100);
      parts.listeners.replaceChildren(...shown.map((listener) => this.#listener(listener)));
      if (shown.length < detail.listeners.length) {
        parts.listeners.append(
          element("li", { className: "note" }, `and ${long(detail.listeners.length - shown.length)} more`)
        );
      }
    }
    parts.senders.replaceChildren(...detail.senders.slice(0, 50).map(
      (sender) => element(
        "li",
        {},
        sender.type ? element("bdi", { className: "owner" }, visible(sender.type))
                    : element("span", { className: "note" }, "without a sender"),
        sender.site ? element("code", {}, visible(sender.site)) : null,
        element("span", { className: "count" }, plural(sender.posts, "post"))
      )
    ));
    setText(
      parts.sendersNote,
      detail.senders.length            ? ""
        : this.#feed.tracing === "off" ? "Not recorded: tracing is off."
                                       : "Nobody yet, while this page was open."
    );
    if (detail.isPostable && !parts.post.hasChildNodes()) parts.post.append(...this.#postForm());
  }

  #listener(listener) {
    const fact = (count, noun, isBad) =>
      count ? element("span", { className: isBad ? "bad" : "" }, `${short(count)} ${noun}`) : null;
    return element(
      "li",
      {},
      element(
        "div",
        { className: "who" },
        element("bdi", { className: "owner" }, listener.owner ? visible(listener.owner) : "token"),
        element("span", { className: "badge" }, delivery(listener.delivery)),
        listener.priority ? element("span", { className: "badge" }, `priority ${priority(listener.priority)}`) : null,
        listener.lane && listener.lane !== listener.owner
          ? element("span", { className: "badge" }, `lane ${visible(listener.lane)}`)
          : null,
        listener.isPaused ? element("span", { className: "badge warn" }, "paused") : null
      ),
      element("code", { className: "site" }, visible(listener.site)),
      element(
        "p",
        { className: "facts" },
        fact(listener.delivered, "delivered"),
        fact(listener.waiting, "waiting"),
        fact(listener.mostWaiting, "waited at most"),
        fact(listener.failures, "failed", true),
        fact(listener.dropped, "dropped", true),
        fact(listener.missed, "missed while paused", true),
        listener.longestWait ? element("span", {}, `at most ${duration(listener.longestWait)} on the way`) : null,
        listener.delivered === undefined ? element("span", {}, "not counted")
          : listener.delivered === 0     ? element("span", {}, "nothing yet")
                                         : null
      ),
      listener.times?.length ? histogram(listener.times, listener.longest) : null
    );
  }

  #postForm() {
    const text =
      element("textarea", { rows: 4, spellcheck: false, placeholder: "{}", id: "message", autocomplete: "off" });
    const result = element("p", { className: "note", role: "status" });
    const button = element("button", { type: "button" }, "Post");
    const channel = this.#channel;
    const send = async () => {
      button.disabled = true;
      try {
        const response = await fetch(
          `/messages?id=${encodeURIComponent(channel.id)}`,
          { method: "POST", headers: { "Content-Type": "application/json" }, body: text.value || "{}" }
        );
        const answer = await response.text();
        result.className = response.ok ? "note good" : "note bad";
        setText(
          result,
          response.ok ? `Posted: ${plural(JSON.parse(answer).reached, "listener")} reached.` : visible(answer.trim())
        );
      } catch {
        result.className = "note bad";
        setText(result, "Not posted: there is no connection.");
      }
      button.disabled = false;
    };
    button.addEventListener("click", send);
    text.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) send();
    });
    return [
      element("h3", {}, "Post a test message"),
      element("label", { htmlFor: "message", className: "hidden" }, "The message, as JSON"),
      text,
      element("div", { className: "post" }, button, result),
    ];
  }

  /** Called after each picture. */
  update() {
    if (!this.#channel) return;
    // Another one after it was gone.
    const channel = this.#feed.channels.get(this.#channel.id) ?? this.#channel;
    const parts = this.#parts;
    const numbers = [
      ["posts/s", channel.posts < 0 ? "–" : rate(channel.rate)],
      ["posts", channel.posts < 0 ? "–" : short(channel.posts)],
      ["waiting", short(channel.waiting)],
      ["dropped", short(channel.dropped), channel.dropped > 0],
      ["unheard", short(channel.unheard)],
      ["owners lost", short(channel.lostOwners)],
      ["slowest", duration(channel.slowest)],
      ["faults", short(channel.faults), channel.faults > 0],
    ];
    if (!parts.numbers.children.length) {
      parts.numbers.append(...numbers.map(([name]) => element("div", {}, element("dt", {}, name), element("dd"))));
    }
    numbers.forEach(([, value, isBad], index) => {
      const cell = parts.numbers.children[index].lastChild;
      setText(cell, value);
      cell.classList.toggle("bad", Boolean(isBad));
    });
    const messages =
      this.#feed.entries
        .filter((entry) => (entry.kind === "message" || entry.kind === "fault") && entry.channel === channel.name)
        .slice(-50)
        .reverse();
    const newest = messages[0]?.serial ?? 0;
    if (newest !== this.#newestShown) {
      this.#newestShown = newest;
      parts.messages.replaceChildren(...messages.map(
        (entry) => element(
          "li",
          { className: entry.kind },
          element("time", {}, clock(entry.time)),
          entry.sender ? element("bdi", { className: "owner" }, visible(entry.sender)) : null,
          element("bdi", { className: "text" }, visible(entry.text))
        )
      ));
    }
    setText(
      parts.messagesNote,
      messages.length                  ? ""
        : this.#feed.tracing === "off" ? "Not recorded: tracing is off."
                                       : "None."
    );
  }
}

function priority(rank) { return { 100 : "high", "-100": "low" }[rank] ?? long(rank); }

/** How long the calls took: a bar for each power of two of nanoseconds. */
function histogram(times, longest) {
  const first = Math.max(0, times.findIndex((count) => count > 0));
  const classes = times.slice(first);
  const most = Math.max(...classes, 1);
  const bars = classes.map((count, index) => {
    const bar = element(
      "span", { className: "bar", title: `${plural(count, "call")} up to ${duration(2 ** (first + index))}` }
    );
    bar.style.blockSize = `${count ? Math.max(6, Math.sqrt(count / most) * 100) : 0}%`;
    return bar;
  });
  const label = `Calls by duration, from ${duration(2 ** first)} to ${duration(longest)}`;
  return element(
    "div",
    { className: "histogram", role: "img", "aria-label": label },
    element("div", { className: "bars" }, ...bars),
    element(
      "div",
      { className: "axis" },
      element("span", {}, duration(2 ** first)),
      element("span", {}, `longest ${duration(longest)}`)
    )
  );
}
