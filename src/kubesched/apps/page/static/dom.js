// Elements without markup: whatever comes from the cluster becomes text, never HTML.

/** An element: `h("td", {class: "name", onclick: f}, "text", child, …)`. Null and false children are left out. */
export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "style") Object.assign(element.style, value);
    else if (name in element && typeof value !== "string") element[name] = value;
    else element.setAttribute(name, value);
  }
  put(element, ...children);
  return element;
}

/** Add children: elements, texts, numbers, or lists of them. */
export function put(element, ...children) {
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    element.append(child instanceof Node ? child : String(child));
  }
  return element;
}

/** Replace all children. */
export function fill(element, ...children) {
  element.replaceChildren();
  return put(element, ...children);
}

/** A drop-down: `options` are [value, text]. */
export function select(label, options, value, changed) {
  const box = h(
    "select",
    { "aria-label": label, onchange: () => changed(box.value) },
    options.map(([key, text]) => h("option", { value: key, selected: key === value }, text)),
  );
  box.value = value;
  return h("label", { class: "choice" }, h("span", {}, label), box);
}

/** Call a function at most once per so many milliseconds, the last time included. */
export function atMostEvery(milliseconds, call) {
  let timer = 0;
  let last = -Infinity;
  return () => {
    if (timer) return;
    const wait = Math.max(0, last + milliseconds - performance.now());
    timer = setTimeout(() => {
      timer = 0;
      last = performance.now();
      call();
    }, wait);
  };
}
