// Every view has an address: #/view/rest?parameter=value. What is chosen on a page is in it, so that it can be sent.

export function parse() {
  const [path, query = ""] = location.hash.replace(/^#\/?/, "").split("?");
  const [view = "", ...rest] = path.split("/").map(decodeURIComponent);
  return { view: view || "map", rest, query: new URLSearchParams(query) };
}

export function go(path) {
  location.hash = path;
}

/** Change parameters of the present view without an entry in the history; empty ones are left out. */
export function choose(changes) {
  const { view, rest, query } = parse();
  for (const [name, value] of Object.entries(changes)) {
    if (value === "" || value === null || value === undefined) query.delete(name);
    else query.set(name, value);
  }
  const path = [view, ...rest.map(encodeURIComponent)].join("/");
  const text = query.toString();
  history.replaceState(null, "", `#/${path}${text ? `?${text}` : ""}`);
}
