// The last minute: posts a second as a chart, and what happened as a list that can be searched and paused.
import {ticks} from "./feed.js";
import {clock, drawing, element, long, plural, setText, short, visible} from "./text.js";

const shownEntries = 150;
const height = 64;

export class Timeline {
  #feed;
  #chart;
  #list;
  #search = "";
  #open;
  #svg;
  #area = drawing("path", { class: "area" });
  #line = drawing("path", { class: "line" });
  #faults = drawing("path", { class: "faults" });
  #scale = element("span", { className: "scale", "aria-hidden": "true" });
  /** The entries while the list is paused. */
  #kept = null;
  #signature = "";

  constructor({ chart, list, search, pause }, feed, open) {
    this.#feed = feed;
    this.#chart = chart;
    this.#list = list;
    this.#open = open;
    search.addEventListener("input", () => {
      this.#search = search.value.trim().toLowerCase();
      this.#list.scrollTop = 0;
      this.update(true);
    });
    pause.addEventListener("click", () => {
      this.#kept = this.#kept ? null : feed.entries.slice();
      pause.setAttribute("aria-pressed", Boolean(this.#kept));
      setText(pause, this.#kept ? "Resume" : "Pause");
      this.update(true);
    });
    list.addEventListener("click", (event) => this.#choose(event));
    this.#svg = drawing("svg", { viewBox: `0 0 ${ticks} ${height}`, preserveAspectRatio: "none", role: "img" });
    this.#svg.append(this.#area, this.#line, this.#faults);
    this.#chart.append(this.#svg, this.#scale);
  }

  update(now = false) {
    if (!this.#kept) this.#draw();
    if (!this.#kept || now) this.#fill();
    this.#note();
  }

  #draw() {
    const feed = this.#feed;
    // Pictures may come less often than twice a second: each stands where its time is.
    const start = feed.time - 60_000;
    const first = Math.max(1, feed.tick - ticks + 1);
    const points = [];
    for (let tick = first; tick <= feed.tick; tick++) {
      const slot = tick % ticks;
      if (feed.times[slot] < start) continue;
      points.push({
        x: (((feed.times[slot] - start) / 60_000) * ticks).toFixed(2),
        total: feed.totals[slot],
        faults: feed.faultCounts[slot],
      });
    }
    const highest = Math.max(0, ...points.map((point) => point.total));
    const top = Math.max(1, highest) * 1.1;
    const y = (value) => (height - 1 - (value / top) * (height - 6)).toFixed(2);
    const path = points.map((point) => `${point.x} ${y(point.total)}`).join("L");
    this.#line.setAttribute("d", path && `M${path}`);
    this.#area.setAttribute("d", path && `M${points[0].x} ${height}L${path}L${points.at(-1).x} ${height}Z`);
    this.#faults.setAttribute(
      "d", points.filter((point) => point.faults).map((point) => `M${point.x} ${height - 7}V${height}`).join("")
    );
    setText(this.#scale, highest >= 0.5 ? `${short(highest)}/s at most` : "no posts");
    this.#svg.setAttribute("aria-label", `Posts a second in the last minute: at most ${long(highest)}`);
  }

  #fill() {
    const entries = this.#kept ?? this.#feed.entries;
    const words = this.#search.split(/\s+/).filter(Boolean);
    const shown = [];
    let count = 0;
    for (let index = entries.length - 1; index >= 0; index--) {
      const entry = entries[index];
      if (!words.every((word) => entry.searchText.includes(word))) continue;
      count += 1;
      if (shown.length < shownEntries) shown.push(entry);
    }
    const signature = `${shown[0]?.serial} ${shown.at(-1)?.serial} ${count} ${this.#search}`;
    if (signature === this.#signature) return;
    this.#signature = signature;
    // Keeps the place of somebody who has scrolled down to read.
    const before = this.#list.scrollHeight - this.#list.scrollTop;
    const isReading = this.#list.scrollTop > 4;
    const known = new Map([...this.#list.children].map((item) => [item.serial, item]));
    const items = shown.map((entry) => known.get(entry.serial) ?? this.#item(entry));
    if (count > shown.length)
      items.push(element(
        "li",
        { className: "note" },
        `and ${plural(count - shown.length, "older entry", "older entries")}: search to find them`
      ));
    if (!count)
      items.push(element("li", { className: "note" }, this.#search ? "Nothing matches." : "Nothing happened yet."));
    this.#list.replaceChildren(...items);
    if (isReading) this.#list.scrollTop = this.#list.scrollHeight - before;
  }

  #item(entry) {
    const name = entry.channel ? element(
                                   "button",
                                   { type: "button", className: "channel", title: visible(entry.channel) },
                                   element("bdi", {}, visible(entry.channel))
                                 )
                               : null;
    const item = element(
      "li",
      { className: entry.kind },
      element("time", {}, clock(entry.time)),
      entry.kind === "fault" ? element("span", { className: "mark" }, "⚠ fault") : null,
      name,
      entry.sender ? element("span", { className: "sender" }, "from ", element("bdi", {}, visible(entry.sender)))
                   : null,
      element("bdi", { className: "text" }, visible(entry.text))
    );
    item.serial = entry.serial;
    item.channel = entry.channel;
    return item;
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

  #choose(event) {
    const name = event.target.closest(".channel") && event.target.closest("li").channel;
    if (!name) return;
    for (const channel of this.#feed.channels.values()) {
      if (channel.name === name) return this.#open(channel);
    }
  }
}
