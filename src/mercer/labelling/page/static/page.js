// The page: one row at a time, a label by key or button, and what the model has learned.

import { drawChart } from "./chart.js";
import { element, showRow } from "./row.js";
import { Refused, act, leave, remember, state } from "./server.js";

const POLL = 2000; // milliseconds between questions to the server
const AGAIN = 1000; // and until a label that had no answer is sent again
const KEYS = [..."123456789", ..."abcdefhijklmnopqrtvwxyz"]; // without g, s and u
const at = (id) => document.getElementById(id);

let now = null; // the state that is shown
let shown = null; // the id of the row that is shown
let busy = false; // while a label is on its way, keys do nothing
let sent = 0; // how much was sent: an answer to a question before that is out of date
let guessing = remember("guess") === "yes";

function banner(words) {
  at("banner").textContent = words ?? "";
  at("banner").hidden = !words;
}

const number = (value) => Number(value.toPrecision(4)).toString();
const percent = (share) => (share > 0.995 && share < 1 ? "over 99 %" : `${Math.round(100 * share)} %`);

// -- what is shown ---------------------------------------------------------------------------

// A class whose name is a digit has that key; the others have the rest, in order.
function keysOf(classes) {
  const digits = new Set(classes.filter((name) => /^[0-9]$/.test(name)));
  const rest = KEYS.filter((key) => !digits.has(key));
  return classes.map((name) => (digits.has(name) ? name : rest.shift()));
}

function showClasses() {
  const keys = keysOf(now.classes);
  const sure = guessing ? now.row?.guess?.classes : undefined;
  const buttons = now.classes.map((name, index) => {
    const button = element("button");
    button.type = "button";
    const key = keys[index];
    if (key) button.append(element("kbd", key));
    button.append(element("span", name, "name"));
    if (sure) {
      button.append(element("span", percent(sure[name] ?? 0), "share"));
      button.classList.toggle("likely", sure[name] === now.row.guess.sure);
    }
    button.addEventListener("click", () => label(name));
    return button;
  });
  const words = JSON.stringify([now.classes, sure]);
  if (at("classes").dataset.words !== words) {
    at("classes").dataset.words = words;
    at("classes").replaceChildren(...buttons);
  }
}

function sureWords(guess) {
  if (!guess) return now.fitted_labels ? "Not of this row yet." : "It has seen too few labels yet.";
  if (guess.classes) {
    const name = Object.keys(guess.classes).find((one) => guess.classes[one] === guess.sure);
    return `It is ${percent(guess.sure)} sure of its class${guessing ? `: ${name}` : ""}.`;
  }
  const share = guess.coverage ? percent(guess.coverage) : "";
  const range = guess.coverage ? `, ${share} between ${number(guess.low)} and ${number(guess.high)}` : "";
  if (guessing) return `It expects ${number(guess.value)}${range}.`;
  if (!guess.coverage) return "It has seen too few labels for an interval.";
  return `Within ${number((guess.high - guess.low) / 2)} up or down, it is ${share} sure.`;
}

function showModel() {
  const guess = now.row?.guess ?? null;
  at("sure").textContent = now.row ? sureWords(guess) : "";
  at("sure-bar").hidden = guess?.sure === undefined;
  at("sure-bar").value = guess?.sure ?? 0;
  const seen = now.fitted_labels ? `It has seen ${now.fitted_labels} labels.` : "";
  const work = now.fitting ? " Learning ..." : "";
  at("seen").textContent = now.trouble ? `Last attempt: ${now.trouble}` : `${seen}${work}`;
  at("guess").setAttribute("aria-pressed", String(guessing));
  at("guess").firstChild.textContent = guessing ? "Hide guess " : "Show guess ";
}

function showCurve() {
  const words = JSON.stringify([now.curve, now.target]);
  if (at("chart").dataset.words !== words) {
    at("chart").dataset.words = words;
    if (now.curve.length) drawChart(at("chart"), now.curve, now.measure, now.target);
    else at("chart").replaceChildren(element("p", "The curve begins after some labels.", "quiet"));
  }
  at("legend").hidden = now.curve.length === 0;
  at("legend-uniform").hidden = !now.curve.some((point) => point.uniform_error !== null);
  at("legend-target").hidden = now.target === null;
  at("needed").textContent = now.needed ?? "";
}

const NOTHING = {
  drawing: ["One moment", "The next rows are being drawn."],
  others: ["No row for you at the moment", "Others are at the last rows of this round."],
  skipped: ["Only skipped rows are left", "Label them now, or leave them: they do not count."],
  done: ["All rows have a label", "Stop the server with Ctrl-C; it says what to do next."],
};

function showNothing() {
  const why = now.task && !now.row ? NOTHING[now.waiting] : undefined;
  at("nothing").hidden = !why;
  at("nothing-title").textContent = why?.[0] ?? "";
  at("nothing-text").textContent = why?.[1] ?? "";
  at("again").hidden = now.waiting !== "skipped";
}

