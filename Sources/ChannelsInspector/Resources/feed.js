// What the page knows: the channels, and what happened in the last minute. Filled by server-sent events.

/** Pictures in the last minute, as many as are drawn. */
export const ticks = 120;

/** How long a page that nobody sees stays connected: as long as the timeline reaches back. */
const patience = 60_000;

/** Entries of the timeline that are kept at most. */
const mostEntries = 5_000;

export class Channel {
  posts = -1;
  listenerCount = 0;
  waiting = 0;
  dropped = 0;
  missed = 0;
  slowest = 0;
  faults = 0;
  unheard = 0;
  lostOwners = 0;
  /** Posts a second, over the last two seconds or so. */
  rate = 0;
  faultedAt = 0;
  /** Posts a second at each of the last ticks; `historyAt` is the tick last written. */
  history = null;
  historyAt = 0;

  describe({ id, name, kind, type, senders, listeners }) {
    Object.assign(this, { id, name, kind, type, senders, listeners });
    this.searchText = [name, kind, type, ...senders, ...listeners.map((each) => each.owner)].join("\n").toLowerCase();
  }

  note(tick, rate) {
    this.history ??= new Float32Array(ticks);
    const gap = Math.min(tick - this.historyAt - 1, ticks);
    for (let skipped = 1; skipped <= gap; skipped++) this.history[(tick - skipped) % ticks] = 0;
    this.history[tick % ticks] = rate;
    this.historyAt = tick;
  }

  /** Posts a second at a tick. */
  at(tick) {
    return !this.history || tick > this.historyAt || tick <= this.historyAt - ticks || tick < 1
      ? 0
      : this.history[tick % ticks];
  }

  /** Whether something went wrong here in the last minute. */
  isFaulty(now) { return this.faultedAt > now - 60_000; }
}

/** Emits "change" after each picture, "state" when the connection changes. */
export class Feed extends EventTarget {
  channels = new Map();
  /** Newest last: { kind, time, channel, text, sender, site }. */
  entries = [];
  /** The time of each tick, in milliseconds since 1970, and posts a second and faults at it. */
  times = new Float64Array(ticks);
  totals = new Float32Array(ticks);
  faultCounts = new Uint16Array(ticks);
  tick = 0;
  time = 0;
  missed = 0;
  /** Whether posts are traced: "on" or "off". */
  tracing = null;
  state = "connecting";
  #source = null;
  #retry = 0;
  #hidden = 0;
  #serial = 0;
  #fresh = [];
  #lastMessage = 0;
  #lastFault = 0;
  #instance = "";

  start() {
    document.addEventListener("visibilitychange", () => {
      clearTimeout(this.#hidden);
      if (document.hidden)
        this.#hidden = setTimeout(() => this.#disconnect("asleep"), patience);
      else if (!this.#source)
        this.#connect();
    });
    this.#connect();
  }

  #connect() {
    clearTimeout(this.#retry);
    const source = new EventSource("/events");
    this.#source = source;
    source.addEventListener("changes", (event) => {
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

  #apply(changes) {
    const isNew = changes.since === 0;
    const restarted = isNew && this.#instance !== changes.instance;
    if (restarted) {
      this.#instance = changes.instance;
      this.#lastMessage = 0;
      this.#lastFault = 0;
    }
    if (changes.missed)
      this.#add({
        kind: "missed",
        time: changes.time,
        channel: "",
        text: `This page was too slow for ${changes.missed === 1 ? "one picture" : `${changes.missed} pictures`}`
      });
    const seconds = this.time && !isNew ? Math.max((changes.time - this.time) / 1000, 0.05) : 0;
    this.time = changes.time;
    this.tick += 1;
    if (changes.tracing) this.tracing = changes.tracing;
    if (isNew) this.#forgetOthers(new Set((changes.channels ?? []).map((each) => each.id)));
    for (const id of changes.gone ?? []) {
      const channel = this.channels.get(id);
      if (!channel) continue;
      this.channels.delete(id);
      this.#add({ kind: "gone", time: changes.time, channel: channel.name, text: "is gone" });
    }
    for (const description of changes.channels ?? []) {
      let channel = this.channels.get(description.id);
      if (!channel) {
        channel = new Channel();
        this.channels.set(description.id, channel);
        if (!isNew)
          this.#add(
            { kind: "new", time: changes.time, channel: description.name, text: `is new: ${description.type}` }
          );
      }
      channel.describe(description);
    }
    this.#count(changes.numbers ?? [], changes.time, seconds, isNew);
    let faults = 0;
    for (const fault of changes.faults ?? []) {
      // After a connection was lost, the same ones come again.
      if (fault.number <= this.#lastFault) continue;
      this.#lastFault = fault.number;
      faults += 1;
      this.#add({ kind: "fault", time: fault.time, channel: fault.channel, text: fault.text });
    }
    for (const message of changes.messages ?? []) {
      if (message.number <= this.#lastMessage) continue;
      this.#lastMessage = message.number;
      this.#add({ kind: "message", ...message });
    }
    if (changes.missedMessages)
      this.#add({
        kind: "missed",
        time: changes.time,
        channel: "",
        text: `${changes.missedMessages} messages are not shown: there were more than are kept`
      });
    this.faultCounts[this.tick % ticks] = faults;
    this.missed += changes.missed ?? 0;
    this.#enter();
    this.#forgetOld();
    this.dispatchEvent(new Event("change"));
  }

  #forgetOthers(ids) {
    for (const id of this.channels.keys())
      if (!ids.has(id)) this.channels.delete(id);
  }

