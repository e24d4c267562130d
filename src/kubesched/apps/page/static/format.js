// Amounts, times and shares as people read them.

const BINARY = ["", "Ki", "Mi", "Gi", "Ti", "Pi"];
const IN_BYTES = /^(memory|ephemeral-storage|hugepages-.*)$/;

/** An amount of a resource: `1500` of CPU is 1.5, bytes get a binary unit. */
export function amount(resource, value) {
  if (resource === "cpu") return number(value / 1000);
  if (!IN_BYTES.test(resource)) return number(value);
  let unit = 0;
  while (Math.abs(value) >= 1024 && unit < BINARY.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return `${number(value)} ${BINARY[unit]}B`.replace(" B", " B");
}

export function number(value) {
  return value.toLocaleString("en", { maximumFractionDigits: Math.abs(value) < 10 ? 2 : 1 });
}

export function count(value, one, many = `${one}s`) {
  return `${value.toLocaleString("en")} ${value === 1 ? one : many}`;
}

export function percent(part) {
  return `${Math.round(part * 100)} %`;
}

/** Seconds as 12 s, 3 min, 2 h, 5 d. */
export function duration(seconds) {
  if (seconds < 90) return `${Math.max(0, Math.round(seconds))} s`;
  if (seconds < 90 * 60) return `${Math.round(seconds / 60)} min`;
  if (seconds < 36 * 3600) return `${Math.round(seconds / 3600)} h`;
  return `${Math.round(seconds / 86400)} d`;
}

/** A short time: 40 µs, 1.3 ms, 2.5 s, 3 min. */
export function seconds(value) {
  if (value < 0.0001) return `${Math.round(value * 1e6)} µs`;
  if (value < 1) return `${number(value * 1000)} ms`;
  return value < 10 ? `${number(value)} s` : duration(value);
}

/** Seconds since the epoch as "3 min ago (09:31:05)". */
export function moment(time) {
  const passed = Date.now() / 1000 - time;
  const clock = new Date(time * 1000).toLocaleTimeString("en-GB");
  return passed < 36 * 3600 ? `${duration(passed)} ago (${clock})` : `on ${new Date(time * 1000).toLocaleDateString("en-GB")}, ${clock}`;
}

export function since(time) {
  return time ? duration((Date.now() - Date.parse(time)) / 1000) : "";
}

export function resourceName(name) {
  return { cpu: "CPU", memory: "Memory", pods: "Pods", "ephemeral-storage": "Disk" }[name] || name;
}

/** In the order of everyday names: node-2 before node-10. */
export const byName = new Intl.Collator("en", { numeric: true }).compare;
