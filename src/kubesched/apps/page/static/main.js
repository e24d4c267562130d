// The frame around the views: addresses, navigation, search, keys, counters.

import { ask, podPath } from "./api.js";
import { cluster, follow, listen } from "./cluster.js";
import { atMostEvery, fill, h } from "./dom.js";
import { count, percent, resourceName } from "./format.js";
import { go, parse } from "./route.js";
import { mapView } from "./map_view.js";
import { podView } from "./pod_view.js";
import { configView } from "./config_view.js";
import { queueView } from "./queue_view.js";
import { timeView } from "./time_view.js";
import { whatIfView } from "./what_if_view.js";

const VIEWS = {
  map: { title: "Map", key: "m", make: mapView, inBar: true },
  queue: { title: "Queue", key: "q", make: queueView, inBar: true },
  "what-if": { title: "What if", key: "w", make: whatIfView, inBar: true },
  config: { title: "Configuration", key: "c", make: configView, inBar: true },
  time: { title: "Time", key: "h", make: timeView, inBar: true },
  pod: { title: "Pod", make: podView },
};

const frame = document.getElementById("view");
let current = null;

function show() {
  const route = parse();
  const view = VIEWS[route.view] || VIEWS.map;
  for (const link of document.querySelectorAll("#views a")) {
    link.classList.toggle("here", link.dataset.view === (VIEWS[route.view] ? route.view : "map"));
  }
  if (current && current.view === view && current.update && current.update(route)) return;
  if (current && current.close) current.close();
  frame.replaceChildren();
  frame.className = `view-${route.view}`;
  current = { view, ...view.make(frame, route) };
  const name = route.rest.join("/");
  document.title = `${name || view.title} · ${cluster.about.title || "kubesched"}`;
}

function drawNavigation() {
  const links = Object.entries(VIEWS)
    .filter(([, view]) => view.inBar)
    .map(([name, view]) =>
      h("a", { href: `#/${name}`, "data-view": name, title: `${view.title} (${view.key})` }, view.title),
    );
  fill(document.getElementById("views"), links);
}

// ---- counters ------------------------------------------------------------------------------------------------------

const drawCounters = atMostEvery(250, () => {
  const { queue, totals } = cluster.summary;
  const waiting = Object.values(queue).reduce((sum, number) => sum + number, 0);
  const stuck = cluster.about.schedules ? queue.unschedulable || 0 : 0;
  const pods = totals.pods ? totals.pods[0] : 0;
  const parts = [
    h("a", { href: "#/queue", class: waiting ? "warn" : "calm" }, `${waiting.toLocaleString("en")} waiting`),
    stuck > 0 && h("a", { href: "#/queue?place=unschedulable", class: "bad" }, `${stuck.toLocaleString("en")} unschedulable`),
    h("span", {}, `${count(pods, "pod")} placed`),
    h("span", {}, count(cluster.nodes.size, "node")),
  ];
  for (const resource of ["cpu", "memory"]) {
    const [asked, offered] = totals[resource] || [0, 0];
    if (offered) parts.push(meter(resourceName(resource), asked / offered));
  }
  fill(document.getElementById("counters"), parts);
  const state = document.getElementById("link-state");
  state.textContent = cluster.isConnected ? "" : "not connected";
});

function meter(name, part) {
  return h(
    "span",
    { class: "meter", title: `${name} requested: ${percent(part)}` },
    `${name} `,
    h("i", {}, h("b", { style: { width: `${Math.min(100, 100 * part)}%` } })),
    ` ${percent(part)}`,
  );
}

// ---- search --------------------------------------------------------------------------------------------------------

const box = document.querySelector("#search input");
const list = document.querySelector("#search ul");
let asked = "";

