// Shows the office. Changes may come by the thousand: what is drawn is the newest, once for each frame.
import { listen } from "./events.js";
import { count, element, money, visible } from "./text.js";
import "./till.js";

const at = (id) => document.getElementById(id);
const seconds = 60;
const perSecond = new Array(seconds).fill(0);
let newest;
let shown;
let missedCount = 0;

function draw() {
  const office = newest;
  at("takings").textContent = money(office.takings);
  at("sales").textContent = count(office.sales);
  at("guests").textContent = count(office.guests);
  at("tips").textContent = office.takings ? `${(100 * office.tips / office.takings).toFixed(1)} %` : "–";
  at("mailed").textContent = count(office.mailed);
  at("held").textContent = count(office.held);
  at("shelves").replaceChildren(...office.stock.shelves.map(shelf));
  at("empty").hidden = office.recent.length > 0;
  const last = shown?.recent[0]?.number ?? Infinity;
  at("recent").replaceChildren(...office.recent.map((booking) => row(booking, booking.number > last)));
  shown = office;
}

function shelf({ menu, left, reorders }) {
  const item = element("li");
  const line = element("div", "", "shelf");
  const orders = reorders ? `, reordered ${count(reorders)}\u00a0×` : "";
  line.append(element("strong", menu), element("span", `${count(left)} portions${orders}`));
  const bar = element("div", "", "bar");
  bar.dataset.low = left < 60;
  const filled = element("i");
  filled.style.inlineSize = `${Math.min(100, left / 2)}%`;
  bar.append(filled);
  item.append(line, bar);
  return item;
}

function row({ number, sale }, isNew) {
  const line = element("tr", "", isNew ? "new" : "");
  line.dataset.number = number;
  const name = element("td", "", "name");
  // The direction of a name is its own.
  name.append(element("bdi", visible(sale.name)));
  line.append(
    element("td", count(number), "number"), name, element("td", sale.menu, "optional"),
    element("td", count(sale.guests), "number optional"), element("td", money(sale.bill), "number"),
    element("td", money(sale.tip), "number"));
  return line;
}

function drawMinute() {
  const most = Math.max(...perSecond, 1);
  const bars = perSecond.map((cents, index) => {
    const bar = document.createElementNS("http://www.w3.org/2000/svg", "rect");
    const height = cents ? Math.max(1.5, 46 * cents / most) : 0;
    for (const [key, value] of Object.entries({ x: index * 4, y: 48 - height, width: 3, height, rx: .8 }))
      bar.setAttribute(key, value);
    return bar;
  });
  at("minute").replaceChildren(...bars);
}

setInterval(() => {
  if (document.hidden) return;
  drawMinute();
  perSecond.shift();
  perSecond.push(0);
}, 1000);

// For those who listen: not every change, but how things stand, now and then.
setInterval(() => {
  const text = shown ? `Takings ${money(shown.takings)} from ${count(shown.sales)} sales.` : "";
  if (at("summary").textContent !== text) at("summary").textContent = text;
}, 10000);

listen({
  office(state) {
    if (!newest) requestAnimationFrame(drawMinute);
    if (newest && state.takings > newest.takings) perSecond[seconds - 1] += state.takings - newest.takings;
    if (!newest || newest === shown) requestAnimationFrame(draw);
    newest = state;
  },
  missed(changes) {
    missedCount += changes;
    at("missed").textContent = `${count(missedCount)} changes were left out because this page was slow. The figures are right.`;
  },
  connection(state) {
    at("connection").dataset.state = state;
    at("connection").textContent = state === "live" ? "Live" : "Connection lost, trying again";
  },
});
