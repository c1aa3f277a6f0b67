// One channel: who posts, who listens, how long they take, and the last messages.
import {clock, delivery, duration, element, long, plural, rate, setText, short, visible} from "./text.js";

export class Detail {
  #root;
  #feed;
  #closed;
  #channel = null;
  #timer = 0;
  /** The elements of the page, by their `data-part`. */
  #parts = {};
  #opener = null;
  #shownListeners = "";
  #newestShown = -1;

  /** `closed()` is called when the visitor has closed the view. */
  constructor(root, feed, closed) {
    this.#root = root;
    this.#feed = feed;
    this.#closed = closed;
    for (const part of root.querySelectorAll("[data-part]")) this.#parts[part.dataset.part] = part;
    this.#parts.close.addEventListener("click", () => this.close());
    root.addEventListener("keydown", (event) => {
      if (event.key === "Escape") this.close();
    });
    this.#parts.button.addEventListener("click", () => this.#post());
    this.#parts.message.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) this.#post();
    });
  }

  get channel() { return this.#channel; }

  open(channel) {
    if (this.#channel?.id === channel.id) return this.#parts.title.focus();
    if (this.#root.hidden) this.#opener = document.activeElement;
    this.#channel = channel;
    this.#clear();
    this.update();
    this.#root.hidden = false;
    document.body.classList.add("has-detail");
    this.#parts.title.focus();
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

  /** Leaves nothing of the channel that was shown before. */
  #clear() {
    const parts = this.#parts;
    this.#shownListeners = "";
    this.#newestShown = -1;
    setText(parts.name, visible(this.#channel.name));
    parts.subtitle.replaceChildren(
      `${visible(this.#channel.kind)} of `, element("code", {}, visible(this.#channel.type))
    );
    parts.gone.hidden = true;
    parts.post.hidden = true;
    parts.message.value = "";
    setText(parts.result, "");
    setText(parts.listenersTitle, "Listeners");
    parts.listeners.replaceChildren();
    parts.senders.replaceChildren();
    setText(parts.sendersNote, "");
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
    setText(parts.sendersNote, this.#none(detail.senders, "Nobody yet, while this page was open."));
    parts.post.hidden = !detail.isPostable;
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

  async #post() {
    const channel = this.#channel;
    const { button, message, result } = this.#parts;
    const tell = (text, isGood) => {
      if (channel !== this.#channel) return;
      result.className = isGood ? "note good" : "note bad";
      setText(result, text);
    };
    button.disabled = true;
    try {
      const response = await fetch(
        `/messages?id=${encodeURIComponent(channel.id)}`,
        { method: "POST", headers: { "Content-Type": "application/json" }, body: message.value || "{}" }
      );
      const answer = await response.text();
      tell(
        response.ok ? `Posted: ${plural(JSON.parse(answer).reached, "listener")} reached.` : visible(answer.trim()),
        response.ok
      );
    } catch {
      tell("Not posted: there is no connection.", false);
    }
    button.disabled = false;
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
    setText(parts.messagesNote, this.#none(messages, "None."));
  }

  /** What is said of a list that is empty. */
  #none(list, text) {
    if (list.length) return "";
    return this.#feed.tracing === "off" ? "Not recorded: tracing is off." : text;
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
