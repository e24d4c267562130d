// The cluster map: every node a tile on a canvas, redrawn when something changed, never more than once a frame.

import { ask, podPath } from "./api.js";
import { cluster, labelKeys, listen, share } from "./cluster.js";
import { heat, isDark, kind, themed } from "./colours.js";
import { atMostEvery, fill, h, select } from "./dom.js";
import { amount, byName, count, moment, percent, resourceName, since } from "./format.js";
import { layout } from "./map_layout.js";
import { choose, go } from "./route.js";

const ZONE = "topology.kubernetes.io/zone";
const POOLS = ["cloud.google.com/gke-nodepool", "eks.amazonaws.com/nodegroup", "kubernetes.azure.com/agentpool", "node.kubernetes.io/instance-type"];
const FLASH = 1400; // milliseconds for which a tile shows that a pod came or went
const MOST_ARROWS = 400;
const CARD = 54; // pixels from which a tile shows its pods
const COLOURS = [["filling", "Filling"], ["state", "Readiness"], ["taints", "Taints"]];

/** The map with what would be different: for the what-if view, which sets `view.overlay` and calls `view.changed`. */
export function plainMap(frame, route) {
  return new MapView(frame, route);
}

export function mapView(frame, route) {
  const view = new MapView(frame, route);
  return { close: () => view.close(), update: (next) => view.update(next), key: (event) => view.key(event) };
}

class MapView {
  constructor(frame, route) {
    this.canvas = h("canvas", { tabIndex: 0, "aria-label": "The nodes of the cluster" });
    this.toolbar = h("div", { class: "toolbar" });
    this.legend = h("div", { class: "legend" });
    this.panel = h("aside", { class: "panel", hidden: true });
    this.tip = h("div", { class: "tip", hidden: true });
    this.holder = h("div", { class: "map" }, this.canvas, this.tip);
    frame.append(this.toolbar, h("div", { class: "split" }, this.holder, this.panel), this.legend);
    this.flashes = new Map();
    this.placed = new Map(); // row → pods, for cards
    this.stale = new Set();
    this.hover = null;
    this.decision = null;
    this.takeRoute(route);
    this.stop = listen((change) => this.changed(change));
    this.resize = new ResizeObserver(() => this.arrange());
    this.resize.observe(this.holder);
    this.fetchPlaced = atMostEvery(400, () => this.askForPlaced());
    this.refreshPanel = atMostEvery(1000, () => this.drawPanel());
    this.onTheme = () => this.draw();
    window.addEventListener("themechange", this.onTheme);
    this.canvas.addEventListener("mousemove", (event) => this.pointed(event));
    this.canvas.addEventListener("mouseleave", () => this.leave());
    this.canvas.addEventListener("click", (event) => this.clicked(event));
    if (cluster.nodes.size) this.changed({ all: true });
  }

  close() {
    this.stop();
    this.resize.disconnect();
    window.removeEventListener("themechange", this.onTheme);
    this.isClosed = true;
  }

  update(route) {
    this.takeRoute(route);
    this.changed({ all: true });
    return true;
  }

  takeRoute({ query }) {
    this.resource = query.get("fill") || "cpu";
    this.group = query.get("group") ?? null;
    this.colour = query.get("colour") || "filling";
    this.selected = query.get("node") || "";
    const pod = query.get("pod") || "";
    if (pod !== (this.decision ? this.decision.key : "")) this.takePod(pod);
  }

  async takePod(key) {
    this.decision = key ? { key } : null;
    if (!key) return;
    try {
      const found = await ask(`api/decision/${podPath(key)}`);
      const scores = new Map(found.scores.nodes.map((name, place) => [name, found.scores.totals[place]]));
      const values = [...scores.values()];
      this.decision = { key, scores, low: Math.min(...values), high: Math.max(...values), best: new Set(found.best), basis: found.basis };
      this.changed({ all: true });
    } catch (error) {
      this.decision = null;
      choose({ pod: "" });
    }
  }

  // ---- what changed -----------------------------------------------------------------------------------------------

