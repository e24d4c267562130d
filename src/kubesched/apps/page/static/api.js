// Questions to the server. An answer that is an error becomes an Error with the server's own line.

export async function ask(path, body) {
  const options = body === undefined ? {} : {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  };
  const answer = await fetch(path, options);
  if (answer.ok) return answer.json();
  let message = `${answer.status} ${answer.statusText}`;
  try {
    message = (await answer.json()).message || message;
  } catch {
    // no JSON: the status has to do
  }
  const error = new Error(message);
  error.status = answer.status;
  throw error;
}

/** `namespace/name` as a path. */
export function podPath(key) {
  return key.split("/").map(encodeURIComponent).join("/");
}
