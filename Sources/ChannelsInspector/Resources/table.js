// The table of all channels: sorted, filtered, and only what can be seen of it in the document.
import {duration, element, long, rate, setText, short, visible, words} from "./text.js";

const rowHeight = 34;

/** Those with `write` show a number, or a dash for 0. */
const columns = [
  { key: "name", title: "Channel", className: "name", ascending: true },
  { key: "type", title: "Type", className: "wide type", ascending: true },
  { key: "rate", title: "Rate", className: "number", help: "posts a second" },
  { key: "listeners", title: "Listeners", className: "number", write: long },
  { key: "waiting", title: "Waiting", className: "number", help: "messages in mailboxes", write: short },
  {
    key: "dropped",
    title: "Dropped",
    className: "number dropped",
    help: "messages dropped from full buffers",
    write: short
  },
  {
    key: "slowest",
    title: "Slowest",
    className: "number wide",
    help: "longest call of a listener; while traced",
    write: duration
  },
];

export class Table {
  #feed;
  #root;
  #note;
  #open;
  #body = element("div", { className: "body", role: "rowgroup" });
  #head = element("div", { className: "row", role: "row", "aria-rowindex": "1" });
  #sort = { key: "rate", sign: -1 };
  #filter = "";
  #rows = [];
  #pool = [];
  #active = null;
  #sortedAt = -Infinity;