async function search() {
  const text = box.value.trim();
  asked = text;
  if (!text) {
    list.hidden = true;
    return;
  }
  const found = await ask(`api/search?text=${encodeURIComponent(text)}`);
  if (asked !== text) return;
  const pods = found.pods.slice(0, 8).map((pod) => option(`#/pod/${podPath(pod.key)}`, pod.key, pod.node || "waiting"));
  const nodes = found.nodes.slice(0, 6).map((name) => option(`#/map?node=${encodeURIComponent(name)}`, name, "node"));
  fill(list, pods, nodes);
  if (!pods.length && !nodes.length) fill(list, h("li", { class: "empty" }, "nothing has such a name"));
  list.hidden = false;
}

function option(address, name, note) {
  return h("li", { role: "option" }, h("a", { href: address, onclick: hideSearch }, h("span", {}, name), h("small", {}, note)));
}

function hideSearch() {
  list.hidden = true;
  box.value = "";
  box.blur();
}

box.addEventListener("input", atMostEvery(120, () => search().catch(() => {})));
box.addEventListener("keydown", (event) => {
  const links = [...list.querySelectorAll("a")];
  if (event.key === "Enter" && links.length) links[0].click();
  if (event.key === "ArrowDown" && links.length) links[0].focus();
  if (event.key === "Escape") hideSearch();
});
list.addEventListener("keydown", (event) => {
  const links = [...list.querySelectorAll("a")];
  const place = links.indexOf(document.activeElement);
  if (event.key === "ArrowDown") links[Math.min(links.length - 1, place + 1)].focus();
  else if (event.key === "ArrowUp") (place > 0 ? links[place - 1] : box).focus();
  else if (event.key === "Escape") hideSearch();
  else return;
  event.preventDefault();
});
document.addEventListener("click", (event) => {
  if (!event.target.closest("#search")) list.hidden = true;
});

// ---- keys and theme ------------------------------------------------------------------------------------------------

function toggleTheme() {
  const root = document.documentElement;
  root.dataset.theme = root.dataset.theme === "dark" ? "light" : "dark";
  localStorage.setItem("theme", root.dataset.theme);
  window.dispatchEvent(new Event("themechange"));
}

document.getElementById("theme").addEventListener("click", toggleTheme);
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, select, textarea")) return;
  if (event.key === "/") {
    event.preventDefault();
    box.focus();
  } else if (event.key === "t") toggleTheme();
  else if (current && current.key && current.key(event)) event.preventDefault();
  else {
    const view = Object.entries(VIEWS).find(([, one]) => one.key === event.key);
    if (view) go(`/${view[0]}`);
  }
});

// ---- the time of a trace -------------------------------------------------------------------------------------------

function drawSlider({ start, end, now }) {
  const said = h("output", {}, "");
  const slider = h("input", { type: "range", min: "0", max: "1000", step: "1", "aria-label": "Moment of the trace" });
  slider.value = String(end > start ? Math.round((1000 * (now - start)) / (end - start)) : 1000);
  const moment = () => start + ((end - start) * Number(slider.value)) / 1000;
  const say = () => {
    said.textContent = new Date(moment() * 1000).toLocaleString();
  };
  const seek = atMostEvery(300, async () => {
    await ask("api/trace", { time: moment() }).catch((error) => {
      said.textContent = error.message;
    });
    if (current && current.refresh) current.refresh();
  });
  slider.addEventListener("input", () => {
    say();
    seek();
  });
  say();
  document.body.append(h("footer", { id: "slider" }, h("span", {}, "Moment of the trace"), slider, said));
}

// ---- start ---------------------------------------------------------------------------------------------------------

async function start() {
  drawNavigation();
  follow();
  try {
    cluster.about = await ask("api/about");
  } catch (error) {
    fill(frame, h("section", { class: "empty" }, h("h1", {}, error.status === 401 ? "One more step" : "No answer"), h("p", {}, error.message)));
    return;
  }
  if (cluster.about.recorded) drawSlider(cluster.about.recorded);
  listen(drawCounters);
  window.addEventListener("hashchange", show);
  drawCounters();
  show();
}

start();
