// Steps that are tried on a copy of the cluster: what would move, who would wait, on the map and as lists.

import { ask, podPath } from "./api.js";
import { cluster } from "./cluster.js";
import { fill, h, select } from "./dom.js";
import { byName, count } from "./format.js";
import { plainMap } from "./map_view.js";
import { parse } from "./route.js";

const ACTIONS = [["drain", "Drain"], ["cordon", "Cordon"], ["uncordon", "Uncordon"], ["remove", "Lose"], ["add", "Add nodes like"]];
const SHOWN = 200;

export function whatIfView(frame, route) {
  const bar = h("div", { class: "toolbar" });
  const holder = h("div", { class: "nested" });
  const results = h("aside", { class: "panel results" });
  frame.append(bar, h("div", { class: "split" }, holder, results));
  const map = plainMap(holder, route);
  map.onPick = (name) => {
    node.value = name;
    node.focus();
  };
  let action = "drain";
  let asked = "";
  const names = h("datalist", { id: "node-names" });
  const node = h("input", { list: "node-names", placeholder: "node, or label=value", "aria-label": "Node or label selector", onkeydown: (event) => event.key === "Enter" && add() });
  const number = h("input", { type: "number", min: "1", max: "100", value: "1", "aria-label": "How many", class: "short", hidden: true });

  function steps() {
    return parse().query.getAll("do");
  }

  function set(next) {
    const { query } = parse();
    query.delete("do");
    next.forEach((step) => query.append("do", step));
    history.pushState(null, "", `#/what-if${query.size ? `?${query}` : ""}`);
    load();
  }

  function add() {
    const name = node.value.trim();
    if (!name) return;
    set([...steps(), action === "add" ? `add:${number.value}:${name}` : `${action}:${name}`]);
    node.value = "";
  }

  function drawBar() {
    const pick = select("", ACTIONS, action, (value) => {
      action = value;
      number.hidden = value !== "add";
    });
    fill(
      bar,
      h("b", {}, "What if we"),
      pick,
      number,
      node,
      names,
      h("button", { class: "main", onclick: add }, "Try"),
      steps().map((step, place) => h("span", { class: "chip" }, said(step), h("button", { class: "quiet", title: "Leave this step out", onclick: () => set(steps().filter((_, other) => other !== place)) }, "×"))),
      steps().length > 0 && h("button", { class: "quiet", onclick: () => set([]) }, "Clear"),
    );
    const known = [...cluster.nodes.values()].map((one) => one.name).sort(byName).slice(0, 500);
    fill(names, known.map((name) => h("option", { value: name })));
  }

  async function load() {
    drawBar();
    const wanted = steps();
    asked = JSON.stringify(wanted);
    if (!wanted.length) {
      map.overlay = null;
      map.changed({ all: true });
      fill(results, h("h2", {}, "Try before you do"), h("p", { class: "hint" }, "Choose what to do and where, or click a node on the map. The scheduler's engine decides where every pod would go, within disruption budgets. Nothing is changed in the cluster."));
      return;
    }
    fill(results, h("p", { class: "hint" }, "Trying …"));
    try {
      const found = await ask("api/what-if", { steps: wanted });
      if (asked !== JSON.stringify(wanted)) return;
      const { moved = [], started = [] } = found.report;
      map.overlay = { changed: found.changed, added: found.added, gone: found.gone, moves: [...moved, ...started] };
      map.changed({ all: true });
      drawResults(found);
    } catch (error) {
      if (asked !== JSON.stringify(wanted)) return;
      map.overlay = null;
      map.changed({ all: true });
      fill(results, h("p", { class: "bad" }, error.message));
    }
  }

  function drawResults({ report, counts }) {
    const newly = (report.waiting || []).filter((one) => one.isNew);
    const parts = [
      [counts.moved, "good", "move", "moves"],
      [counts.started, "good", "start", "starts"],
      [newly.length, "bad", "would wait", "would wait"],
      [counts.blocked, "warn", "cannot be evicted", "cannot be evicted"],
      [counts.preempted, "warn", "are preempted", "is preempted"],
      [counts.gone, "bad", "are gone for good", "is gone for good"],
    ].filter(([many]) => many);
    fill(
      results,
      h("h2", {}, parts.length ? "It would happen that" : "Nothing would change"),
      h("ul", { class: "outcome" }, parts.map(([many, tone, plural, singular]) => h("li", { class: tone }, h("b", {}, many.toLocaleString("en")), ` ${many === 1 ? `pod ${singular}` : `pods ${plural}`}`))),
      steps().map((step) => step.match(/^(?:change|priority):([^:]+):/)).filter((found) => found && !(report.started || []).some((one) => one.pod === found[1])).map((found) => h("p", {}, podLink(found[1]), " would still wait: other pods that wait take the place first.")),
      list("Waiting", newly, (one) => [podLink(one.pod), h("small", {}, one.why)]),
      list("Cannot be evicted", report.blocked, (one) => [podLink(one.pod), h("small", {}, one.why)]),
      list("Start", report.started, (one) => [podLink(one.pod), h("small", {}, `→ ${one.node}${chance(one)}`)]),
      list("Move", report.moved, (one) => [podLink(one.pod), h("small", {}, `${one.before} → ${one.node}${chance(one)}`)]),
      list("Preempted", report.preempted, (one) => [podLink(one.pod), h("small", {}, `on ${one.node}, by ${one.by}`)]),
      list("Gone", report.gone, (one) => [podLink(one.pod), h("small", {}, one.why)]),
      list("Spread", report.spread, (one) => [h("b", {}, one.workload), h("small", {}, `by ${one.over}: ${spread(one.before)} → ${spread(one.after)}`)]),
      h("p", { class: "hint" }, "Tried on a copy; nothing was changed."),
    );
  }

  const start = () => {
    load();
    map.stop();
  };
  if (cluster.nodes.size) start();
  const waiting = cluster.nodes.size ? 0 : setInterval(() => {
    if (!cluster.nodes.size) return;
    clearInterval(waiting);
    start();
  }, 100);
  return {
    close: () => {
      clearInterval(waiting);
      map.close();
    },
    update: () => {
      load();
      return true;
    },
  };
}

function said(step) {
  const [action, ...rest] = step.split(":");
  if (action === "add") return `add ${rest[0]} like ${rest.slice(1).join(":")}`;
  if (action === "change") return `${rest[0]}, if it ${rest.slice(1).join(":")}`;
  if (action === "priority") return `${rest[0]} with priority ${rest[1]}`;
  return `${action === "remove" ? "lose" : action} ${rest.join(":")}`;
}

function chance(one) {
  if (one.tiedNodes > 1) return ` (or ${count(one.tiedNodes - 1, "other node")} as good)`;
  return one.byTiming || one.afterTie ? " (may differ with the order)" : "";
}

function spread(by) {
  return Object.entries(by).map(([name, number]) => `${name} ${number}`).join(", ") || "none";
}

function podLink(key) {
  return h("a", { href: `#/pod/${podPath(key)}` }, key);
}

function list(title, lines, line) {
  if (!lines || !lines.length) return null;
  return [h("h3", {}, `${title} · ${lines.length.toLocaleString("en")}`), h("ul", { class: "pods" }, lines.slice(0, SHOWN).map((one) => h("li", {}, line(one))), lines.length > SHOWN && h("li", { class: "dim" }, `and ${lines.length - SHOWN} more`))];
}
