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

const units = [[1e9, "G"], [1e6, "M"], [1e3, "k"]];

/** A count in at most four characters and a unit: 1.2k, 34, 5.6M. */
export function short(count) {
  for (const [size, unit] of units) {
    if (count >= size * 0.9995) return trim(count / size) + unit;
  }
  return trim(count);
}

function trim(value) {
  if (value >= 99.95 || Number.isInteger(value)) return String(Math.round(value));
  return value >= 9.995 ? value.toFixed(1).replace(/\.0$/, "")
                        : value.toFixed(value < 0.0995 ? 2 : 1).replace(/\.0+$/, "");
}

/** A number with separators, for those who read it in full. */
export function long(count) { return Math.round(count).toLocaleString("en"); }

/** Posts a second. */
export function rate(value) { return value < 0.005 ? "–" : short(value); }

/** Nanoseconds, in the unit that fits. */
export function duration(nanoseconds) {
  if (!nanoseconds) return "–";
  if (nanoseconds < 1e3) return `${nanoseconds} ns`;
  if (nanoseconds < 1e6) return `${trim(nanoseconds / 1e3)} µs`;
  if (nanoseconds < 1e9) return `${trim(nanoseconds / 1e6)} ms`;
  return `${trim(nanoseconds / 1e9)} s`;
}

/** The time of day of milliseconds since 1970. */
export function clock(time) {
  const date = new Date(time);
  const two = (value) => String(value).padStart(2, "0");
  return `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}.${
    String(Math.floor(date.getMilliseconds() / 100))}`;
}

export function plural(count, noun, nouns = noun + "s") { return `${long(count)} ${count === 1 ? noun : nouns}`; }

/** How a delivery is called. */
export function delivery(name) { return name === "mainActor" ? "main actor" : visible(name); }