  changed(change) {
    if (change.connection) return;
    if (change.all) {
      this.arrange();
      this.drawToolbar();
      this.drawPanel();
      return;
    }
    const now = performance.now();
    for (const [row, pods] of change.moved || []) this.flashes.set(row, { at: now, came: pods > 0 });
    for (const row of change.rows) this.stale.add(row);
    if (change.rows.length) {
      if (this.isCards) this.fetchPlaced();
      if (this.selected) this.refreshPanel();
      this.draw();
    }
  }

  /** What is drawn: the cluster's nodes, or what they would be after the steps of a what-if. */
  nodes() {
    const { overlay } = this;
    const nodes = [...cluster.nodes.values()];
    if (!overlay) return nodes;
    const changed = nodes.map((node) => (overlay.changed[node.name] ? { ...node, ...overlay.changed[node.name], labels: node.labels, now: node } : node));
    const added = overlay.added.map((name, place) => ({ row: -1 - place, name, ready: 1, taints: [], isNew: true, ...overlay.changed[name] }));
    return [...changed.map((node) => (overlay.gone.includes(node.name) ? { ...node, isGone: true, requested: {} } : node)), ...added];
  }

  get isCards() {
    return this.plan && !this.overlay && this.plan.size >= CARD && this.plan.perTile === 1;
  }

  async askForPlaced() {
    if (!this.isCards || this.isClosed) return;
    const missing = [...cluster.nodes.keys()].filter((row) => this.stale.has(row) || !this.placed.has(row));
    if (!missing.length) return;
    missing.forEach((row) => this.stale.delete(row));
    const found = await ask(`api/placed?rows=${missing.join(",")}`).catch(() => ({}));
    for (const row of missing) this.placed.set(row, found[row] || []);
    this.draw();
  }

  groupKey() {
    if (this.group !== null) return this.group;
    const keys = labelKeys();
    return [ZONE, ...POOLS].find((key) => keys.includes(key)) || "";
  }

  arrange() {
    const { width, height } = this.holder.getBoundingClientRect();
    if (!width || !height || !cluster.nodes.size) return;
    const ratio = window.devicePixelRatio || 1;
    this.canvas.width = Math.round(width * ratio);
    this.canvas.height = Math.round(height * ratio);
    this.canvas.style.width = `${width}px`;
    this.canvas.style.height = `${height}px`;
    const key = this.groupKey();
    const groupOf = key ? (node) => node.labels[key] ?? "(none)" : () => "";
    this.plan = layout(this.nodes(), groupOf, width - 2, height - 2);
    if (this.isCards) this.fetchPlaced();
    this.draw();
  }

  // ---- drawing ----------------------------------------------------------------------------------------------------

  draw() {
    if (this.isDrawing || this.isClosed) return;
    this.isDrawing = true;
    requestAnimationFrame(() => {
      this.isDrawing = false;
      if (this.plan && !this.isClosed) this.paint();
    });
  }

