// How figures and names are written.

const dollars = new Intl.NumberFormat("en-US", { style: "currency", currency: "USD" });
const whole = new Intl.NumberFormat("en-US");

export const money = (cents) => dollars.format(cents / 100);
export const count = (number) => whole.format(number);

// Scalars that nobody sees, but that reorder or hide what stands around them, made visible.
export const visible = (text) =>
  text.replace(/[\p{Cc}\p{Bidi_Control}\u2028\u2029]/gu, (scalar) =>
    `⟨U+${scalar.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}⟩`);

// An element with text: never markup, whatever the text is.
export function element(tag, text = "", className = "") {
  const node = document.createElement(tag);
  node.textContent = text;
  if (className) node.className = className;
  return node;
}
