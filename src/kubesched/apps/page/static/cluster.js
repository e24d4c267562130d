// The cluster as the browser knows it: nodes by row, kept up to date by server-sent events.

const listeners = new Set();

export const cluster = {
  about: {},
  nodes: new Map(), // row → node
  rowOf: new Map(), // name → row
  resources: [],
  summary: { queue: {}, totals: {}, decisions: 0 },
  isConnected: false,
  problem: "",
  version: 0,
};

/** Call `listener` with what changed: {all} or {rows, moved, summary}. Returns the way to stop that. */
export function listen(listener) {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

function tell(change) {
  cluster.version += 1;
  for (const listener of listeners) listener(change);
}

export function labelKeys() {
  const keys = new Map();
  for (const node of cluster.nodes.values()) {
    for (const key of Object.keys(node.labels)) keys.set(key, (keys.get(key) || 0) + 1);
  }
  return [...keys.keys()].sort();
}

/** The part of a node's resource that is requested; 0 if it has none. */
export function share(node, resource) {
  const offered = node.allocatable[resource] || 0;
  return offered ? (node.requested[resource] || 0) / offered : 0;
}

function takeState(state) {
  const { map, summary } = state;
  cluster.nodes = new Map();
  cluster.rowOf = new Map();
  cluster.resources = Object.keys(map.requested);
  const labels = Object.entries(map.labels);
  const resources = cluster.resources;
  map.rows.forEach((row, place) => {
    const node = {
      row,
      name: map.names[place],
      ready: map.ready[place],
      cordoned: map.cordoned[place],
      taints: map.taints.values[map.taints.index[place]] || [],
      labels: {},
      allocatable: {},
      requested: {},
    };
    for (const [key, column] of labels) {
      if (column.index[place] >= 0) node.labels[key] = column.values[column.index[place]];
    }
    for (const name of resources) {
      node.allocatable[name] = map.allocatable[name][place];
      node.requested[name] = map.requested[name][place];
    }
    cluster.nodes.set(row, node);
    cluster.rowOf.set(node.name, row);
  });
  cluster.summary = summary;
  tell({ all: true });
}

function takeChange(change) {
  const structure = Boolean(change.nodes || change.gone);
  for (const row of change.gone || []) {
    const node = cluster.nodes.get(row);
    if (node) cluster.rowOf.delete(node.name);
    cluster.nodes.delete(row);
  }
  for (const facts of change.nodes || []) {
    const known = cluster.nodes.get(facts.row);
    const requested = known && known.name === facts.name ? known.requested : {};
    cluster.nodes.set(facts.row, { ...facts, requested });
    cluster.rowOf.set(facts.name, facts.row);
  }
  const moved = new Map();
  if (change.rows) {
    const names = Object.keys(change.requested);
    cluster.resources = names;
    change.rows.forEach((row, place) => {
      const node = cluster.nodes.get(row);
      if (!node) return;
      const pods = change.requested.pods[place] - (node.requested.pods || 0);
      if (pods) moved.set(row, pods);
      node.requested = Object.fromEntries(names.map((name) => [name, change.requested[name][place]]));
    });
  }
  if (change.summary) cluster.summary = change.summary;
  tell({ all: structure, rows: change.rows || [], moved, summary: Boolean(change.summary) });
}

let stream = null;

/** Follow the cluster while the tab is seen; a hidden one costs nothing. */
export function follow() {
  document.addEventListener("visibilitychange", () => (document.hidden ? leave() : connect()));
  connect();
}

function connect() {
  if (stream) return;
  stream = new EventSource("api/events");
  stream.addEventListener("state", (event) => {
    cluster.isConnected = true;
    takeState(JSON.parse(event.data));
  });
  stream.addEventListener("change", (event) => takeChange(JSON.parse(event.data)));
  stream.onerror = () => {
    cluster.isConnected = false;
    if (stream && stream.readyState === EventSource.CLOSED) {
      leave();
      setTimeout(connect, 3000);
    }
    tell({ connection: true });
  };
}

function leave() {
  if (stream) stream.close();
  stream = null;
}
