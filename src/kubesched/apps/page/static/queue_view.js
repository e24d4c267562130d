// Who waits, where and for what.

import { ask, podPath } from "./api.js";
import { cluster, listen } from "./cluster.js";
import { atMostEvery, fill, h, select } from "./dom.js";
import { byName, count, duration, since } from "./format.js";
import { choose, go } from "./route.js";

const PLACES = ["active", "in flight", "backoff", "unschedulable", "gated", "waiting on permit", "pending"];
const MEANING = {
  active: "tried next, in this order of priority",
  "in flight": "being decided or bound now",
  backoff: "tried again when its time is up",
  unschedulable: "fits nowhere; waits for an event that may change that",
  gated: "held back before the queue",
  "waiting on permit": "has a node, and a plugin holds its binding back",
  pending: "without a node, and no scheduler has said why yet",
};

export function queueView(frame, route) {
  const filters = {
    place: route.query.get("place") || "",
    namespace: route.query.get("namespace") || "",
    profile: route.query.get("profile") || "",
    priority: route.query.get("priority") || "",
    text: route.query.get("text") || "",
  };
  const tabs = h("div", { class: "tabs", role: "tablist" });
  const toolbar = h("div", { class: "toolbar" });
  const body = h("div", { class: "scroll" }, h("p", { class: "empty" }, "Loading the queue …"));
  frame.append(tabs, toolbar, body);
  let isClosed = false;
  let fetchedAt = 0;
  let last = null;

  async function load() {
    const query = new URLSearchParams(Object.entries(filters).filter(([, value]) => value !== ""));
    try {
      last = await ask(`api/queue?${query}`);
    } catch (error) {
      if (!isClosed) fill(body, h("p", { class: "empty" }, error.message));
      return;
    }
    fetchedAt = performance.now();
    if (!isClosed) draw();
  }

  function set(changes) {
    Object.assign(filters, changes);
    choose(filters);
    load();
  }

  function draw() {
    const everywhere = Object.values(last.places).reduce((sum, number) => sum + number, 0);
    const present = PLACES.filter((place) => last.places[place] || (last.live && place !== "pending" && place !== "waiting on permit"));
    fill(tabs, tab("", "all", everywhere), present.map((place) => tab(place, place, last.places[place] || 0)));
    if (!toolbar.contains(document.activeElement) || document.activeElement.tagName !== "INPUT") drawToolbar();
    fill(body, filters.place && h("p", { class: "hint" }, MEANING[filters.place]), last.rows.length ? table() : nobody(everywhere));
    if (last.matching > last.rows.length) body.append(h("p", { class: "hint" }, `… and ${count(last.matching - last.rows.length, "pod")} more: filter to see them`));
  }

  function drawToolbar() {
    const any = (values) => [["", "any"], ...values.map((value) => [String(value), String(value)])];
    fill(
      toolbar,
      h("input", { type: "search", placeholder: "Filter by name", "aria-label": "Filter by name", value: filters.text, oninput: (event) => set({ text: event.target.value }) }),
      select("Namespace", any(last.namespaces.sort(byName)), filters.namespace, (value) => set({ namespace: value })),
      last.profiles.length > 1 && select("Profile", any(last.profiles), filters.profile, (value) => set({ profile: value })),
      last.priorities.length > 1 && select("Priority", any(last.priorities), filters.priority, (value) => set({ priority: value })),
      !last.live && h("span", { class: "hint" }, "read from the pods' conditions: the scheduler is another process"),
    );
  }

  function tab(place, name, number) {
    const here = filters.place === place;
    return h("button", { role: "tab", class: here ? "here" : "", "aria-selected": String(here), title: MEANING[place], onclick: () => set({ place }) }, name, h("b", {}, number.toLocaleString("en")));
  }

  function nobody(everywhere) {
    return h("p", { class: "empty" }, everywhere ? "No pod matches." : "Nobody waits: every pod has a node.");
  }

  function table() {
    const head = ["pod", "where", "waits", "priority", "tries", "because of", "woken by"];
    return h("table", {}, h("thead", {}, h("tr", {}, head.map((name) => h("th", { class: ["waits", "priority", "tries"].includes(name) ? "number" : "" }, name)))), h("tbody", {}, last.rows.map(line)));
  }

  function line(row) {
    const address = `/pod/${podPath(row.pod)}`;
    return h(
      "tr",
      { onclick: () => go(address), tabIndex: 0, onkeydown: (event) => event.key === "Enter" && go(address) },
      h("td", { class: "name" }, h("a", { href: `#${address}` }, row.pod)),
      h("td", {}, h("span", { class: `place ${row.place.replaceAll(" ", "-")}` }, row.place), row.backoffLeft ? h("small", { "data-left": row.backoffLeft }, ` ${duration(row.backoffLeft)} left`) : null),
      h("td", { class: "number" }, since(row.created)),
      h("td", { class: "number" }, row.priority),
      h("td", { class: "number" }, row.attempts || ""),
      h("td", { class: "why" }, (row.plugins || []).map((plugin) => h("span", { class: "tag" }, plugin)), h("div", { class: "message", title: row.message || "" }, row.message || ""), row.nominated ? h("div", {}, "nominated: ", row.nominated) : null),
      h("td", { class: "wakes" }, (row.wakes || []).map((event) => h("span", { class: "tag dim" }, event))),
    );
  }

  const refresh = atMostEvery(1000, load);
  const stop = listen((change) => change.connection || refresh());
  const timer = setInterval(() => {
    const passed = (performance.now() - fetchedAt) / 1000;
    for (const element of body.querySelectorAll("[data-left]")) {
      element.textContent = ` ${duration(Math.max(0, Number(element.dataset.left) - passed))} left`;
    }
    if (passed > 5 && !document.hidden && last && last.rows.length) refresh();
  }, 1000);
  load();
  return {
    close: () => {
      isClosed = true;
      stop();
      clearInterval(timer);
    },
    key: (event) => {
      const rows = [...body.querySelectorAll("tbody tr")];
      const place = rows.indexOf(document.activeElement);
      if (event.key === "ArrowDown" && rows.length) rows[Math.min(rows.length - 1, place + 1)].focus();
      else if (event.key === "ArrowUp" && rows.length) rows[Math.max(0, place - 1)].focus();
      else return false;
      return true;
    },
  };
}