  #count(rows, time, seconds, isNew) {
    let total = 0;
    const counted = new Set();
    for (const row of rows) {
      const [id, posts, listeners, waiting, dropped, missed, slowest, faults, unheard, lostOwners] = row;
      const channel = this.channels.get(id);
      if (!channel) continue;
      counted.add(id);
      if (!isNew && channel.listenerCount !== listeners && channel.historyAt > 0) {
        this.#add({
          kind: "listeners",
          time,
          channel: channel.name,
          text: `has ${listeners} ${listeners === 1 ? "listener" : "listeners"}, had ${channel.listenerCount}`
        });
      }
      if (faults > channel.faults && !isNew) channel.faultedAt = time;
      // Counting began anew: what was posted since then.
      const posted = posts < 0                         ? 0
        : posts >= channel.posts && channel.posts >= 0 ? posts - channel.posts
        : isNew                                        ? 0
                                                       : posts;
      const rate = seconds ? posted / seconds : 0;
      // A pattern hears what was posted elsewhere.
      if (channel.kind !== "pattern") total += rate;
      channel.note(this.tick, rate);
      channel.rate =
        rate === 0 || channel.rate === 0 ? rate || channel.rate : channel.rate + (rate - channel.rate) * 0.5;
      if (rate === 0) channel.rate = this.#decayed(channel.rate);
      Object.assign(
        channel, { posts, listenerCount: listeners, waiting, dropped, missed, slowest, faults, unheard, lostOwners }
      );
    }
    for (const [id, channel] of this.channels) {
      if (channel.rate && !counted.has(id)) channel.rate = this.#decayed(channel.rate);
    }
    this.times[this.tick % ticks] = time;
    this.totals[this.tick % ticks] = total;
  }

  #decayed(rate) { return rate < 0.05 ? 0 : rate * 0.5; }

  #add(entry) {
    entry.searchText = `${entry.channel}\n${entry.text}\n${entry.sender ?? ""}`.toLowerCase();
    this.#fresh.push(entry);
  }

  /** What one picture brings is in the order of time, whatever it is. */
  #enter() {
    this.#fresh.sort((a, b) => a.time - b.time);
    for (const entry of this.#fresh) entry.serial = ++this.#serial;
    this.entries.push(...this.#fresh);
    this.#fresh = [];
  }

  #forgetOld() {
    const oldest = this.time - 60_000;
    let old = 0;
    while (old < this.entries.length && (this.entries[old].time < oldest || this.entries.length - old > mostEntries))
      old += 1;
    if (old) this.entries.splice(0, old);
  }
}
