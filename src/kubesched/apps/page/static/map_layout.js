// Where each tile of the map is: nodes in groups, groups in a grid, all as large as the room allows.

import { byName } from "./format.js";

const GAP = 14; // between groups
const HEADING = 22;
const LARGEST = 250;
const SMALLEST = 3;

/**
 * Groups of nodes and the size of their tiles.
 * Where even the smallest tiles do not fit, a tile stands for several nodes (`perTile`).
 */
export function layout(nodes, groupOf, width, height) {
  const groups = new Map();
  for (const node of nodes) {
    const name = groupOf(node);
    if (!groups.has(name)) groups.set(name, []);
    groups.get(name).push(node);
  }
  const sorted = [...groups.entries()].sort((one, other) => byName(one[0], other[0]));
  for (const [, members] of sorted) members.sort((one, other) => byName(one.name, other.name));
  let perTile = 1;
  for (;;) {
    const sizes = sorted.map(([, members]) => Math.ceil(members.length / perTile));
    const best = bestGrid(sizes, width, height);
    if (best || perTile > nodes.length) return place(sorted, sizes, best || gridOf(sizes, 1, 1, width, height), perTile);
    perTile *= 2;
  }
}

/** The grid that allows the largest tiles: columns of groups, and tiles across each; null if none is large enough. */
function bestGrid(sizes, width, height) {
  let best = null;
  const most = Math.min(sizes.length, Math.max(1, Math.floor(width / 90)));
  for (let columns = 1; columns <= most; columns += 1) {
    const cell = (width - GAP * (columns - 1)) / columns;
    const widest = Math.min(Math.max(...sizes), Math.floor(cell / SMALLEST));
    for (let across = 1; across <= widest; across += 1) {
      const grid = gridOf(sizes, columns, across, cell, height);
      if (grid.size >= SMALLEST && (!best || grid.size > best.size + 0.5 || (grid.size >= best.size && columns > best.columns))) best = grid;
    }
  }
  return best;
}

function gridOf(sizes, columns, across, cell, height) {
  const rows = [];
  for (let first = 0; first < sizes.length; first += columns) {
    rows.push(Math.max(...sizes.slice(first, first + columns).map((number) => Math.ceil(number / across))));
  }
  const headings = rows.length * (HEADING + GAP) - GAP;
  const fitting = (height - headings) / rows.reduce((sum, number) => sum + number, 0);
  const exact = Math.min(cell / across, fitting, LARGEST);
  const size = exact > 12 ? Math.floor(exact) : exact;
  const tops = [];
  let top = 0;
  for (const number of rows) {
    tops.push(top);
    top += HEADING + number * size + GAP;
  }
  return { columns, size, cell, across, tops };
}

function place(sorted, sizes, grid, perTile) {
  const tiles = [];
  const headings = sorted.map(([name, members], number) => {
    const left = (number % grid.columns) * (grid.cell + GAP);
    const top = grid.tops[Math.floor(number / grid.columns)];
    for (let place = 0; place < sizes[number]; place += 1) {
      tiles.push({
        nodes: members.slice(place * perTile, (place + 1) * perTile),
        x: left + (place % grid.across) * grid.size,
        y: top + HEADING + Math.floor(place / grid.across) * grid.size,
      });
    }
    return { name, count: members.length, x: left, y: top, width: grid.cell };
  });
  return { tiles, headings, size: grid.size, perTile };
}
