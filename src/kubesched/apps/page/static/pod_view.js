// One pod's decision: the way through the extension points, every node's answer, and what would help.

import { ask, podPath } from "./api.js";
import { kind } from "./colours.js";
import { fill, h, put } from "./dom.js";
import { byName, count, moment, resourceName, seconds, since } from "./format.js";
import { choose } from "./route.js";

const FIRST_NODES = 20;
const MORE_NODES = 200;

export function podView(frame, route) {
  const key = route.rest.join("/");
  let evaluatesNow = route.query.has("now");
  const body = h("div", { class: "scroll decision" });
  frame.append(body);
  let isClosed = false;

  async function load() {
    fill(body, h("h1", {}, key), h("p", { class: "empty" }, "Asking the scheduler …"));
    try {
      const decision = await ask(`api/decision/${podPath(key)}${evaluatesNow ? "?now" : ""}`);
      if (!isClosed) draw(decision);
      if (decision.outcome === "nowhere" && !isClosed) await loadHelp();
    } catch (error) {
      if (!isClosed) fill(body, h("h1", {}, key), h("p", { class: "empty" }, error.message));
    }
  }

  const help = h("section", { class: "help" });

  async function loadHelp() {
    fill(help, h("h2", {}, "What would help"), h("p", { class: "hint" }, "Trying changes …"));
    const found = await ask(`api/help/${podPath(key)}`);
    if (isClosed) return;
    fill(
      help,
      h("h2", {}, "What would help"),
      found.pod.length > 0 && [h("p", {}, "It would fit if it"), h("ul", { class: "remedies" }, found.pod.map(podRemedy))],
      found.cluster.length > 0 && [h("p", {}, found.pod.length ? "This would help, too:" : "This would help:"), h("ul", { class: "remedies" }, found.cluster.map(clusterRemedy))],
      found.nothing && h("p", {}, `${found.nothing[0].toUpperCase()}${found.nothing.slice(1)}.`),
    );
  }

  function podRemedy(one) {
    const changes = one.changes.join(" and ");
    return h("li", {}, h("b", {}, changes), nodeNames(one.nodes), tryIt(`change:${key}:${changes}`));
  }

  function clusterRemedy(one) {
    const steps = { uncordon: `uncordon:${one.target}`, "add-node": `add:1:${one.target}`, priority: `priority:${key}:${one.target}` };
    return h("li", {}, h("b", {}, one.says), one.nodes.length ? nodeNames(one.nodes) : null, steps[one.kind] && tryIt(steps[one.kind]));
  }

  function draw(decision) {
    const { pod } = decision;
    fill(
      body,
      h(
        "header",
        { class: "headline" },
        h("h1", {}, key),
        h("p", { class: `verdict ${decision.outcome}` }, verdict(decision)),
        decision.outcome !== "fits" && decision.message && h("p", { class: "message" }, decision.message),
        basis(decision),
        facts(pod),
      ),
      way(decision),
      decision.outcome === "nowhere" && help,
      decision.preemption && decision.preemption.candidates.length > 0 && preemption(decision.preemption),
      decision.scores.nodes.length > 0 && scores(decision),
      decision.groups.length > 0 && groups(decision),
      decision.filters && decision.filters.plugins.length > 0 && matrix(decision),
      h("p", { class: "hint" }, `${decision.basis.kind === "taken" ? "Remembered" : "Evaluated"} by the engine that schedules; answered in ${decision.milliseconds} ms. Nothing was changed.`),
    );
  }

  /** Whether this is the decision that was taken, or what would be decided now. */
  function basis(decision) {
    const { taken } = decision;
    if (decision.basis.kind === "taken") {
      return h("p", { class: "basis taken" }, h("b", {}, "The decision as it was taken"), ` ${moment(decision.basis.at)}: these are the nodes and the points of that time. `, h("button", { class: "button", onclick: () => turn(true) }, "Evaluate it now"));
    }
    if (decision.basis.kind === "recorded") {
      return h("p", { class: "basis taken" }, h("b", {}, "On the recorded state in which it got its node"), `, ${moment(decision.basis.at)}, by this configuration. `, h("button", { class: "button", onclick: () => turn(true) }, "Evaluate it on the present state"));
    }
    if (!decision.node) return null;
    if (evaluatesNow && decision.basis.canShowTaken) return h("p", { class: "basis" }, h("b", {}, "Evaluated now"), ", as if it had no node yet. ", h("button", { class: "button", onclick: () => turn(false) }, "Show the decision as it was taken"));
    if (taken) return h("p", { class: "basis" }, `It was decided ${moment(taken.at)}, ${taken.attempt > 1 ? `at attempt ${taken.attempt}, ` : ""}${seconds(taken.waited)} after it came: ${taken.feasible} of ${count(taken.evaluated, "node")} took it. `, h("b", {}, "What follows is evaluated now"), ": so many pods were placed then that the points were not kept.");
    return h("p", { class: "basis" }, h("b", {}, "Evaluated now"), ", as if it had no node yet: the decision that was taken is not, or no longer, remembered.");
  }

  function turn(now) {
    evaluatesNow = now;
    choose({ now: now ? "1" : "" });
    load();
  }

  function verdict(decision) {
    const { best, scores } = decision;
    if (decision.outcome === "gated") return "Held back before the queue";
    if (decision.outcome === "error") return "Cannot be decided";
    if (decision.outcome === "nowhere") return decision.node ? [`Runs on `, nodeLink(decision.node), `; if scheduled now, it would fit nowhere`] : "Fits nowhere";
    const next = scores.totals.find((total) => total < scores.totals[0]);
    const margin = next === undefined ? "" : `, ${count(scores.totals[0] - next, "point")} ahead of the next`;
    const where = best.length > 1 ? [`one of ${count(best.length, "node")} that are equally good (`, nodeNames(best), ")"] : [nodeLink(best[0])];
    if (decision.basis.kind !== "now" && best.includes(decision.node)) {
      if (!scores.nodes.length) return ["Went to ", nodeLink(decision.node), ": no other node took it"];
      return ["Went to ", nodeLink(decision.node), best.length > 1 ? `: one of ${best.length} equally good nodes${margin}` : margin || ": the best node"];
    }
    if (decision.basis.kind !== "now") return ["Went to ", nodeLink(decision.node), "; by this configuration it would have gone to ", where, margin];
    if (!decision.node) return ["Would go to ", where, margin];
    if (best.includes(decision.node)) return ["Is on ", nodeLink(decision.node), best.length > 1 ? `: one of ${best.length} equally good nodes` : `: still the best node${margin}`];
    return ["Is on ", nodeLink(decision.node), "; if scheduled now, it would go to ", where, margin];
  }

  function facts(pod) {
    const requests = Object.entries(pod.requests).filter(([name]) => name !== "pods").map(([name, value]) => `${resourceName(name)} ${value}`);
    const parts = [
      ["requests", requests.join(", ") || "nothing"],
      ["priority", pod.priority],
      ["owner", pod.owner],
      ["scheduler", pod.profile],
      ["age", since(pod.created)],
      ["nominated", pod.nominated],
    ];
    return h("dl", { class: "facts" }, parts.filter(([, value]) => value !== "" && value !== undefined).map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value))));
  }

  function way(decision) {
    const timed = decision.steps.filter((step) => step.plugins);
    const points = h(
      "ol",
      { class: "way" },
      decision.steps.map((step) => h("li", { class: step.result }, h("b", {}, step.point, step.seconds !== undefined && h("small", {}, seconds(step.seconds))), h("span", {}, step.says))),
      decision.best.length > 0 && h("li", { class: "end" }, h("a", { href: `#/map?pod=${encodeURIComponent(key)}` }, "Show the points on the map")),
    );
    if (!timed.length) return points;
    const times = h("details", { class: "times" }, h("summary", {}, "How long each plugin takes, asked about every node"), h("div", {}, timed.map((step) => h("dl", {}, h("dt", {}, step.point), Object.entries(step.plugins).map(([name, value]) => h("dd", {}, h("span", {}, name), h("b", {}, seconds(value))))))));
    return h("section", {}, points, times);
  }

  function groups(decision) {
    const rejected = decision.groups.reduce((sum, group) => sum + group.nodes.length, 0);
    return h(
      "section",
      {},
      h("h2", {}, "Filters"),
      h("p", { class: "hint" }, `${count(rejected, "node")} of ${decision.nodes} ${decision.basis.kind === "taken" ? "did" : "do"} not take it. `, decision.filters ? "The first reason is the one that counts; a node that has others lacks those, too." : "A node is shown with the first filter that rejected it."),
      h("table", { class: "groups" }, h("thead", {}, h("tr", {}, h("th", {}, "nodes"), h("th", {}, "because of"), h("th", {}, ""))), h("tbody", {}, decision.groups.map((group) => groupLine(group, decision.nodes)))),
    );
  }

  function groupLine(group, nodes) {
    const names = h("div", { class: "names", hidden: true });
    const toggle = h("button", { class: "quiet", "aria-expanded": "false", onclick: () => {
      names.hidden = !names.hidden;
      toggle.setAttribute("aria-expanded", String(!names.hidden));
      toggle.textContent = names.hidden ? "which?" : "hide";
      if (!names.childNodes.length) put(names, group.nodes.slice(0, MORE_NODES).map((name) => [nodeLink(name), " "]), group.nodes.length > MORE_NODES && `and ${group.nodes.length - MORE_NODES} more`);
    } }, "which?");
    return h(
      "tr",
      {},
      h("td", { class: "amount" }, h("i", {}, h("b", { style: { width: `${(100 * group.nodes.length) / nodes}%` } })), h("span", {}, group.nodes.length.toLocaleString("en"))),
      h("td", {}, group.answers.map((answer, place) => h("div", { class: place ? "also" : "" }, answer.reason, " ", h("span", { class: "tag" }, answer.plugin || "—"), answer.code === "UnschedulableAndUnresolvable" ? h("small", { title: "Evicting pods would not help there" }, "preemption does not help") : null)), names),
      h("td", {}, toggle),
    );
  }

  /** Any node against every filter. */
  function matrix(decision) {
    const { nodes, plugins, passed, skipped } = decision.filters;
    const order = nodes.map((_, place) => place).sort((one, other) => byName(nodes[one], nodes[other]));
    const rows = h("tbody", {});
    const more = h("p", { class: "hint" });
    let most = FIRST_NODES;
    const search = h("input", { type: "search", placeholder: "Find a node", "aria-label": "Find a node among the filters", oninput: () => drawRows() });

    function drawRows() {
      const text = search.value.trim();
      const places = order.filter((place) => !text || nodes[place].includes(text));
      fill(rows, places.slice(0, most).map((place) => h("tr", {}, h("td", { class: "name" }, nodeLink(nodes[place])), plugins.map((plugin) => answerCell(plugin, place)))));
      const rest = places.length - most;
      fill(more, rest > 0 && h("button", { onclick: () => { most += MORE_NODES; drawRows(); } }, `Show more of ${count(rest, "other node")}`));
    }

    drawRows();
    return h(
      "section",
      {},
      h("h2", {}, "Every filter on every node"),
      h("p", { class: "hint" }, passed.length > 0 && ["No objection anywhere: ", passed.map((name) => h("span", { class: "tag dim" }, name))], skipped.length > 0 && [" Nothing to say about this pod: ", skipped.map((name) => h("span", { class: "tag dim" }, name))]),
      nodes.length > FIRST_NODES && search,
      h("table", { class: "matrix" }, h("thead", {}, h("tr", {}, h("th", {}, "node"), plugins.map((plugin) => h("th", {}, plugin.name)))), rows),
      more,
    );
  }

  function answerCell(plugin, place) {
    const answer = plugin.index[place];
    return answer ? h("td", { class: "no" }, plugin.reasons[answer - 1]) : h("td", { class: "yes", title: `${plugin.name} takes it` }, "✓");
  }

  function scores(decision) {
    const { nodes, plugins } = decision.scores;
    const section = h("section", {});
    const filter = h("input", { type: "search", placeholder: "Find a node", "aria-label": "Find a node", oninput: () => drawRows() });
    const rows = h("tbody", {});
    const more = h("p", { class: "hint" });
    let most = FIRST_NODES;
    const telling = plugins.filter((plugin) => plugin.scores.some((score) => score !== plugin.scores[0]));

    function drawRows() {
      const text = filter.value.trim();
      const places = nodes.map((_, place) => place).filter((place) => !text || nodes[place].includes(text));
      fill(rows, places.slice(0, most).map((place) => scoreLine(decision, place)));
      const rest = places.length - most;
      fill(more, rest > 0 && h("button", { onclick: () => { most += MORE_NODES; drawRows(); } }, `Show more of ${count(rest, "other node")}`));
    }

    put(
      section,
      h("h2", {}, "Scores"),
      h("p", { class: "hint" }, `${count(nodes.length, "node")} took it. Each plugin's raw score is brought to 0 to 100, and counts as often as its weight says. `, telling.length ? ["What decided: ", telling.map((plugin) => h("span", { class: "tag" }, plugin.name))] : "All nodes have the same points."),
      nodes.length > FIRST_NODES && filter,
      h("table", { class: "scores" }, h("thead", {}, h("tr", {}, h("th", {}, "node"), h("th", {}, "points"), plugins.map((plugin, place) => h("th", { class: "number", title: `${plugin.name}, weight ${plugin.weight}` }, h("i", { class: "dot", style: { background: kind(place) } }), broken(plugin.name), h("small", {}, ` ×${plugin.weight}`))))), rows),
      more,
    );
    drawRows();
    return section;
  }

  function scoreLine({ scores: { nodes, totals, plugins }, best, node }, place) {
    const isBest = best.includes(nodes[place]);
    const bars = plugins.map((plugin, number) => h("b", { style: { width: `${(100 * plugin.scores[place] * plugin.weight) / (totals[0] || 1)}%`, background: kind(number) }, title: `${plugin.name}: ${plugin.scores[place]} × ${plugin.weight}` }));
    return h(
      "tr",
      { class: isBest ? "best" : "" },
      h("td", { class: "name" }, nodeLink(nodes[place]), nodes[place] === node ? h("small", {}, " now here") : null),
      h("td", { class: "points" }, h("i", {}, bars), h("span", {}, totals[place])),
      plugins.map((plugin) => h("td", { class: "number" }, h("span", { title: `${plugin.scores[place]} × ${plugin.weight} = ${plugin.scores[place] * plugin.weight}` }, plugin.scores[place]), plugin.raw[place] !== plugin.scores[place] && h("small", {}, `raw ${plugin.raw[place].toLocaleString("en")}`))),
    );
  }

  function preemption(found) {
    return h(
      "section",
      {},
      h("h2", {}, "Preemption"),
      h("p", { class: "hint" }, `On ${count(found.count, "node")} it would fit if pods of lower priority went.`),
      h(
        "table",
        {},
        h("thead", {}, h("tr", {}, h("th", {}, "node"), h("th", {}, "victims"), h("th", {}, "their budgets"), h("th", { class: "number" }, "budgets violated"))),
        h("tbody", {}, found.candidates.map((one) => h("tr", { class: one.best ? "best" : "" }, h("td", { class: "name" }, nodeLink(one.node), one.node === found.nominated ? h("small", {}, " chosen") : null), h("td", {}, one.victims.map((victim) => h("a", { class: "tag", href: `#/pod/${podPath(victim.key)}` }, victim.key, h("small", {}, ` priority ${victim.priority}`)))), h("td", {}, budgetsOf(one.victims)), h("td", { class: one.pdbViolations ? "number bad" : "number" }, one.pdbViolations || "none")))),
      ),
    );
  }

  function budgetsOf(victims) {
    const budgets = new Map(victims.flatMap((victim) => victim.budgets.map((budget) => [budget.name, budget.allowed])));
    return [...budgets].map(([name, allowed]) => h("div", {}, name, h("small", {}, ` allows ${count(allowed, "disruption")}`)));
  }

  load();
  return {
    close: () => { isClosed = true; },
    refresh: load,
    key: (event) => {
      if (event.key !== "r") return false;
      turn(true);
      return true;
    },
  };
}

/** A name that may be broken before its capitals: NodeResources|Fit. */
function broken(name) {
  return name.split(/(?=[A-Z][a-z])/).map((part, place) => (place ? [h("wbr"), part] : part));
}

/** A button that tries a step on a copy of the cluster. */
function tryIt(step) {
  return h("a", { class: "button", href: `#/what-if?do=${encodeURIComponent(step)}`, title: "Nothing is changed in the cluster" }, "Try it");
}

function nodeLink(name) {
  return h("a", { href: `#/map?node=${encodeURIComponent(name)}` }, name);
}

function nodeNames(names) {
  return h("span", { class: "some" }, names.slice(0, 4).map((name, place) => [place ? ", " : "", nodeLink(name)]), names.length > 4 && ` and ${names.length - 4} more`);
}
