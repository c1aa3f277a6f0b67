// The table of all channels: sorted, filtered, and only what can be seen of it in the document.
import {duration, element, long, rate, setText, short, visible} from "./text.js";

const rowHeight = 34;

const columns = [
  { key: "name", title: "Channel", ascending: true },
  { key: "type", title: "Type", ascending: true, wide: true },
  { key: "rate", title: "Rate", number: true, help: "posts a second" },
  { key: "listeners", title: "Listeners", number: true },
  { key: "waiting", title: "Waiting", number: true, help: "messages in mailboxes" },
  { key: "dropped", title: "Dropped", number: true, help: "messages dropped from full buffers" },
  { key: "slowest", title: "Slowest", number: true, wide: true, help: "longest call of a listener; while traced" },
];

export class Table {
  #feed;
  #root;
  #body;
  #head;
  #sort = { key: "rate", ascending: false };
  #filter = "";
  #rows = [];
  #pool = [];
  #active = null;
  #sortedAt = 0;
  #isHeld = false;

  /** `open(channel)` is called for the channel that a visitor chose. */
  constructor(root, note, feed, open) {
    this.#feed = feed;
    this.#root = root;
    this.note = note;
    this.open = open;
    this.#head = element("div", { className: "row head", role: "row", "aria-rowindex": "1" });
    for (const column of columns) {
      const button = element(
        "button", { type: "button", tabIndex: -1, title: column.help ? visible(column.help) : "" }, column.title
      );
      button.addEventListener("click", () => this.sort(column.key));
      column.cell =
        element("div", { role: "columnheader", className: className(column).replace("name", "") }, button);
      this.#head.append(column.cell);
    }
    this.#body = element("div", { className: "body", role: "rowgroup" });
    root.append(element("div", { role: "rowgroup", className: "heading" }, this.#head), this.#body);
    root.addEventListener("scroll", () => this.#draw(), { passive: true });
    root.addEventListener("keydown", (event) => this.#key(event));
    // Rows do not move away from under a pointer.
    this.#body.addEventListener("pointerenter", () => (this.#isHeld = true));
    this.#body.addEventListener("pointerleave", () => (this.#isHeld = false));
    this.#body.addEventListener("click", (event) => {
      const index = event.target.closest(".row")?.index;
      if (index !== undefined) this.#choose(index);
    });
    new ResizeObserver(() => this.#draw()).observe(root);
    this.#markSort();
  }

  set filter(text) {
    this.#filter = text.trim().toLowerCase();
    this.#root.scrollTop = 0;
    this.update(true);
  }

  /** The channels that pass the filter, busiest first. */
  get matching() { return this.#rows; }

  sort(key) {
    const column = columns.find((each) => each.key === key);
    const ascending = this.#sort.key === key ? !this.#sort.ascending : Boolean(column.ascending);
    this.#sort = { key, ascending };
    this.#markSort();
    this.update(true);
  }

  #markSort() {
    for (const { key, cell } of columns) {
      cell.setAttribute(
        "aria-sort",
        this.#sort.key !== key   ? "none"
          : this.#sort.ascending ? "ascending"
                                 : "descending"
      );
    }
  }

  update(now = false) {
    const all = this.#feed.channels;
    const time = performance.now();
    // The order changes once a second at most, and not while somebody points at a row.
    if (now || (!this.#isHeld && time - this.#sortedAt > 950)) {
      this.#sortedAt = time;
      const words = this.#filter.split(/\s+/).filter(Boolean);
      const rows = [...all.values()].filter((channel) => channel.has(words));
      const { key, ascending } = this.#sort;
      const sign = ascending ? 1 : -1;
      const isText = key === "name" || key === "type";
      rows.sort(
        (a, b) => (isText ? sign * compare(a[key], b[key]) : sign * (a[key] - b[key])) || compare(a.name, b.name)
      );
      this.#rows = rows;
    } else {
      this.#rows = this.#rows.filter((channel) => all.has(channel.id));
    }
    setText(this.note, this.#filter ? `${long(this.#rows.length)} of ${long(all.size)}` : "");
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
    if (active)
      this.#root.setAttribute("aria-activedescendant", active.id);
    else
      this.#root.removeAttribute("aria-activedescendant");
  }

  #makeRow() {
    const row = element("div", { className: "row", role: "row", id: `row-${this.#pool.length}` });
    row.cells = columns.map((column) => element("div", { role: "gridcell", className: className(column) }));
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
      channel.kind === "messages" ? (channel.posts > 0 && !channel.listeners ? "unheard" : "")
                                  : visible(channel.kind)
    );
    const type = visible(channel.type);
    setText(row.cells[1], type);
    row.cells[1].title = type;
    setText(row.rate, channel.posts < 0 ? "" : rate(channel.rate));
    row.bar.style.inlineSize = `${channel.rate > 0 ? Math.min(38, 2 + Math.log10(1 + channel.rate) * 6) : 0}px`;
    setText(row.cells[3], channel.listeners ? long(channel.listeners) : "–");
    setText(row.cells[4], channel.waiting ? short(channel.waiting) : "–");
    setText(row.cells[5], channel.dropped ? short(channel.dropped) : "–");
    row.cells[5].classList.toggle("bad", channel.dropped > 0);
    setText(row.cells[6], duration(channel.slowest));
  }

  #choose(index) {
    const channel = this.#rows[index];
    if (!channel) return;
    this.#active = channel;
    this.open(channel);
  }

  #key(event) {
    if (event.target !== this.#root || event.altKey || event.ctrlKey || event.metaKey) return;
    const page = Math.max(1, Math.floor((this.#root.clientHeight - rowHeight) / rowHeight) - 1);
    const current = this.#rows.findIndex((channel) => channel.id === this.#active?.id);
    const moves = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity };
    if (event.key in moves) {
      event.preventDefault();
      const target = current < 0 && moves[event.key] > 0 && event.key !== "End" ? 0 : current + moves[event.key];
      this.#activate(Math.min(Math.max(target, 0), this.#rows.length - 1));
    } else if ((event.key === "Enter" || event.key === " ") && current >= 0) {
      event.preventDefault();
      this.#choose(current);
    } else if (/^[1-7]$/.test(event.key)) {
      this.sort(columns[Number(event.key) - 1].key);
    }
  }

  #activate(index) {
    if (index < 0) return;
    this.#active = this.#rows[index];
    const head = this.#head.offsetHeight;
    const top = index * rowHeight;
    const room = this.#root.clientHeight - head;
    if (top < this.#root.scrollTop)
      this.#root.scrollTop = top;
    else if (top + rowHeight > this.#root.scrollTop + room)
      this.#root.scrollTop = top + rowHeight - room;
    this.#draw();
  }
}

function className(column) {
  return [column.number && "number", column.wide && "wide", column.key].filter(Boolean).join(" ");
}

const collator = new Intl.Collator("en", { numeric: true });

function compare(a, b) { return collator.compare(a, b); }
