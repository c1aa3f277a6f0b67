// The last minute: posts a second as a chart, and what happened as a list that can be searched and paused.
import {minute} from "./feed.js";
import {clock, drawing, element, long, plural, setText, short, visible, words} from "./text.js";

const shownEntries = 150;
const height = 64;

export class Timeline {
  #feed;
  #list;
  #search = "";
  #open;
  #svg = drawing("svg", { viewBox: `0 0 ${minute} ${height}`, preserveAspectRatio: "none", role: "img" });
  #area = drawing("path", { class: "area" });
  #line = drawing("path", { class: "line" });
  #faults = drawing("path", { class: "faults" });
  #scale = element("span", { className: "scale", "aria-hidden": "true" });
  /** The entries while the list is paused. */
  #kept = null;
  #signature = "";

  constructor({ chart, list, search, pause }, feed, open) {
    this.#feed = feed;
    this.#list = list;
    this.#open = open;
    search.addEventListener("input", () => {
      this.#search = search.value;
      this.#list.scrollTop = 0;
      this.update(true);
    });
    pause.addEventListener("click", () => {
      this.#kept = this.#kept ? null : feed.entries.slice();
      pause.setAttribute("aria-pressed", Boolean(this.#kept));
      setText(pause, this.#kept ? "Resume" : "Pause");
      this.update(true);
    });
    this.#svg.append(this.#area, this.#line, this.#faults);
    chart.append(this.#svg, this.#scale);
  }

  update(now = false) {
    if (!this.#kept) this.#draw();
    if (!this.#kept || now) this.#fill();
    this.#note();
  }

  #draw() {
    // Pictures may come less often than twice a second: each stands where its time is.
    const start = this.#feed.time - minute;
    const points = this.#feed.points.map(({ time, ...point }) => ({ x: Math.round(time - start), ...point }));
    const highest = Math.max(0, ...points.map((point) => point.total));
    const top = Math.max(1, highest) * 1.1;
    const y = (value) => (height - 1 - (value / top) * (height - 6)).toFixed(2);
    const path = points.map((point) => `${point.x} ${y(point.total)}`).join("L");
    this.#line.setAttribute("d", path && `M${path}`);
    this.#area.setAttribute("d", path && `M${points[0].x} ${height}L${path}L${points.at(-1).x} ${height}Z`);
    this.#faults.setAttribute(
      "d", points.filter((point) => point.isFaulty).map((point) => `M${point.x} ${height - 7}V${height}`).join("")
    );
    setText(this.#scale, highest >= 0.5 ? `${short(highest)}/s at most` : "no posts");
    this.#svg.setAttribute("aria-label", `Posts a second in the last minute: at most ${long(highest)}`);
  }

  #fill() {
    const wanted = words(this.#search);
    const found =
      (this.#kept ?? this.#feed.entries).filter((entry) => wanted.every((word) => entry.searchText.includes(word)));
    const shown = found.slice(-shownEntries).reverse();
    const older = found.length - shown.length;
    const signature = `${shown[0]?.serial} ${shown.at(-1)?.serial} ${older} ${this.#search}`;
    if (signature === this.#signature) return;
    this.#signature = signature;
    // Keeps the place of somebody who has scrolled down to read, and the focus.
    const before = this.#list.scrollHeight - this.#list.scrollTop;
    const isReading = this.#list.scrollTop > 4;
    const known = new Map([...this.#list.children].map((each) => [each.serial, each]));
    const items = shown.map((entry) => known.get(entry.serial) ?? item(entry, this.#name(entry)));
    const note = older ? `and ${plural(older, "older entry", "older entries")}: search to find them`
      : found.length   ? ""
      : this.#search   ? "Nothing matches."
                       : "Nothing happened yet.";
    if (note) items.push(element("li", { className: "note" }, note));
    this.#list.replaceChildren(...items);
    if (isReading) this.#list.scrollTop = this.#list.scrollHeight - before;
  }

  /** A button that opens the channel of an entry. */
  #name({ channel: name }) {
    if (!name) return null;
    const text = visible(name);
    const button =
      element("button", { type: "button", className: "channel", title: text }, element("bdi", {}, text));
    button.addEventListener("click", () => {
      const channel = [...this.#feed.channels.values()].find((each) => each.name === name);
      if (channel) this.#open(channel);
    });
    return button;
  }

  #note() {
    const note = this.#list.previousElementSibling;
    const last = this.#kept?.at(-1)?.serial ?? 0;
    const behind = this.#feed.entries.filter((entry) => entry.serial > last).length;
    const text = this.#kept          ? `Paused. ${plural(behind, "new entry", "new entries")} since.`
      : this.#feed.tracing === "off" ? "Tracing is off: messages, senders and times are not recorded."
                                     : "";
    setText(note, text);
    note.hidden = !text;
  }
}

/** An entry in a list; `name` is an element with the name of its channel, where that is not plain. */
export function item({ kind, time, sender, text, serial }, name) {
  return element(
    "li",
    { className: kind, serial },
    element("time", {}, clock(time)),
    kind === "fault" ? element("span", { className: "mark" }, "⚠ fault") : null,
    name,
    sender ? element("span", { className: "sender" }, "from ", element("bdi", {}, visible(sender))) : null,
    element("bdi", { className: "text" }, visible(text))
  );
}
