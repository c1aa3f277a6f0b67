// The graph: senders on the left, channels in the middle, owners of listeners on the right.
import {drawing, element, long, plural, rate, setText, visible} from "./text.js";

const rowHeight = 34;
const boxHeight = 26;
const padding = 14;
const most = 24;
/** The room of the rate in the box of a channel. */
const numberWidth = 52;

export class Graph {
  #root;
  #note;
  #feed;
  #open;
  #shown = [];
  #signature = "";
  #chosenAt = 0;
  #nodes = new Map();
  #edges = [];
  #measure = document.createElement("canvas").getContext("2d");

  constructor(root, note, feed, open) {
    this.#root = root;
    this.#note = note;
    this.#feed = feed;
    this.#open = open;
    new ResizeObserver(() => {
      this.#signature = "";
      this.update(this.matching ?? []);
    }).observe(root);
  }

  /** Draws the busiest of the channels that pass the filter. */
  update(matching) {
    this.matching = matching;
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
    const signature = JSON.stringify(
      this.#shown.map((each) => [each.id, each.name, each.senders, each.owners])
    );
    if (signature !== this.#signature) {
      this.#signature = signature;
      this.#layOut();
    }
    this.#refresh();
  }

  #layOut() {
    const focused = document.activeElement?.channel;
    this.#root.replaceChildren();
    this.#nodes.clear();
    this.#edges = [];
    if (!this.#shown.length) {
      this.#root.append(element(
        "p",
        { className: "empty" },
        this.#feed.channels.size ? "No channel matches the filter."
                                 : "No channels yet. They show as soon as somebody listens."
      ));
      return;
    }
    const links = [];
    for (const channel of this.#shown) {
      for (const name of channel.senders) links.push({ channel, side: "left", name });
      for (const name of channel.owners) links.push({ channel, side: "right", name });
    }
    const left = order(links.filter((link) => link.side === "left"), this.#shown);
    const right = order(links.filter((link) => link.side === "right"), this.#shown);
    const style = getComputedStyle(this.#root);
    this.#measure.font = `600 13px ${style.fontFamily}`;
    const width = Math.max(this.#root.clientWidth - 2, 300);
    const columns = left.length ? 3 : 2;
    const gap = Math.max(32, Math.min(120, width * 0.1));
    const room = (width - gap * (columns - 1)) / columns;
    const rows = Math.max(left.length, this.#shown.length, right.length);
    const height = Math.max(rows * rowHeight + 8, Math.min(this.#root.clientHeight - 4, rows * 64));
    const svg = drawing("svg", {
      viewBox: `0 0 ${width} ${height}`,
      width,
      height,
      role: "group",
      "aria-label": "Graph of the channels of the table: senders, channels, owners of listeners"
    });
    const edgeLayer = drawing("g", { class: "edges", "aria-hidden": "true" });
    const nodeLayer = drawing("g", { class: "nodes" });
    svg.append(edgeLayer, nodeLayer);
    const widest = (names, extra) =>
      Math.min(room, Math.max(...names.map((name) => this.#width(visible(name))), 40) + 2 * padding + extra);
    const leftWidth = left.length ? widest(left, 0) : 0;
    const rightWidth = right.length ? widest(right, 0) : 0;
    const middleWidth = widest(this.#shown.map((each) => each.name), numberWidth + 4);
    const middle = left.length ? leftWidth + (width - leftWidth - rightWidth - middleWidth) / 2 : 0;
    const place = (names, x, boxWidth, kind) => {
      const step = height / names.length;
      names.forEach((name, index) => {
        const y = step * (index + 0.5);
        const node = this.#box(kind, name, x, y, boxWidth);
        nodeLayer.append(node.group);
        this.#nodes.set(`${kind} ${kind === "channel" ? this.#shown[index].id : name}`, node);
      });
    };
    place(left, 1, leftWidth, "sender");
    place(this.#shown.map((each) => each.name), middle + 1, middleWidth - 2, "channel");
    place(right, width - rightWidth - 1, rightWidth, "owner");
    this.#shown.forEach((channel) => this.#makeButton(this.#nodes.get(`channel ${channel.id}`), channel));
    for (const link of links) {
      const channel = this.#nodes.get(`channel ${link.channel.id}`);
      const other = this.#nodes.get(`${link.side === "left" ? "sender" : "owner"} ${link.name}`);
      const [from, to] = link.side === "left" ? [other, channel] : [channel, other];
      const start = from.x + from.width;
      const bend = Math.max((to.x - start) * 0.5, 12);
      const path =
        drawing("path", { d: `M${start} ${from.y}C${start + bend} ${from.y} ${to.x - bend} ${to.y} ${to.x} ${to.y}` });
      edgeLayer.append(path);
      this.#edges.push({ path, id: link.channel.id });
    }
    this.#root.append(svg);
    if (focused) this.#nodes.get(`channel ${focused}`)?.group.focus();
  }

  #width(text) { return this.#measure.measureText(text).width; }

  #box(kind, name, x, y, width) {
    const group = drawing("g", { class: `node ${kind}` });
    const rect = drawing(
      "rect", { x, y: y - boxHeight / 2, width, height: boxHeight, rx: kind === "channel" ? boxHeight / 2 : 6 }
    );
    const text = visible(name);
    const label = drawing("text", { x: x + padding, y: y + 4.5 });
    label.textContent = this.#fit(text, width - 2 * padding - (kind === "channel" ? numberWidth : 0));
    const title = drawing("title");
    title.textContent = text;
    group.append(title, rect, label);
    return { group, rect, label, title, x, y, width, text };
  }

  #makeButton(node, channel) {
    const number =
      drawing("text", { x: node.x + node.width - padding, y: node.y + 4.5, "text-anchor": "end", class: "rate" });
    node.group.append(number);
    node.number = number;
    node.group.setAttribute("tabindex", "0");
    node.group.setAttribute("role", "button");
    node.group.channel = channel.id;
    const open = () => this.#open(this.#feed.channels.get(channel.id) ?? channel);
    node.group.addEventListener("click", open);
    node.group.addEventListener("keydown", (event) => {
      if (event.key === "Enter" || event.key === " ") {
        event.preventDefault();
        open();
      }
    });
  }

  #fit(text, room) {
    if (this.#width(text) <= room) return text;
    const characters = [...text];
    while (characters.length && this.#width(characters.join("") + "…") > room) characters.pop();
    return characters.join("") + "…";
  }

  #refresh() {
    const selected = this.#feed.selected;
    this.#root.classList.toggle("has-selection", this.#shown.some((each) => each.id === selected));
    for (const channel of this.#shown) {
      const node = this.#nodes.get(`channel ${channel.id}`);
      if (!node) continue;
      const isFaulty = channel.isFaulty(this.#feed.time);
      node.group.classList.toggle("faulty", isFaulty);
      node.group.classList.toggle("selected", channel.id === selected);
      const text = isFaulty ? `⚠ ${rate(channel.rate)}` : channel.posts < 0 ? "" : rate(channel.rate);
      setText(node.number, text);
      const faults = channel.faults ? `, ${plural(channel.faults, "fault")}` : "";
      const label =
        `${node.text}, ${long(channel.rate)} posts a second, ${plural(channel.listeners, "listener")}${faults}`;
      setText(node.title, label);
      node.group.setAttribute("aria-label", label);
    }
    for (const { path, id } of this.#edges) {
      const channel = this.#feed.channels.get(id);
      if (!channel) continue;
      const width = channel.rate > 0 ? Math.min(1.25 + Math.log10(1 + channel.rate) * 1.5, 9) : 1;
      path.style.strokeWidth = width.toFixed(2);
      path.classList.toggle("silent", !(channel.rate > 0));
      path.classList.toggle("faulty", channel.isFaulty(this.#feed.time));
      path.classList.toggle("selected", id === selected);
    }
  }
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

/** Names, each at the mean height of its channels, so that few lines cross. */
function order(links, channels) {
  const position = new Map(channels.map((channel, index) => [channel, index]));
  const sums = new Map();
  for (const { name, channel } of links) {
    const sum = sums.get(name) ?? { total: 0, count: 0 };
    sum.total += position.get(channel);
    sum.count += 1;
    sums.set(name, sum);
  }
  const mean = (name) => sums.get(name).total / sums.get(name).count;
  return [...sums.keys()].sort((a, b) => mean(a) - mean(b) || (a < b ? -1 : 1));
}