function showAll(found) {
  now = found;
  document.querySelector("main").hidden = false;
  at("sheet").textContent = now.sheet;
  document.title = `${now.labelled} labels - ${now.sheet}`;
  at("bar").max = Math.max(now.expected, 1);
  at("bar").value = now.labelled;
  const aside = now.skipped ? `, ${now.skipped} skipped` : "";
  const words = `${now.labelled} of about ${now.expected} labels${aside}`;
  if (at("count").textContent !== words) at("count").textContent = words;
  if (now.task === null && at("task").hidden) {
    at("task").hidden = false;
    at("names").focus();
  }
  at("task").hidden = now.task !== null;
  at("row").hidden = now.row === null;
  at("controls").hidden = now.task === null;
  at("classes").hidden = now.task !== "classification";
  at("add").hidden = now.task !== "classification";
  at("number").hidden = now.task !== "regression" || now.row === null;
  at("undo").disabled = !now.can_undo;
  for (const id of ["skip", "guess"]) at(id).disabled = now.row === null;
  if (now.row && now.row.id !== shown) {
    showRow(now.row);
    at("value").value = "";
    if (now.task === "regression") at("value").focus({ preventScroll: true });
  }
  shown = now.row?.id ?? null;
  showClasses();
  showModel();
  showCurve();
  showNothing();
}

// -- what a person does ----------------------------------------------------------------------

const pause = (milliseconds) => new Promise((done) => setTimeout(done, milliseconds));

// Sends until there is an answer: what was pressed must not get lost if the server is away.
async function send(action, content) {
  if (busy) return false;
  busy = true;
  sent += 1;
  document.body.classList.add("busy");
  at("message").textContent = "";
  try {
    for (;;) {
      try {
        showAll(await act(action, content));
        banner(null);
        return true;
      } catch (error) {
        if (error instanceof Refused) {
          await refused(error);
          return false;
        }
        banner("The server does not answer. What you did last is kept here and sent again.");
        await pause(AGAIN);
      }
    }
  } finally {
    busy = false;
    document.body.classList.remove("busy");
  }
}

async function refused(error) {
  if (error.status === 401) {
    banner(`What you did last was not kept: ${error.message}.`);
    return;
  }
  banner(null);
  at("message").textContent = `${error.message}.`;
  if (error.status === 409) showAll(await state());
}

function label(value) {
  if (now?.row) send("label", { row: now.row.id, label: value });
}

function labelNumber() {
  const text = at("value").value.trim();
  if (text !== "" && Number.isFinite(Number(text))) {
    label(text);
    return;
  }
  at("message").textContent = `A label must be a finite number, such as -2.5 or 1e3, got "${text}".`;
  at("value").select();
}

function toggleGuess() {
  guessing = !guessing;
  remember("guess", guessing ? "yes" : "no");
  showClasses();
  showModel();
}

function addClass() {
  at("new-class").hidden = !at("new-class").hidden;
  if (!at("new-class").hidden) at("class-name").focus();
}

const SHORTCUTS = {
  s: () => now?.row && send("skip", { row: now.row.id }),
  u: () => now?.can_undo && send("undo"),
  g: () => now?.row && toggleGuess(),
};

function onKey(event) {
  if (event.ctrlKey || event.altKey || event.metaKey || event.repeat || !now?.task) return;
  const field = event.target instanceof HTMLInputElement;
  if (field && event.target.id !== "value") return;
  if (!field && now.task === "regression" && /^[-+.0-9]$/.test(event.key)) at("value").focus();
  const key = event.key.toLowerCase();
  const index = now.task === "classification" ? keysOf(now.classes).indexOf(key) : -1;
  const name = now.classes[index];
  const action = SHORTCUTS[key] ?? (name === undefined ? undefined : () => label(name));
  if (!action) return;
  event.preventDefault();
  action();
}

function listen() {
  document.addEventListener("keydown", onKey);
  for (const [id, key] of [["skip", "s"], ["undo", "u"], ["guess", "g"]]) {
    at(id).addEventListener("click", SHORTCUTS[key]);
  }
  at("again").addEventListener("click", () => send("again"));
  at("add").addEventListener("click", addClass);
  at("numbers").addEventListener("click", () => send("task", { kind: "regression" }));
  const onSubmit = (id, action) =>
    at(id).addEventListener("submit", (event) => {
      event.preventDefault();
      action();
    });
  onSubmit("number", labelNumber);
  onSubmit("new-class", async () => {
    const name = at("class-name").value;
    if (await send("task", { kind: "classification", classes: [name] })) {
      at("class-name").value = "";
      at("new-class").hidden = true;
    }
  });
  onSubmit("task", () => {
    const names = at("names").value.split(",").map((name) => name.trim()).filter(Boolean);
    if (names.length) send("task", { kind: "classification", classes: names });
    else at("names").focus();
  });
  addEventListener("pagehide", leave);
}

// -- the course of things --------------------------------------------------------------------

async function ask() {
  if (busy) return;
  const before = sent;
  try {
    const found = await state();
    if (sent !== before) return;
    showAll(found);
    banner(null);
  } catch (error) {
    const words = "The server does not answer; start it again to go on.";
    banner(error instanceof Refused ? `Nothing is shown: ${error.message}.` : words);
  }
}

listen();
for (;;) {
  await ask();
  await pause(POLL);
}
