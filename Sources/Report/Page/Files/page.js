(() => {
"use strict";
const form = document.querySelector(".filter"), query = document.getElementById("query"), suite = document.getElementById("suite");
const tag = document.getElementById("tag"), tally = document.getElementById("tally"), nothing = document.getElementById("nothing");
const chips = [...form.querySelectorAll("[name=verdict]")];
const cases = [...document.querySelectorAll("details.case")], suites = [...document.querySelectorAll("details.suite")];
const startedOpen = new Set(suites.filter(each => each.open));
const texts = new Map();
form.hidden = false;

const words = node => node ? node.textContent : "";
function text(part) {
  let known = texts.get(part);
  if (known === undefined) {
    known = [part.id, words(part.querySelector(".title")), words(part.querySelector(".about")), words(part.querySelector(".message")),
      part.dataset.verdict].join(" ").toLowerCase();
    texts.set(part, known);
  }
  return known;
}
function suiteOf(part) { return part.parentElement.dataset.suite; }
function verdictIs(part, name) {
  return part.dataset.verdict === name || words(part.querySelector(".badge")).toLowerCase() === name;
}
function asks(word) {
  const [, key, value] = word.match(/^(suite|tag|verdict|covers|id):(.*)$/) || [];
  switch (key) {
  case "suite": return part => suiteOf(part).toLowerCase().startsWith(value);
  case "tag": return part => (part.dataset.tags || "").split(" ").includes(value);
  case "verdict": return part => verdictIs(part, value);
  case "covers": return part => words(part.querySelector(".about")).toLowerCase().includes(value);
  case "id": return part => part.id.toLowerCase().includes(value);
  default: return part => text(part).includes(word);
  }
}

function apply() {
  const verdicts = chips.filter(chip => chip.checked).map(chip => chip.value);
  const tests = query.value.toLowerCase().split(/\s+/).filter(word => word).map(asks);
  if (suite.value) tests.push(part => suiteOf(part) === suite.value);
  if (tag && tag.value) tests.push(part => (part.dataset.tags || "").split(" ").includes(tag.value));
  if (verdicts.length) tests.push(part => verdicts.includes(part.dataset.verdict));
  const counts = new Map();
  let shown = 0;
  for (const part of cases) {
    const fits = tests.every(test => test(part));
    if (part.hidden === fits) part.hidden = !fits;
    if (!fits) continue;
    shown += 1;
    counts.set(part.parentElement, (counts.get(part.parentElement) || 0) + 1);
  }
  for (const each of suites) {
    const count = counts.get(each) || 0;
    if (each.hidden === count > 0) each.hidden = count === 0;
    if (tests.length) { if (count && !each.open) each.open = true; } else if (each.open !== startedOpen.has(each)) each.open = startedOpen.has(each);
  }
  nothing.hidden = shown > 0;
  tally.textContent = tests.length ? `${shown} of ${cases.length} cases` : `${cases.length} cases`;
  return tests.length;
}
function remember(filters) {
  const state = new URLSearchParams();
  if (query.value.trim()) state.set("q", query.value.trim());
  if (suite.value) state.set("suite", suite.value);
  if (tag && tag.value) state.set("tag", tag.value);
  const verdicts = chips.filter(chip => chip.checked).map(chip => chip.value);
  if (verdicts.length) state.set("verdict", verdicts.join(","));
  history.replaceState(null, "", filters ? "#?" + state : location.pathname + location.search);
}
function restore() {
  if (!location.hash.startsWith("#?")) return reveal();
  const state = new URLSearchParams(location.hash.slice(2));
  query.value = state.get("q") || "";
  suite.value = state.get("suite") || "";
  if (tag) tag.value = state.get("tag") || "";
  const verdicts = (state.get("verdict") || "").split(",");
  for (const chip of chips) chip.checked = verdicts.includes(chip.value);
  apply();
}
function change() { remember(apply()); }
function clear() {
  form.reset();
  change();
}
/* A link to a case opens it, filtered away or not. */
function reveal() {
  let part = null;
  try { part = document.getElementById(decodeURIComponent(location.hash.slice(1))); } catch { return; }
  if (!part || !part.matches("details.case")) return;
  if (part.hidden) { form.reset(); apply(); }
  part.parentElement.open = true;
  part.open = true;
  part.scrollIntoView();
  part.querySelector("summary").focus();
}

let waiting = 0;
query.addEventListener("input", () => { cancelAnimationFrame(waiting); waiting = requestAnimationFrame(change); });
form.addEventListener("change", event => { if (event.target !== query) change(); });
form.addEventListener("submit", event => event.preventDefault());
document.getElementById("clear").addEventListener("click", clear);
addEventListener("hashchange", restore);

function step(by) {
  const visible = cases.filter(part => !part.hidden && part.parentElement.open);
  const at = visible.indexOf(document.activeElement.closest("details.case"));
  const next = visible[at < 0 ? (by > 0 ? 0 : visible.length - 1) : at + by];
  if (!next) return;
  const head = next.querySelector("summary");
  head.focus();
  head.scrollIntoView({block: "nearest"});
}
addEventListener("keydown", event => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const typing = event.target.matches("input[type=search],select,textarea");
  if (event.key === "Escape") { clear(); return; }
  if (typing) return;
  const onCase = event.target.matches("details.case > summary");
  if (event.key === "/") query.focus();
  else if (event.key === "j" || onCase && event.key === "ArrowDown") step(1);
  else if (event.key === "k" || onCase && event.key === "ArrowUp") step(-1);
  else return;
  event.preventDefault();
});

document.addEventListener("toggle", event => {
  if (!event.target.open || !event.target.matches(".case")) return;
  for (const command of event.target.querySelectorAll(".command")) {
    if (!navigator.clipboard || command.nextElementSibling && command.nextElementSibling.matches(".copy")) continue;
    const button = document.createElement("button");
    button.type = "button";
    button.className = "copy";
    button.textContent = "Copy";
    button.addEventListener("click", () => navigator.clipboard.writeText(command.textContent).then(() => { button.textContent = "Copied"; }));
    command.after(button);
  }
}, true);

/* Older browsers print no closed part: what matters is opened for it. */
let closed = [];
addEventListener("beforeprint", () => {
  closed = [...document.querySelectorAll(".suite:not([open]), .case:is(.fail,.error,.inconc):not([open])")];
  for (const part of closed) part.open = true;
});
addEventListener("afterprint", () => { for (const part of closed) part.open = false; closed = []; });

apply();
restore();
document.documentElement.dataset.ready = "yes";
})();
