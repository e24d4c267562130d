// Colours of the map: for shares, for states, for scores. Distinct in lightness, too, so that they need no colour vision.

const STOPS = {
  dark: [[0, [38, 70, 110]], [0.35, [37, 128, 150]], [0.65, [76, 168, 122]], [0.85, [224, 178, 74]], [1, [224, 92, 76]]],
  light: [[0, [196, 219, 240]], [0.35, [120, 190, 205]], [0.65, [96, 176, 130]], [0.85, [230, 170, 60]], [1, [212, 72, 58]]],
};

export const isDark = () => document.documentElement.dataset.theme === "dark";

/** The colour of a part from 0 to 1. */
export function heat(part) {
  const stops = STOPS[isDark() ? "dark" : "light"];
  const value = Math.min(1, Math.max(0, part));
  for (let place = 1; place < stops.length; place += 1) {
    const [end, colour] = stops[place];
    if (value > end) continue;
    const [begin, before] = stops[place - 1];
    const t = (value - begin) / (end - begin);
    const mixed = before.map((channel, number) => Math.round(channel + (colour[number] - channel) * t));
    return `rgb(${mixed.join(",")})`;
  }
  return `rgb(${stops[stops.length - 1][1].join(",")})`;
}

const HUES = [212, 28, 150, 330, 48, 265, 185, 4, 90, 300];

/** A colour for the n-th of several kinds. */
export function kind(number) {
  const hue = HUES[number % HUES.length];
  const lightness = (isDark() ? 55 : 50) - 12 * (Math.floor(number / HUES.length) % 3);
  return `hsl(${hue} 55% ${lightness}%)`;
}

/** A custom property of the style sheet. */
export function themed(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}