  /** `open(channel)` is called for the channel that a visitor chose. */
  constructor(root, note, feed, open) {
    this.#feed = feed;
    this.#root = root;
    this.#note = note;
    this.#open = open;
    for (const column of columns) {
      const { title, help, className } = column;
      const button = element("button", { type: "button", tabIndex: -1, title: help }, title);
      button.addEventListener("click", () => this.sort(column));
      column.cell = element("div", { role: "columnheader", className }, button);
      this.#head.append(column.cell);
    }
    root.append(element("div", { role: "rowgroup", className: "heading" }, this.#head), this.#body);
    root.addEventListener("scroll", () => this.#draw(), { passive: true });
    root.addEventListener("keydown", (event) => this.#key(event));
    this.#body.addEventListener("click", (event) => this.#choose(event.target.closest(".row")?.index));
    new ResizeObserver(() => this.#draw()).observe(root);
  }

  set filter(text) {
    this.#filter = text.trim();
    this.#root.scrollTop = 0;
    this.update(true);
  }

  /** The channels that pass the filter, busiest first. */
  get matching() { return this.#rows; }

  sort({ key, ascending }) {
    this.#sort = { key, sign: this.#sort.key === key ? -this.#sort.sign : ascending ? 1 : -1 };
    this.update(true);
  }

  update(now = false) {
    const all = this.#feed.channels;
    const time = performance.now();
    // The order changes once a second at most, and rows do not move away from under a pointer.
    if (now || (!this.#body.matches(":hover") && time - this.#sortedAt > 950)) {
      this.#sortedAt = time;
      const wanted = words(this.#filter);
      const { key, sign } = this.#sort;
      this.#rows = [...all.values()]
        .filter((channel) => channel.has(wanted))
        .sort((a, b) => sign * compare(a[key], b[key]) || compare(a.name, b.name));
      for (const column of columns) {
        const order = column.key !== key ? "none" : sign > 0 ? "ascending" : "descending";
        column.cell.setAttribute("aria-sort", order);
      }
    } else {
      this.#rows = this.#rows.filter((channel) => all.has(channel.id));
    }
    setText(this.#note, this.#filter ? `${long(this.#rows.length)} of ${long(all.size)}` : "");
    this.#root.setAttribute("aria-rowcount", this.#rows.length + 1);
    this.#draw();
  }

  #draw() {
    const top = Math.max(0, this.#root.scrollTop);
    const height = this.#root.clientHeight;
    const first = Math.max(0, Math.floor(top / rowHeight) - 4);
    const last = Math.min(this.#rows.length, first + Math.ceil(height / rowHeight) + 8);
    this.#body.style.height = `${Math.max(this.#rows.length * rowHeight, 1)}px`;
    while (this.#pool.length < last - first) this.#pool.push(this.#makeRow());
    this.#pool.forEach((row, index) => this.#fill(row, first + index < last ? first + index : -1));
    const active = this.#body.querySelector(".row.active:not([hidden])");
    this.#root.setAttribute("aria-activedescendant", active?.id ?? "");
  }

  #makeRow() {
    const row = element("div", { className: "row", role: "row", id: `row-${this.#pool.length}` });
    row.cells = columns.map(({ className }) => element("div", { role: "gridcell", className }));
    const [name] = row.cells;
    row.fault = element("span", { className: "fault", hidden: true });
    row.name = element("bdi", { className: "row-name" });
    row.kind = element("span", { className: "kind" });
    name.append(row.fault, row.name, row.kind);
    row.bar = element("span", { className: "bar", "aria-hidden": "true" });
    row.rate = element("span");
    row.cells[2].append(row.bar, row.rate);
    row.append(...row.cells);
    this.#body.append(row);
    return row;
  }

  #fill(row, index) {
    row.hidden = index < 0;
    if (index < 0) return;
    const channel = this.#rows[index];
    row.index = index;
    row.style.transform = `translateY(${index * rowHeight}px)`;
    row.setAttribute("aria-rowindex", index + 2);
    row.setAttribute("aria-selected", channel.id === this.#feed.selected);
    row.classList.toggle("active", channel.id === this.#active?.id);
    const isFaulty = channel.isFaulty(this.#feed.time);
    row.classList.toggle("faulty", isFaulty);
    row.fault.hidden = !isFaulty;
    setText(row.fault, `⚠ ${channel.faults}`);
    row.fault.title = `${channel.faults} faults`;
    const name = visible(channel.name);
    setText(row.name, name);
    row.name.title = name;
    setText(
      row.kind,
      channel.kind === "messages" ? (channel.posts > 0 && !channel.listeners ? "unreceived" : "")
                                  : visible(channel.kind)
    );
    const type = visible(channel.type);
    setText(row.cells[1], type);
    row.cells[1].title = type;
    setText(row.rate, channel.posts < 0 ? "" : rate(channel.rate));
    row.bar.style.inlineSize = `${channel.rate > 0 ? Math.min(38, 2 + Math.log10(1 + channel.rate) * 6) : 0}px`;
    columns.forEach(({ key, write }, cell) => {
      if (write) setText(row.cells[cell], channel[key] ? write(channel[key]) : "–");
    });
    row.cells[5].classList.toggle("bad", channel.dropped > 0);
  }

  #choose(index) {
    const channel = this.#rows[index];
    if (!channel) return;
    this.#active = channel;
    this.#open(channel);
  }

  #key(event) {
    if (event.target !== this.#root || event.altKey || event.ctrlKey || event.metaKey) return;
    const page = Math.max(1, Math.floor((this.#root.clientHeight - rowHeight) / rowHeight) - 1);
    const current = this.#rows.findIndex((channel) => channel.id === this.#active?.id);
    const moves = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity };
    if (event.key in moves) {
      event.preventDefault();
      this.#activate(Math.min(Math.max(current + moves[event.key], 0), this.#rows.length - 1));
    } else if ((event.key === "Enter" || event.key === " ") && current >= 0) {
      event.preventDefault();
      this.#choose(current);
    } else if (/^[1-7]$/.test(event.key)) {
      this.sort(columns[Number(event.key) - 1]);
    }
  }

  #activate(index) {
    if (index < 0) return;
    this.#active = this.#rows[index];
    const top = index * rowHeight;
    const room = this.#root.clientHeight - this.#head.offsetHeight;
    this.#root.scrollTop = Math.min(Math.max(this.#root.scrollTop, top + rowHeight - room), top);
    this.#draw();
  }
}

const collator = new Intl.Collator("en", { numeric: true });

function compare(a, b) { return typeof a === "string" ? collator.compare(a, b) : a - b; }
