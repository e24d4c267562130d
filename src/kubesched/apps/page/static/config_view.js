// A configuration: checked while it is typed, its weights as numbers, and compared with the present one.

import { ask, podPath } from "./api.js";
import { atMostEvery, fill, h } from "./dom.js";
import { count } from "./format.js";

const SHOWN = 300;

export function configView(frame) {
  const editor = h("textarea", { spellcheck: false, "aria-label": "KubeSchedulerConfiguration", oninput: () => check() });
  const problems = h("div", { class: "problems", role: "status" });
  const weights = h("div", { class: "weights" });
  const outcome = h("div", { class: "outcome-list" });
  const button = h("button", { class: "main", onclick: () => compare() }, "Compare with the present configuration");
  frame.append(
    h("div", { class: "split" }, h("section", { class: "editor" }, h("div", { class: "toolbar" }, h("b", {}, "A configuration to try"), h("button", { class: "quiet", onclick: () => reset() }, "Back to the present one")), editor, problems), h("aside", { class: "panel wide scroll" }, h("h2", {}, "Weights"), weights, h("p", {}, button), outcome)),
  );
  let present = "";
  let isClosed = false;

  async function reset() {
    present = (await ask("api/config")).text;
    if (isClosed) return;
    editor.value = present;
    checkNow();
  }

  async function checkNow() {
    const text = editor.value;
    const found = await ask("api/config/check", { text }).catch((error) => ({ problems: [error.message], weights: [] }));
    if (isClosed || text !== editor.value) return;
    button.disabled = found.problems.length > 0;
    fill(problems, found.problems.length ? h("ul", {}, found.problems.map((line) => h("li", { class: "bad" }, line))) : h("p", { class: "good" }, text === present ? "Valid; this is the present one." : "Valid."));
    if (!found.problems.length) drawWeights(found.weights);
  }

  const check = atMostEvery(300, () => checkNow());

  function drawWeights(profiles) {
    if (weights.contains(document.activeElement)) return;
    fill(weights, profiles.map(({ profile, plugins }) => [
      profiles.length > 1 && h("h3", {}, profile),
      Object.entries(plugins).map(([plugin, weight]) => h("label", {}, h("span", {}, plugin), h("input", { type: "number", min: "1", value: String(weight), class: "short", onchange: (event) => setWeight(profile, plugin, Number(event.target.value)) }))),
    ]));
  }

  async function setWeight(profile, plugin, weight) {
    try {
      editor.value = (await ask("api/config/weight", { text: editor.value, profile, plugin, weight })).text;
      checkNow();
    } catch (error) {
      fill(problems, h("p", { class: "bad" }, error.message));
    }
  }

  async function compare() {
    fill(outcome, h("p", { class: "hint" }, "Deciding about every pod twice …"));
    try {
      const found = await ask("api/config/compare", { text: editor.value });
      if (!isClosed) drawOutcome(found);
    } catch (error) {
      fill(outcome, h("p", { class: "bad" }, error.message));
    }
  }

  function drawOutcome({ compared, pods, differences }) {
    const partly = compared < pods ? ` (of ${pods.toLocaleString("en")}: the time was up)` : "";
    fill(
      outcome,
      h("h2", {}, differences.length ? `${count(differences.length, "pod")} would go elsewhere` : "No pod would go elsewhere"),
      h("p", { class: "hint" }, `${count(compared, "pod")}${partly} decided with both, each as if it were not placed yet.`),
      differences.length > 0 && h("table", {}, h("thead", {}, h("tr", {}, ["pod", "now best", "then best", "because of"].map((name) => h("th", {}, name)))), h("tbody", {}, differences.slice(0, SHOWN).map((one) => h("tr", {}, h("td", { class: "name" }, h("a", { href: `#/pod/${podPath(one.pod)}` }, one.pod)), h("td", {}, some(one.before, one.beforeCount)), h("td", {}, one.after.length ? some(one.after, one.afterCount) : one.reason), h("td", {}, one.decidedBy.slice(0, 2).map((plugin) => h("span", { class: "tag" }, plugin))))))),
    );
  }

  reset().catch((error) => fill(problems, h("p", { class: "bad" }, error.message)));
  return { close: () => { isClosed = true; } };
}

function some(names, number) {
  if (!names.length) return "nowhere";
  return `${names.slice(0, 2).join(", ")}${number > 2 ? ` and ${number - 2} more` : ""}`;
}
