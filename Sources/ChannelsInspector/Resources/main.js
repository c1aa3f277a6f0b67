// Puts the parts of the page together.
import {Detail} from "./detail.js";
import {Feed} from "./feed.js";
import {Graph} from "./graph.js";
import {Table} from "./table.js";
import {Timeline} from "./timeline.js";
import {long, rate, setText} from "./text.js";

const get = (id) => document.getElementById(id);

// The token is in a cookie now: it should not stay where it is seen, or copied with the address.
if (location.search) history.replaceState(null, "", location.pathname);

const feed = new Feed();
const open = (channel) => {
  feed.selected = channel.id;
  detail.open(channel);
  draw();
};
const closed = () => {
  feed.selected = null;
  draw();
};
const table = new Table(get("table"), get("table-note"), feed, open);
const graph = new Graph(get("graph"), get("graph-note"), feed, open);
const timeline = new Timeline(
  { chart: get("chart"), list: get("entries"), search: get("search"), pause: get("pause") }, feed, open
);
const detail = new Detail(get("detail"), get("detail-template"), feed, closed);

let isDue = false;
/** The last choice whether to trace, until the inspector has answered it. */
let choice = null;

function draw() {
  isDue = false;
  table.update();
  graph.update(table.matching);
  timeline.update();
  detail.update();
  drawTotals();
}

function drawTotals() {
  let listeners = 0;
  let posts = 0;
  let faults = 0;
  for (const channel of feed.channels.values()) {
    faults += channel.faults;
    // A pattern hears what was posted elsewhere; its listeners are counted once, here.
    if (channel.kind !== "pattern") posts += channel.rate;
    listeners += channel.listeners - channel.forPatterns;
  }
  setText(get("total-channels"), long(feed.channels.size));
  setText(get("total-listeners"), long(listeners));
  setText(get("total-rate"), posts ? rate(posts) : "0");
  setText(get("total-faults"), long(faults));
  get("total-faults-box").classList.toggle("bad", faults > 0);
  const tracing = get("tracing");
  // Set only where it differs: setting it moves what is chosen in a list that is open.
  if (feed.tracing && !choice && tracing.value !== feed.tracing) tracing.value = feed.tracing;
}

feed.addEventListener("change", () => {
  // At most one drawing a frame, however fast pictures come.
  if (isDue) return;
  isDue = true;
  requestAnimationFrame(draw);
});

const states = {
  connecting: "Connecting",
  live: "Live",
  refused: "Refused",
  asleep: "Asleep"
};

feed.addEventListener("state", () => {
  get("status").dataset.state = feed.state;
  setText(get("status-text"), states[feed.state]);
  const notice = get("notice");
  notice.hidden = feed.state === "live" || feed.state === "asleep" || (feed.state === "connecting" && !feed.time);
  setText(
    notice,
    feed.state === "refused"
      ? "The inspector refuses this page: too many pages are open, or the token is missing. Trying again."
      : "The connection is lost: what is shown is as it was last seen. Trying again."
  );
});

get("filter").addEventListener("input", (event) => {
  table.filter = event.target.value;
  graph.update(table.matching);
});

// One after the other: who types "off" chooses "on" first.
get("tracing").addEventListener("change", (event) => {
  const mode = event.target.value;
  const json = { method: "POST", headers: { "Content-Type": "application/json" }, body: "{}" };
  const mine = (choice ?? Promise.resolve()).then(() => fetch(`/tracing?mode=${mode}`, json)).catch(() => {});
  choice = mine;
  mine.then(() => { if (choice === mine) choice = null; });
});

document.addEventListener("keydown", (event) => {
  const isTyping = event.target.closest("input, textarea, select");
  if (event.key === "/" && !isTyping) {
    event.preventDefault();
    get("filter").focus();
  } else if (event.key === "Escape" && detail.channel && !event.target.closest("#detail")) {
    detail.close();
  }
});

feed.start();
