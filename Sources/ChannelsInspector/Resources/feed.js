// What the page knows: the channels, and what happened in the last minute. Filled by server-sent events.
import {long, plural} from "./text.js";

/** How far the timeline reaches back, and how long a page that nobody sees stays connected. */
export const minute = 60_000;

/** Entries of the timeline that are kept at most. */
const mostEntries = 5_000;

/** What a picture leaves out. */
const none = {
  posts: -1,
  unreceived: 0,
  lostOwners: 0,
  faults: 0,
  listeners: 0,
  forPatterns: 0,
  waiting: 0,
  dropped: 0,
  slowest: 0,
};

export class Channel {
  /** Posts a second, over the last two seconds or so. */
  rate = 0;
  faultedAt = 0;

  /** `id` is how the inspector finds it: its kind and its name. */
  constructor(id) { Object.assign(this, none, { id }); }

  /** Takes what a picture says of it, so many seconds after the one before; returns posts a second since then. */
  take(row, seconds) {
    const before = this.posts;
    Object.assign(this, none, row);
    // Where counting began anew, what was posted since then.
    const posted = Math.max(0, before >= 0 && this.posts >= before ? this.posts - before : this.posts);
    const rate = seconds ? posted / seconds : 0;
    const mean = this.rate ? (this.rate + rate) / 2 : rate;
    this.rate = mean < 0.025 ? 0 : mean;
    return rate;
  }

  /** Whether its name, type, senders and owners have all words between them. */
  has(words) {
    if (!words.length) return true;
    const text = [this.name, this.kind, this.type, ...this.senders, ...this.owners].join("\n").toLowerCase();
    return words.every((word) => text.includes(word));
  }

  /** Whether something went wrong here in the last minute. */
  isFaulty(now) { return this.faultedAt > now - minute; }
}

/** Emits "change" after each picture, "state" when the connection changes. */
export class Feed extends EventTarget {
  /** By their identifiers. */
  channels = new Map();
  /** The identifier of the channel whose details are open. */
  selected = null;
  /** Newest last: { kind, time, channel, text, sender }. */
  entries = [];
  /** The pictures of the last minute: { time, total, isFaulty }, with posts a second since the one before. */
  points = [];
  /** When the last picture was taken, in milliseconds since 1970. */
  time = 0;
  /** Whether posts are traced: "on" or "off". */
  tracing = null;
  state = "connecting";
  #source = null;
  #retry = 0;
  #hidden = 0;
  #serial = 0;
  /** The number of the last picture; 0 before the first one of a connection. */
  #number = 0;
  #lastEntry = 0;
  #instance = "";

  start() {
    document.addEventListener("visibilitychange", () => {
      clearTimeout(this.#hidden);
      if (document.hidden)
        this.#hidden = setTimeout(() => this.#disconnect("asleep"), minute);
      else if (!this.#source)
        this.#connect();
    });
    this.#connect();
  }

  #connect() {
    clearTimeout(this.#retry);
    const source = new EventSource("/events");
    this.#source = source;
    source.onopen = () => (this.#number = 0);
    source.addEventListener("picture", (event) => {
      this.#setState("live");
      this.#apply(JSON.parse(event.data));
    });
    source.onerror = () => {
      if (source.readyState !== EventSource.CLOSED) return this.#setState("connecting");
      // Refused, not lost: the browser does not try again by itself.
      this.#disconnect("refused");
      this.#retry = setTimeout(() => this.#connect(), 3_000);
    };
  }

  #disconnect(state) {
    this.#source?.close();
    this.#source = null;
    this.#setState(state);
  }

  #setState(state) {
    if (this.state === state) return;
    this.state = state;
    this.dispatchEvent(new Event("state"));
  }

  #apply(picture) {
    const isFirst = this.#number === 0;
    const seconds = isFirst ? 0 : Math.max((picture.time - this.time) / 1000, 0.05);
    const fresh = [];
    const happens = (kind, text, channel = "") => fresh.push({ kind, text, channel, time: picture.time });
    const missed = picture.number - this.#number - 1;
    if (missed > 0 && !isFirst)
      happens("missed", `This page was too slow for ${plural(missed, "picture")}`);
    this.#number = picture.number;
    this.time = picture.time;
    this.tracing = picture.tracing;
    const total = this.#takeChannels(picture.channels, seconds, isFirst ? () => {} : happens);
    const isFaulty = this.#takeEntries(picture, isFirst, fresh, happens);
    const isRecent = ({ time }) => time >= this.time - minute;
    this.points = [...this.points, { time: this.time, total, isFaulty }].filter(isRecent);
    this.entries = this.entries.filter(isRecent).slice(-mostEntries);
    this.dispatchEvent(new Event("change"));
  }

  /** Returns posts a second, of all channels. */
  #takeChannels(rows, seconds, happens) {
    const before = this.channels;
    this.channels = new Map();
    let total = 0;
    for (const row of rows) {
      const id = `${row.kind} ${row.name}`;
      const known = before.get(id);
      const channel = known ?? new Channel(id);
      const { listeners, faults } = channel;
      const rate = channel.take(row, seconds);
      this.channels.set(id, channel);
      // A pattern hears what was posted elsewhere.
      if (channel.kind !== "pattern") total += rate;
      if (channel.faults > faults && seconds) channel.faultedAt = this.time;
      if (!known)
        happens("new", `is new: ${row.type}`, row.name);
      else if (listeners !== channel.listeners)
        happens("listeners", `has ${plural(channel.listeners, "listener")}, had ${listeners}`, row.name);
    }
    for (const [id, channel] of before)
      if (!this.channels.has(id)) happens("gone", "is gone", channel.name);
    return total;
  }

  /** Returns whether there are faults among them. */
  #takeEntries({ instance, entries, lastEntry }, isFirst, fresh, happens) {
    if (instance !== this.#instance) this.#lastEntry = 0;
    this.#instance = instance;
    // After a connection was lost, the same ones come again.
    const added = entries.filter((entry) => entry.number > this.#lastEntry);
    const lost = lastEntry - this.#lastEntry - added.length;
    if (lost > 0 && !isFirst) happens("missed", `${long(lost)} messages are not shown: there were more than are kept`);
    this.#lastEntry = lastEntry;
    // What one picture brings is in the order of time, whatever it is.
    for (const entry of [...fresh, ...added].sort((a, b) => a.time - b.time)) {
      entry.serial = ++this.#serial;
      entry.searchText = `${entry.channel}\n${entry.text}\n${entry.sender ?? ""}`.toLowerCase();
      this.entries.push(entry);
    }
    return added.some((entry) => entry.kind === "fault");
  }
}