  paint() {
    const started = performance.now();
    const context = this.canvas.getContext("2d");
    const ratio = window.devicePixelRatio || 1;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, this.canvas.width, this.canvas.height);
    this.ink = themed("--ink");
    this.dim = themed("--dim");
    this.empty = themed("--tile");
    this.bad = themed("--bad");
    this.warn = themed("--warn");
    this.accent = themed("--accent");
    this.good = themed("--good");
    this.taintKinds = this.colour === "taints" ? taintKinds() : null;
    context.textBaseline = "top";
    for (const heading of this.plan.headings) this.paintHeading(context, heading);
    for (const tile of this.plan.tiles) this.paintTile(context, tile, started);
    if (this.overlay) this.paintMoves(context);
    for (const [row, flash] of this.flashes) if (started - flash.at > FLASH) this.flashes.delete(row);
    this.drawLegend();
    if (!this.canvas.dataset.painted) {
      this.canvas.dataset.painted = "true";
      performance.mark("map painted");
    }
    if (this.flashes.size) this.draw();
  }

  paintHeading(context, heading) {
    context.font = "600 12px system-ui, sans-serif";
    context.fillStyle = this.dim;
    const name = heading.name || "all nodes";
    context.fillText(`${name}  ·  ${heading.count.toLocaleString("en")}`, heading.x + 2, heading.y + 4, heading.width);
  }

  paintTile(context, tile, now) {
    const { size } = this.plan;
    const gap = size >= 30 ? 6 : size >= 12 ? 2 : size >= 6 ? 1 : 0.5;
    const side = size - gap;
    const node = tile.nodes[0];
    const part = mean(tile.nodes, (one) => share(one, this.resource));
    context.fillStyle = this.empty;
    box(context, tile.x, tile.y, side, side, size >= 30 ? 8 : size >= 12 ? 2 : 0);
    const colour = this.colourOf(tile.nodes, part);
    if (size >= CARD && tile.nodes.length === 1 && !this.overlay) this.paintCard(context, tile, node, side, part, colour);
    else {
      context.fillStyle = colour;
      if (this.overlay) context.globalAlpha = node.now || node.isNew || node.isGone ? 0.75 : 0.28;
      if (size >= 12 && this.colour === "filling" && !this.decision) {
        const level = Math.min(1, part) * (this.overlay && size >= CARD ? side - 42 : side);
        const inset = this.overlay && size >= CARD ? 4 : 0;
        box(context, tile.x + inset, tile.y + side - level - inset, side - 2 * inset, level, 2);
      } else box(context, tile.x, tile.y, side, side, size >= 12 ? 2 : 0);
      context.globalAlpha = 1;
      if (this.overlay && size >= CARD && tile.nodes.length === 1) this.paintDifference(context, tile, node, side, part);
      else if (tile.nodes.some((one) => !one.ready)) this.mark(context, tile, side, this.bad);
      else if (tile.nodes.some((one) => one.cordoned)) this.mark(context, tile, side, this.warn);
    }
    this.paintFrame(context, tile, side, now);
  }

  /** A small tile whose node is not to be used: a corner in a colour of warning. */
  mark(context, tile, side, colour) {
    context.fillStyle = colour;
    const corner = Math.max(2, side * 0.4);
    context.beginPath();
    context.moveTo(tile.x + side - corner, tile.y);
    context.lineTo(tile.x + side, tile.y);
    context.lineTo(tile.x + side, tile.y + corner);
    context.fill();
  }

  /** A large tile: name, amounts, and every pod as a layer as high as its part of the node. */
  paintCard(context, tile, node, side, part, colour) {
    const head = side >= 90 ? 40 : 22;
    const room = side - head - 6;
    const offered = node.allocatable[this.resource] || 0;
    let y = tile.y + side - 4;
    if (this.decision && this.decision.scores) {
      context.globalAlpha = 0.35;
      context.fillStyle = colour;
      box(context, tile.x, tile.y, side, side, 8);
      context.globalAlpha = 1;
    }
    const pods = this.placed.get(node.row) || [];
    context.save();
    context.beginPath();
    context.rect(tile.x, tile.y + head, side, side - head);
    context.clip();
    tile.layers = [];
    for (const pod of pods) {
      const asked = this.resource === "pods" ? 1 : pod.requests[this.resource] || 0;
      const layer = offered ? Math.max(asked ? 2 : 0, (asked / offered) * room) : 0;
      if (!layer) continue;
      y -= layer;
      context.fillStyle = colour;
      context.globalAlpha = pod.ending ? 0.4 : this.hover && this.hover.pod === pod ? 1 : 0.85;
      box(context, tile.x + 5, y + 0.5, side - 10, Math.max(1.5, layer - 1), Math.min(3, layer / 3));
      if (layer >= 14 && side >= 90) {
        context.globalAlpha = pod.ending ? 0.5 : 0.95;
        context.fillStyle = isDark() ? "#f4f8ff" : "#0e1b2b";
        context.font = "11px system-ui, sans-serif";
        context.fillText(short(pod.key.split("/")[1], side - 10), tile.x + 11, y + layer / 2 - 6, side - 22);
      }
      tile.layers.push({ top: y, bottom: y + layer, pod });
    }
    context.restore();
    context.fillStyle = this.ink;
    context.font = "600 12px system-ui, sans-serif";
    context.fillText(short(node.name, side), tile.x + 8, tile.y + 7, side - 16);
    if (head > 22) {
      context.font = "11px system-ui, sans-serif";
      context.fillStyle = node.ready ? (node.cordoned ? this.warn : this.dim) : this.bad;
      const state = node.ready ? (node.cordoned ? "cordoned" : "") : "not ready";
      const score = this.decision && this.decision.scores ? this.decision.scores.get(node.name) : undefined;
      const says = this.decision && this.decision.scores ? (score === undefined ? "does not fit" : `${score} points`) : "";
      context.fillText(says || [percent(part), state].filter(Boolean).join(" · "), tile.x + 8, tile.y + 23, side - 16);
    }
  }

  /** An arrow for every pod that would move; of many, the first. */
  paintMoves(context) {
    const { size } = this.plan;
    const centre = new Map();
    for (const tile of this.plan.tiles) for (const node of tile.nodes) centre.set(node.name, [tile.x + size / 2, tile.y + size / 2]);
    context.strokeStyle = this.accent;
    context.fillStyle = this.accent;
    context.lineWidth = 1.5;
    for (const move of this.overlay.moves.slice(0, MOST_ARROWS)) {
      const [from, to] = [centre.get(move.before), centre.get(move.node)];
      if (!to) continue;
      context.globalAlpha = 0.7;
      if (from) {
        const bend = Math.min(60, Math.hypot(to[0] - from[0], to[1] - from[1]) / 4);
        context.beginPath();
        context.moveTo(...from);
        context.quadraticCurveTo((from[0] + to[0]) / 2, (from[1] + to[1]) / 2 - bend, ...to);
        context.stroke();
      }
      context.beginPath();
      context.arc(...to, Math.min(5, Math.max(2, size / 8)), 0, 2 * Math.PI);
      context.fill();
    }
    context.globalAlpha = 1;
  }

  /** A medium tile of a what-if: before and after. */
  paintDifference(context, tile, node, side, part) {
    context.fillStyle = this.ink;
    context.font = "600 12px system-ui, sans-serif";
    context.fillText(short(node.name, side), tile.x + 8, tile.y + 7, side - 16);
    context.font = "11px system-ui, sans-serif";
    context.fillStyle = this.dim;
    const before = node.now ? share(node.now, this.resource) : null;
    const says = node.isGone ? "gone" : node.isNew ? `new · ${percent(part)}` : before === null ? percent(part) : `${percent(before)} → ${percent(part)}`;
    context.fillText(says, tile.x + 8, tile.y + 23, side - 16);
  }

  paintFrame(context, tile, side, now) {
    const node = tile.nodes[0];
    if (this.overlay && (node.isNew || node.isGone || node.now)) {
      context.lineWidth = this.plan.size >= 30 ? 2 : 1;
      const pods = node.now ? (node.requested.pods || 0) - (node.now.requested.pods || 0) : 0;
      context.strokeStyle = node.isGone || pods < 0 ? this.bad : node.isNew || pods > 0 ? this.good : this.warn;
      outline(context, tile.x, tile.y, side, side, this.plan.size >= 30 ? 8 : 2);
    }
    const flash = tile.nodes.map((one) => this.flashes.get(one.row)).find(Boolean);
    const radius = this.plan.size >= 30 ? 8 : 2;
    if (flash && now - flash.at < FLASH) {
      context.globalAlpha = 1 - (now - flash.at) / FLASH;
      context.lineWidth = this.plan.size >= 30 ? 3 : 2;
      context.strokeStyle = flash.came ? this.accent : this.bad;
      outline(context, tile.x, tile.y, side, side, radius);
      context.globalAlpha = 1;
    }
    const isBest = this.decision && this.decision.best && this.decision.best.has(node.name);
    if (this.selected === node.name || isBest || (this.hover && this.hover.tile === tile)) {
      context.lineWidth = 2;
      context.strokeStyle = isBest ? this.accent : this.ink;
      outline(context, tile.x, tile.y, side, side, radius);
    } else if (this.plan.size >= CARD && (!node.ready || node.cordoned)) {
      context.lineWidth = 1.5;
      context.strokeStyle = node.ready ? this.warn : this.bad;
      outline(context, tile.x, tile.y, side, side, radius);
    }
  }

  colourOf(nodes, part) {
    if (this.decision && this.decision.scores) {
      const scores = nodes.map((node) => this.decision.scores.get(node.name)).filter((one) => one !== undefined);
      if (!scores.length) return isDark() ? "#2a2f38" : "#d5dae1";
      const { low, high } = this.decision;
      return scoreColour(high > low ? (Math.max(...scores) - low) / (high - low) : 1);
    }
    if (this.colour === "state") {
      if (nodes.some((node) => !node.ready)) return this.bad;
      return nodes.some((node) => node.cordoned) ? this.warn : heat(0.6);
    }
    if (this.colour === "taints") {
      const taints = nodes[0].taints.join(" ");
      return taints ? kind(this.taintKinds.indexOf(taints)) : heat(0.2);
    }
    return heat(part);
  }

  // ---- around the map ---------------------------------------------------------------------------------------------

  drawToolbar() {
    const keys = labelKeys();
    const groups = [["", "nothing"], ...keys.map((key) => [key, key === ZONE ? "zone" : key])];
    const resources = cluster.resources.map((name) => [name, resourceName(name)]);
    fill(
      this.toolbar,
      select("Fill by", resources, this.resource, (value) => this.set("resource", "fill", value)),
      select("Group by", groups, this.groupKey(), (value) => {
        this.group = value;
        const { query } = parseQuery();
        query.set("group", value);
        history.replaceState(null, "", `${location.hash.split("?")[0]}?${query}`);
        this.arrange();
      }),
      select("Colour by", COLOURS, this.colour, (value) => this.set("colour", "colour", value)),
      this.decision &&
        h(
          "span",
          { class: "chip" },
          "points for ",
          h("a", { href: `#/pod/${podPath(this.decision.key)}` }, this.decision.key),
          basisNote(this.decision.basis),
          h("button", { class: "quiet", title: "Back to filling", onclick: () => this.dropPod() }, "×"),
        ),
    );
  }

  dropPod() {
    choose({ pod: "" });
    this.decision = null;
    this.changed({ all: true });
  }

  set(field, parameter, value) {
    this[field] = value;
    choose({ [parameter]: value });
    this.draw();
  }

  drawLegend() {
    const sign = `${this.colour} ${this.resource} ${Boolean(this.decision)} ${this.plan.perTile} ${isDark()} ${this.taintKinds ? this.taintKinds.join() : ""}`;
    if (sign === this.legendSign) return;
    this.legendSign = sign;
    const swatch = (colour, text) => h("span", { class: "swatch" }, h("i", { style: { background: colour } }), text);
    let parts;
    if (this.decision) {
      parts = [swatch(scoreColour(0), "fewest points"), swatch(scoreColour(0.5), ""), swatch(scoreColour(1), "most points"), swatch(isDark() ? "#2a2f38" : "#d5dae1", "does not fit")];
    } else if (this.colour === "state") {
      parts = [swatch(heat(0.6), "ready"), swatch(this.warn, "cordoned"), swatch(this.bad, "not ready")];
    } else if (this.colour === "taints") {
      parts = [swatch(heat(0.2), "no taint"), ...this.taintKinds.slice(0, 8).map((taints, place) => swatch(kind(place), taints))];
    } else {
      parts = [h("span", {}, `${resourceName(this.resource)} requested`), ...[0.05, 0.35, 0.65, 0.85, 1].map((part) => swatch(heat(part), percent(part)))];
    }
    if (this.plan.perTile > 1) parts.push(h("span", {}, `a tile stands for ${this.plan.perTile} nodes`));
    fill(this.legend, parts);
  }

  async drawPanel() {
    const row = cluster.rowOf.get(this.selected);
    const node = cluster.nodes.get(row);
    const wasHidden = this.panel.hidden;
    this.panel.hidden = !node;
    if (wasHidden !== this.panel.hidden) this.arrange();
    if (!node) return;
    const name = node.name;
    const found = await ask(`api/node/${encodeURIComponent(name)}`).catch((error) => ({ pods: [], count: 0, error }));
    if (this.selected !== name || this.isClosed) return;
    fill(
      this.panel,
      h("button", { class: "quiet close", title: "Close (Esc)", onclick: () => this.pick("") }, "×"),
      h("h2", {}, name),
      h("p", { class: "tags" }, !node.ready && h("b", { class: "bad" }, "not ready"), Boolean(node.cordoned) && h("b", { class: "warn" }, "cordoned"), node.taints.map((taint) => h("span", { class: "tag" }, taint))),
      h("dl", { class: "bars" }, cluster.resources.filter((resource) => node.allocatable[resource]).map((resource) => bar(node, resource))),
      h("p", { class: "tries" }, "What if it were ", stepLink("drain", name, "drained"), ", ", node.cordoned ? stepLink("uncordon", name, "opened again") : stepLink("cordon", name, "cordoned"), " or ", stepLink("remove", name, "lost"), "?"),
      h("h3", {}, count(found.count, "pod")),
      h("ul", { class: "pods" }, found.pods.sort((one, other) => byName(one.key, other.key)).map(podLine)),
      h("details", {}, h("summary", {}, "Labels"), h("ul", { class: "labels" }, Object.entries(node.labels).sort().map(([key, value]) => h("li", {}, h("span", {}, key), h("b", {}, value))))),
    );
  }

  pick(name) {
    this.selected = name;
    choose({ node: name });
    this.drawPanel();
    this.draw();
  }

  // ---- pointer and keys -------------------------------------------------------------------------------------------

  at(event) {
    const edge = this.canvas.getBoundingClientRect();
    const [x, y] = [event.clientX - edge.left, event.clientY - edge.top];
    const { size } = this.plan || { size: 0 };
    const tile = this.plan && this.plan.tiles.find((one) => x >= one.x && x < one.x + size && y >= one.y && y < one.y + size);
    const layer = tile && tile.layers && tile.layers.find((one) => y >= one.top && y < one.bottom);
    return { x, y, tile, pod: layer ? layer.pod : null };
  }

  pointed(event) {
    const found = this.at(event);
    const before = this.hover;
    this.hover = found.tile ? found : null;
    if (!before !== !this.hover || (before && (before.tile !== found.tile || before.pod !== found.pod))) this.draw();
    this.tip.hidden = !found.tile;
    this.canvas.style.cursor = found.tile ? "pointer" : "default";
    if (!found.tile) return;
    fill(this.tip, found.pod ? this.podTip(found.pod) : this.nodeTip(found.tile));
    const edge = this.holder.getBoundingClientRect();
    const { width, height } = this.tip.getBoundingClientRect();
    this.tip.style.left = `${Math.min(found.x + 14, edge.width - width - 4)}px`;
    this.tip.style.top = `${found.y + 18 + height > edge.height ? found.y - height - 10 : found.y + 18}px`;
  }

  podTip(pod) {
    const asked = Object.entries(pod.requests).map(([name, value]) => `${resourceName(name)} ${amount(name, value)}`);
    return [h("b", {}, pod.key), h("div", {}, asked.join(" · ") || "requests nothing"), h("small", {}, "click: why here?")];
  }

  nodeTip(tile) {
    if (tile.nodes.length > 1) {
      const part = mean(tile.nodes, (node) => share(node, this.resource));
      return [h("b", {}, `${tile.nodes[0].name} … ${tile.nodes[tile.nodes.length - 1].name}`), h("div", {}, `${tile.nodes.length} nodes, ${resourceName(this.resource)} ${percent(part)}`)];
    }
    const [node] = tile.nodes;
    const score = this.decision && this.decision.scores ? this.decision.scores.get(node.name) : undefined;
    return [
      h("b", {}, node.name),
      ["cpu", "memory", "pods"].filter((name) => node.allocatable[name]).map((name) =>
        h("div", {}, `${resourceName(name)} ${amount(name, node.requested[name] || 0)} of ${amount(name, node.allocatable[name])} (${percent(share(node, name))})`)),
      this.decision && h("div", {}, score === undefined ? "the pod does not fit" : `${score} points`),
      !node.ready && h("div", { class: "bad" }, "not ready"),
      Boolean(node.cordoned) && h("div", { class: "warn" }, "cordoned"),
    ];
  }

  leave() {
    this.hover = null;
    this.tip.hidden = true;
    this.draw();
  }

  clicked(event) {
    const found = this.at(event);
    if (this.onPick) {
      if (found.tile && found.tile.nodes.length === 1) this.onPick(found.tile.nodes[0].name);
      return;
    }
    if (found.pod) go(`/pod/${podPath(found.pod.key)}`);
    else this.pick(found.tile && found.tile.nodes.length === 1 ? found.tile.nodes[0].name : "");
  }

  key(event) {
    if (event.key === "Escape" && this.selected) this.pick("");
    else if (event.key.startsWith("Arrow") && this.plan) this.step(event.key);
    else return false;
    return true;
  }

  /** Walk over the tiles with the arrow keys. */
  step(key) {
    const { tiles, size } = this.plan;
    const from = tiles.find((tile) => tile.nodes[0].name === this.selected);
    if (!from) {
      this.pick(tiles[0].nodes[0].name);
      return;
    }
    const [dx, dy] = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[key];
    let best = null;
    for (const tile of tiles) {
      const ahead = (tile.x - from.x) * dx + (tile.y - from.y) * dy;
      const aside = Math.abs((tile.x - from.x) * dy) + Math.abs((tile.y - from.y) * dx);
      if (ahead < size / 2) continue;
      const cost = ahead + 3 * aside;
      if (!best || cost < best.cost) best = { cost, tile };
    }
    if (best) this.pick(best.tile.nodes[0].name);
  }
}

