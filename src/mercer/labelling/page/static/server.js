// Talks to the server: with the token of the link, and again if there is no answer.

const memory = new Map();

// A frame may be denied storage; then a reload asks for the link again.
function stored(name, value) {
  try {
    if (value !== undefined) sessionStorage.setItem(name, value);
    return sessionStorage.getItem(name);
  } catch {
    if (value !== undefined) memory.set(name, value);
    return memory.get(name) ?? null;
  }
}

function random() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

// The token is taken out of the address, so that it is in no history and on no screenshot.
const given = new URLSearchParams(location.hash.slice(1)).get("token");
if (given) {
  stored("token", given);
  history.replaceState(null, "", location.pathname);
}
const token = stored("token");
const person = stored("person") ?? stored("person", random());
const tab = random();

export class Refused extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

async function ask(path, options = {}) {
  const headers = { Authorization: `Bearer ${token ?? ""}`, ...options.headers };
  const answer = await fetch(path, { ...options, headers });
  if (answer.ok) return answer;
  let words = `the server said ${answer.status}`;
  try {
    words = (await answer.json()).error ?? words;
  } catch {
    // Not JSON: the number has to do.
  }
  throw new Refused(answer.status, words);
}

export async function state() {
  const answer = await ask(`/api/state?tab=${tab}&person=${person}`);
  return answer.json();
}

export async function act(action, content = {}) {
  const body = JSON.stringify({ ...content, tab, person });
  const headers = { "Content-Type": "application/json" };
  const answer = await ask(`/api/${action}`, { method: "POST", body, headers });
  return answer.json();
}

// A picture from a file, as an address that the browser can show: an <img> sends no token.
export async function picture(row, column) {
  const query = new URLSearchParams({ row, column });
  const answer = await ask(`/api/picture?${query}`);
  return URL.createObjectURL(await answer.blob());
}

export function leave() {
  const body = JSON.stringify({ tab, person });
  const headers = { Authorization: `Bearer ${token ?? ""}`, "Content-Type": "application/json" };
  fetch("/api/release", { method: "POST", body, headers, keepalive: true }).catch(() => {});
}

export function remember(name, value) {
  return stored(name, value);
}
