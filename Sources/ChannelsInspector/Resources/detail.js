// One channel: who posts, who listens, how long they take, and the last messages.
import {delivery, duration, element, fill, long, plural, rate, setText, short, visible} from "./text.js";
import {item} from "./timeline.js";

const mostListeners = 100;
const mostSenders = 50;
const mostMessages = 50;

export class Detail {
  #root;
  #template;
  #feed;
  #closed;
  #channel = null;
  /** The channel of which more is asked for. */
  #asked = null;
  /** The elements of the view, by their `data-part`. */
  #parts = {};
  #opener = null;

  /** `closed()` is called when the visitor has closed the view. */
  constructor(root, template, feed, closed) {
    this.#root = root;
    this.#template = template;
    this.#feed = feed;
    this.#closed = closed;
    root.addEventListener("keydown", (event) => {
      if (event.key === "Escape") this.close();
    });
  }

  get channel() { return this.#channel; }

  open(channel) {
    if (this.#channel?.id === channel.id) return this.#parts.title.focus();
    if (this.#root.hidden) this.#opener = document.activeElement;
    this.#channel = channel;
    this.#start();
    this.#root.hidden = false;
    document.body.classList.add("has-detail");
    this.#parts.title.focus();
  }

  close() {
    this.#channel = null;
    this.#root.hidden = true;
    document.body.classList.remove("has-detail");
    this.#opener?.focus?.();
    this.#closed();
  }

  /** Begins with new elements, so that nothing is left of the channel that was shown before. */
  #start() {
    this.#root.replaceChildren(this.#template.content.cloneNode(true));
    const parts = {};
    for (const part of this.#root.querySelectorAll("[data-part]")) parts[part.dataset.part] = part;
    this.#parts = parts;
    setText(parts.name, visible(this.#channel.name));
    setText(parts.kind, visible(this.#channel.kind));
    setText(parts.type, visible(this.#channel.type));
    parts.close.addEventListener("click", () => this.close());
    parts.button.addEventListener("click", () => this.#post());
    parts.message.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) this.#post();
    });
  }

  /** Called after each picture. */
  update() {
    if (!this.#channel) return;
    const parts = this.#parts;
    const known = this.#feed.channels.get(this.#channel.id);
    parts.gone.hidden = Boolean(known);
    const channel = known ?? this.#channel;
    const numbers = [
      ["posts/s", channel.posts < 0 ? "–" : rate(channel.rate)],
      ["posts", channel.posts < 0 ? "–" : short(channel.posts)],
      ["waiting", short(channel.waiting)],
      ["dropped", short(channel.dropped), channel.dropped > 0],
      ["unreceived", short(channel.unreceived)],
      ["owners lost", short(channel.lostOwners)],
      ["slowest", duration(channel.slowest)],
      ["faults", short(channel.faults), channel.faults > 0],
    ];
    fill(parts.numbers, numbers, ([name, value, isBad]) =>
      element("div", {}, element("dt", {}, name), element("dd", { className: isBad ? "bad" : "" }, value)));
    const messages =
      this.#feed.entries
        .filter((entry) => (entry.kind === "message" || entry.kind === "fault") && entry.channel === channel.name)
        .slice(-mostMessages)
        .reverse();
    fill(parts.messages, messages, (entry) => item(entry));
    setText(parts.messagesNote, this.#none(messages, "None."));
    this.#load();
  }

  /** Asks for what pictures leave out. */
  async #load() {
    const channel = this.#channel;
    const parts = this.#parts;
    if (this.#asked === channel) return;
    this.#asked = channel;
    try {
      const response = await fetch(`/channel?id=${encodeURIComponent(channel.id)}`);
      if (response.ok) this.#show(parts, await response.json());
    } catch {
      // The connection is lost: the status line says so.
    }
    if (this.#asked === channel) this.#asked = null;
  }

  #show(parts, { listeners, senders, isPostable }) {
    const some = listeners.length > mostListeners ? `, ${mostListeners} of them` : "";
    setText(parts.listenersTitle, listeners.length ? plural(listeners.length, "listener") + some : "Nobody listens");
    fill(parts.listeners, listeners.slice(0, mostListeners), listenerItem);
    fill(parts.senders, senders.slice(0, mostSenders), ({ type, site, posts }) => element(
      "li",
      {},
      type ? element("bdi", { className: "owner" }, visible(type))
           : element("span", { className: "note" }, "without a sender"),
      site ? element("code", {}, visible(site)) : null,
      element("span", { className: "count" }, plural(posts, "post"))
    ));
    setText(parts.sendersNote, this.#none(senders, "Nobody yet, while this page was open."));
    parts.post.hidden = !isPostable;
  }

  async #post() {
    const { button, message, result } = this.#parts;
    const tell = (text, isGood) => {
      result.className = isGood ? "note good" : "note bad";
      setText(result, text);
    };
    button.disabled = true;
    try {
      const response = await fetch(
        `/messages?id=${encodeURIComponent(this.#channel.id)}`,
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

  /** What is said of a list that is empty. */
  #none(list, text) {
    if (list.length) return "";
    return this.#feed.tracing === "off" ? "Not recorded: tracing is off." : text;
  }
}

function listenerItem(listener) {
  const { owner, delivered, lane, longestWait } = listener;
  const badge = (text, more = "") => element("span", { className: `badge ${more}` }, text);
  const fact = (count, noun, className = "") =>
    count ? element("span", { className }, `${short(count)} ${noun}`) : null;
  return element(
    "li",
    {},
    element(
      "div",
      { className: "who" },
      element("bdi", { className: "owner" }, owner ? visible(owner) : "token"),
      badge(delivery(listener.delivery)),
      listener.priority ? badge(`priority ${priority(listener.priority)}`) : null,
      lane && lane !== owner ? badge(`lane ${visible(lane)}`) : null,
      listener.isPaused ? badge("paused", "warn") : null
    ),
    element("code", { className: "site" }, visible(listener.site)),
    element(
      "p",
      { className: "facts" },
      fact(delivered, "delivered"),
      fact(listener.waiting, "waiting"),
      fact(listener.mostWaiting, "waited at most"),
      fact(listener.failures, "failed", "bad"),
      fact(listener.dropped, "dropped", "bad"),
      fact(listener.missed, "missed while paused", "bad"),
      longestWait ? element("span", {}, `at most ${duration(longestWait)} on the way`) : null,
      delivered ? null : element("span", {}, delivered === 0 ? "nothing yet" : "not counted")
    ),
    listener.times.length ? histogram(listener.times, listener.longest) : null
  );
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