function stepLink(action, name, text) {
  return h("a", { href: `#/what-if?do=${encodeURIComponent(`${action}:${name}`)}` }, text);
}

function parseQuery() {
  return { query: new URLSearchParams(location.hash.split("?")[1] || "") };
}

function scoreColour(part) {
  const lightness = isDark() ? 24 + 42 * part : 88 - 48 * part;
  return `hsl(${212 - 40 * part} 62% ${lightness}%)`;
}

function taintKinds() {
  return [...new Set([...cluster.nodes.values()].map((node) => node.taints.join(" ")).filter(Boolean))].sort();
}

function mean(nodes, value) {
  return nodes.reduce((sum, node) => sum + value(node), 0) / nodes.length;
}

function short(name, width) {
  const most = Math.max(6, Math.floor((width - 16) / 6.6));
  return name.length <= most ? name : `${name.slice(0, Math.ceil(most / 2) - 1)}…${name.slice(-Math.floor(most / 2))}`;
}

function box(context, x, y, width, height, radius) {
  if (height <= 0) return;
  if (radius < 1) context.fillRect(x, y, width, height);
  else {
    context.beginPath();
    context.roundRect(x, y, width, height, Math.min(radius, height / 2));
    context.fill();
  }
}

function outline(context, x, y, width, height, radius) {
  context.beginPath();
  context.roundRect(x, y, width, height, radius);
  context.stroke();
}

function bar(node, resource) {
  const part = share(node, resource);
  return [
    h("dt", {}, resourceName(resource)),
    h("dd", {}, h("i", {}, h("b", { style: { width: `${Math.min(100, 100 * part)}%`, background: heat(part) } })), h("span", {}, `${amount(resource, node.requested[resource] || 0)} of ${amount(resource, node.allocatable[resource])}`)),
  ];
}

/** Of which time the points are, unless they are of now. */
function basisNote(basis) {
  if (!basis || basis.kind === "now") return null;
  return h("small", {}, basis.kind === "taken" ? ` as it was decided ${moment(basis.at)}` : ` on the recorded state in which it got its node, ${moment(basis.at)}`);
}

function podLine(pod) {
  const asked = Object.entries(pod.requests).filter(([name]) => name !== "pods").map(([name, value]) => `${resourceName(name)} ${value}`).join(", ");
  return h("li", {}, h("a", { href: `#/pod/${podPath(pod.key)}` }, pod.key), h("small", {}, asked), h("small", { class: "dim" }, since(pod.created)));
}
