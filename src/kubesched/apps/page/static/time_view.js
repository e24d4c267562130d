// The last half hour: throughput, pods that wait, latency, utilisation.

/* global uPlot */
import { ask } from "./api.js";
import { themed } from "./colours.js";
import { fill, h } from "./dom.js";
import { number, percent } from "./format.js";

const CHARTS = [
  { title: "Pods placed per second", series: [["placed", "pods/s", "--accent"]] },
  { title: "Pods that wait", series: [["waiting", "waiting", "--warn"], ["unschedulable", "unschedulable", "--bad"]] },
  { title: "From the queue to a node", series: [["p50", "median", "--good"], ["p99", "99 of 100", "--bad"]], unit: (value) => (value < 1 ? `${number(value * 1000)} ms` : `${number(value)} s`) },
  { title: "Requested of what there is", series: [["cpu", "CPU", "--accent"], ["memory", "memory", "--good"]], unit: percent, top: 1 },
];

export function timeView(frame) {
  const grid = h("div", { class: "charts" });
  frame.append(grid);
  let charts = [];
  let data = null;
  let isClosed = false;

  function draw() {
    charts.forEach((chart) => chart.destroy());
    fill(grid);
    charts = CHARTS.map((wanted) => {
      const box = h("section", { class: "chart" }, h("h2", {}, wanted.title));
      grid.append(box);
      const line = { stroke: themed("--dim"), grid: { stroke: themed("--line"), width: 1 }, ticks: { show: false }, font: "11px system-ui" };
      const unit = wanted.unit || number;
      const options = {
        width: Math.max(200, box.clientWidth - 28),
        height: Math.max(140, box.clientHeight - 88),
        scales: { y: { range: (_, __, high) => [0, wanted.top || Math.max(high || 0, 1e-3) * 1.1] } },
        axes: [line, { ...line, size: 64, values: (_, values) => values.map(unit) }],
        series: [{}, ...wanted.series.map(([, label, colour]) => ({ label, stroke: themed(colour), width: 2, fill: wanted.series.length === 1 ? `${themed(colour)}22` : undefined, spanGaps: true, points: { show: false }, value: (_, value) => (value === null ? "–" : unit(value)) }))],
      };
      return new uPlot(options, columns(wanted), box);
    });
  }

  function columns(wanted) {
    return [data.time, ...wanted.series.map(([name]) => data[name])];
  }

  async function load() {
    try {
      data = await ask("api/time");
    } catch (error) {
      if (!isClosed) fill(grid, h("p", { class: "empty" }, error.message));
      return;
    }
    if (isClosed) return;
    if (data.time.length < 2) fill(grid, h("p", { class: "empty" }, "Not enough has happened yet: a sample is taken every two seconds."));
    else if (!charts.length) draw();
    else charts.forEach((chart, place) => chart.setData(columns(CHARTS[place])));
  }

  const timer = setInterval(() => document.hidden || load(), 2000);
  const redraw = () => data && data.time.length > 1 && draw();
  window.addEventListener("themechange", redraw);
  window.addEventListener("resize", redraw);
  load();
  return {
    close: () => {
      isClosed = true;
      clearInterval(timer);
      window.removeEventListener("themechange", redraw);
      window.removeEventListener("resize", redraw);
      charts.forEach((chart) => chart.destroy());
    },
  };
}
