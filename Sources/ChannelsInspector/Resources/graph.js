// The graph: senders on the left, channels in the middle, owners of listeners on the right.
import {drawing, element, long, plural, rate, setText, visible} from "./text.js";

const most = 24;

export class Graph {
  #root;
  #note;
  #feed;
  #open;
  #shown = [];
  #signature = "";
  #chosenAt = 0;
  /** The button of each channel and the lines from and to it, by the identifier of the channel. */
  #drawn = new Map();
  #edges = [];

  constructor(root, note, feed, open) {
    this.#root = root;
    this.#note = note;
    this.#feed = feed;
    this.#open = open;
    new ResizeObserver(() => this.#connect()).observe(root);
  }

  /** Draws the busiest of the channels that pass the filter. */
  update(matching) {
    const now = performance.now();
    const candidates = matching.filter((channel) => channel.kind !== "pattern");
    const known = new Set(candidates);
    // The choice changes every three seconds at most: a graph that jumps cannot be read.
    const isStale =
      this.#shown.length < Math.min(most, candidates.length) || this.#shown.some((each) => !known.has(each));
    if (isStale || (candidates.length > most && now - this.#chosenAt > 3_000)) {
      this.#chosenAt = now;
      this.#shown = choose(candidates, most, this.#feed.time, this.#shown);
    }
    const text = candidates.length > this.#shown.length
      ? `The busiest ${this.#shown.length} of ${plural(candidates.length, "channel")}. Filter to see others.`
      : "";
    setText(this.#note, text);
    const signature = JSON.stringify(this.#shown.map((each) => [each.id, each.senders, each.owners]));
    if (signature !== this.#signature) {
      this.#signature = signature;
      this.#layOut();
    }
    this.#refresh();
  }

  #layOut() {
    if (!this.#shown.length) {
      const text = this.#feed.channels.size ? "No channel matches the filter."
                                            : "No channels yet. They show as soon as somebody listens.";
      return this.#root.replaceChildren(element("p", { className: "empty" }, text));
    }
    const focused = document.activeElement?.channel;
    const senders = boxes("sender", order(this.#shown, "senders"));
    const owners = boxes("owner", order(this.#shown, "owners"));
    const buttons = [];
    const lines = drawing("svg", { class: "lines", "aria-hidden": "true" });
    this.#drawn.clear();
    this.#edges = [];
    for (const channel of this.#shown) {
      const button = this.#button(channel);
      const group = drawing("g");
      const connect = (from, to) => {
        const path = drawing("path");
        group.append(path);
        this.#edges.push({ path, from, to });
      };
      for (const name of channel.senders) connect(senders.get(name), button);
      for (const name of channel.owners) connect(button, owners.get(name));
      buttons.push(button);
      lines.append(group);
      this.#drawn.set(channel.id, { button, group });
    }
    const columns = [[...senders.values()], buttons, [...owners.values()]];
    const nodes = element(
      "div",
      {
        className: "nodes",
        role: "group",
        "aria-label": "Graph of the channels of the table: senders, channels, owners of listeners"
      },
      lines,
      ...columns.map((column) => element("div", { className: "column" }, ...column))
    );
    nodes.style.setProperty("--rows", Math.max(...columns.map((column) => column.length)));
    this.#root.replaceChildren(nodes);
    this.#connect();
    this.#drawn.get(focused)?.button.focus();
  }

  #button(channel) {
    return element(
      "button",
      { type: "button", className: "node channel", channel: channel.id, onclick: () => this.#open(channel) },
      element("bdi", {}, visible(channel.name)),
      element("span", { className: "rate" })
    );
  }

  /** Draws the lines where the nodes are. */
  #connect() {
    // All places are read before anything is drawn, so that they are computed once.
    const shapes = this.#edges.map(({ from, to }) => {
      const start = from.offsetLeft + from.offsetWidth;
      const end = to.offsetLeft;
      const bend = Math.max((end - start) / 2, 12);
      const [y1, y2] = [from, to].map((node) => node.offsetTop + node.offsetHeight / 2);
      return `M${start} ${y1}C${start + bend} ${y1} ${end - bend} ${y2} ${end} ${y2}`;
    });
    this.#edges.forEach(({ path }, index) => path.setAttribute("d", shapes[index]));
  }

  #refresh() {
    const selected = this.#feed.selected;
    this.#root.classList.toggle("has-selection", this.#shown.some((each) => each.id === selected));
    for (const channel of this.#shown) {
      const { button, group } = this.#drawn.get(channel.id);
      const isFaulty = channel.isFaulty(this.#feed.time);
      for (const part of [button, group]) {
        part.classList.toggle("faulty", isFaulty);
        part.classList.toggle("selected", channel.id === selected);
      }
      group.classList.toggle("silent", !channel.rate);
      group.style.strokeWidth = channel.rate ? Math.min(1.25 + Math.log10(1 + channel.rate) * 1.5, 9).toFixed(2) : 1;
      const text = isFaulty ? `⚠ ${rate(channel.rate)}` : channel.posts < 0 ? "" : rate(channel.rate);
      setText(button.lastChild, text);
      const faults = channel.faults ? `, ${plural(channel.faults, "fault")}` : "";
      button.title = `${visible(channel.name)}, ${long(channel.rate)} posts a second, ` +
        plural(channel.listeners, "listener") + faults;
      button.setAttribute("aria-label", button.title);
    }
  }
}

/** The boxes of senders or of owners, by their names. */
function boxes(kind, names) {
  return new Map(names.map((name) => {
    const text = visible(name);
    return [name, element("div", { className: `node ${kind}`, title: text }, element("bdi", {}, text))];
  }));
}

/** The busiest, faulty ones before all others; those that are shown already stay unless others are twice as busy. */
function choose(candidates, count, now, shown) {
  const before = new Set(shown);
  const weight = (channel) => (channel.isFaulty(now) ? 1e12 : 0) +
    (channel.rate + (channel.listeners ? 0.001 : 0)) * (before.has(channel) ? 2 : 1);
  const weights = new Map(candidates.map((channel) => [channel, weight(channel)]));
  return [...candidates]
    .sort((a, b) => weights.get(b) - weights.get(a) || (a.id < b.id ? -1 : 1))
    .slice(0, count)
    .sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** Names of senders or owners, each at the mean height of its channels, so that few lines cross. */
function order(channels, key) {
  const places = new Map();
  channels.forEach((channel, place) => {
    for (const name of channel[key]) places.set(name, [...(places.get(name) ?? []), place]);
  });
  const mean = (name) => places.get(name).reduce((sum, place) => sum + place) / places.get(name).length;
  return [...places.keys()].sort((a, b) => mean(a) - mean(b) || (a < b ? -1 : 1));
}
