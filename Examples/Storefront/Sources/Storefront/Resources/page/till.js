// Rings up a sale. It has an id from the moment it is first sent, so sending it again cannot book it twice.
import { count } from "./text.js";

const form = document.getElementById("sale");
const answer = document.getElementById("answer");
let id = crypto.randomUUID();
let sending = false;

const cents = (text) => Math.round(Number(text.replace(",", ".") || NaN) * 100);

function say(text, state = "") {
  answer.textContent = text;
  answer.dataset.state = state;
}

function refuse(reason) {
  say(reason, "refused");
  // A reason begins with the field it is about.
  const field = form.elements[reason.split(":")[0]];
  if (!field) return;
  field.setAttribute("aria-invalid", "true");
  field.focus();
}

async function send() {
  const fields = form.elements;
  const sale = {
    id,
    name: fields.name.value.trim(),
    menu: fields.menu.value,
    guests: Number(fields.guests.value),
    bill: cents(fields.bill.value),
    tip: fields.tip.value.trim() ? cents(fields.tip.value) : 0,
  };
  for (const key of ["guests", "bill", "tip"]) if (!Number.isInteger(sale[key])) return refuse(`${key}: a number, please`);
  say("Sending…");
  let response;
  try {
    response = await fetch("/sales", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(sale),
    });
  } catch {
    return say("No answer. Ring it up again: it is booked once.", "refused");
  }
  const body = await response.json();
  if (response.status === 409) id = crypto.randomUUID();
  if (!response.ok) return refuse(body.error.message);
  say(`Booked as number ${count(body.number)}.`);
  id = crypto.randomUUID();
  for (const key of ["name", "bill", "tip"]) fields[key].value = "";
  fields.name.focus();
}

form.addEventListener("input", (event) => event.target.removeAttribute("aria-invalid"));
form.addEventListener("submit", async (event) => {
  event.preventDefault();
  if (sending) return;
  sending = true;
  try { await send(); } finally { sending = false; }
});
