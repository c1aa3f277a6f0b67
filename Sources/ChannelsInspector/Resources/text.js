// How names, numbers and times are written.

const invisible = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Co}\p{Cn}\p{Cs}]/gu;

/** Text in which characters that cannot be seen, or that turn the others round, are written as their numbers. */
export function visible(text) {
  return String(text).replace(
    invisible,
    (character) =>
      character === "\n" ? "⏎" : `⟨U+${character.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}⟩`
  );
}

/** Makes an element: properties that begin with "aria-" or "data-", and "role", become attributes. */
export function element(tag, properties = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined || value === null) continue;
    if (name.startsWith("aria-") || name.startsWith("data-") || name === "role")
      made.setAttribute(name, value);
    else
      made[name] = value;
  }
  made.append(...children.filter((child) => child !== undefined && child !== null));
  return made;
}

/** Shows other items in a list, if what they are made of is not the same as before. */
export function fill(list, data, make) {
  const key = JSON.stringify(data);
  if (list.key === key) return;
  list.key = key;
  list.replaceChildren(...data.map(make));
}

/** Makes an element of a drawing. */
export function drawing(tag, attributes = {}) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  return made;
}

/** Sets the text of a node, if it is another: a node that stays the same costs no layout. */
export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

/** The words that a visitor looks for. */
export function words(text) { return text.toLowerCase().split(/\s+/).filter(Boolean); }

const compact = new Intl.NumberFormat("en", { notation: "compact", maximumSignificantDigits: 3 });

/** A number in three digits and a unit: 1.23K, 34, 5.6M. */
export function short(count) { return compact.format(count); }

/** A number with separators, for those who read it in full. */
export function long(count) { return Math.round(count).toLocaleString("en"); }

const rates = new Intl.NumberFormat(
  "en", { notation: "compact", maximumSignificantDigits: 3, maximumFractionDigits: 1, roundingPriority: "lessPrecision" }
);

/** Posts a second. */
export function rate(value) {
  if (value < 0.005) return "–";
  return value < 0.05 ? "<0.1" : rates.format(value);
}

/** Nanoseconds, in the unit that fits. */
export function duration(nanoseconds) {
  if (!nanoseconds) return "–";
  if (nanoseconds < 1e3) return `${nanoseconds} ns`;
  if (nanoseconds < 1e6) return `${short(nanoseconds / 1e3)} µs`;
  if (nanoseconds < 1e9) return `${short(nanoseconds / 1e6)} ms`;
  return `${short(nanoseconds / 1e9)} s`;
}

const timeOfDay = new Intl.DateTimeFormat(
  "en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit", fractionalSecondDigits: 1 }
);

/** The time of day of milliseconds since 1970. */
export function clock(time) { return timeOfDay.format(time); }

export function plural(count, noun, nouns = noun + "s") { return `${long(count)} ${count === 1 ? noun : nouns}`; }

/** How a delivery is called. */
export function delivery(name) { return name === "mainActor" ? "main actor" : visible(name); }
