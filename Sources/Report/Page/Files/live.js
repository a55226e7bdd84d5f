/* The page of a running capture: asks for windows of the list, so that its length does not matter. */
(() => {
"use strict";
const $ = id => document.getElementById(id);
const token = new URLSearchParams(location.search).get("token") || "";
const [scroller, space, rows, detail] = [$("scroller"), $("space"), $("rows"), $("detail")];
/* Taller elements are cut by browsers: beyond this the scroll bar moves over parts of the list. */
const TALLEST = 8e6, MARGIN = 40;

let state = {packets: 0, rows: 0, progress: 1, devices: [], marks: {}, rates: [], version: -1};
let cache = {first: 0, list: [], version: -1, key: ""};
let total = 0, paused = false, following = true, ladder = false, selected = 0, selectedRow = -1;
/* `asked` is the window that is being asked for; `isOver` is true when the last packets are here and nobody answers any more. */
let source = null, asked = null, isOver = false, findingsOf = -1;

const selection = () => ({
  where: $("condition").value.trim(), words: $("words").value.trim(), layer: $("layer").value, connection: $("connection").value.trim(),
  marked: $("marked").checked ? "1" : "", flagged: $("flagged").checked ? "1" : "",
});
const query = more => new URLSearchParams(Object.entries({...selection(), ...more}).filter(([, value]) => value !== "")).toString();
class Lost extends Error {}
async function ask(path, more = {}, options = {}) {
  if (isOver) throw new Lost("The capture has ended, and this page has only what it shows.");
  const answer = await fetch(`api/${path}?${query(more)}`, {...options, headers: {Authorization: "Bearer " + token, ...options.headers}})
    .catch(() => { throw new Lost("The connection to the capture is lost."); });
  if (!answer.ok) throw new Error((await answer.text()).trim());
  return answer.json();
}
function element(name, style, text) {
  const made = document.createElement(name);
  if (style) made.className = style;
  if (text !== undefined) made.textContent = text;
  return made;
}

/* The list. */
const rowHeight = () => ladder ? 36 : 24;
const visible = () => Math.ceil(scroller.clientHeight / rowHeight());
const isScaled = () => total * rowHeight() > TALLEST;
function topRow() {
  if (!isScaled()) return Math.floor(scroller.scrollTop / rowHeight());
  const way = space.offsetHeight - scroller.clientHeight;
  return Math.round(scroller.scrollTop / way * Math.max(0, total - visible() + 1));
}
function scrollToRow(row) {
  if (!isScaled()) { scroller.scrollTop = row * rowHeight(); return; }
  scroller.scrollTop = row / Math.max(1, total - visible() + 1) * (space.offsetHeight - scroller.clientHeight);
}
const key = () => query({});
const holds = (first, last) => cache.key === key() && cache.version === state.version && first >= cache.first && last <= cache.first + cache.list.length;

function draw() {
  space.style.height = Math.min(total * rowHeight(), TALLEST) + "px";
  if (following && !paused) scroller.scrollTop = space.offsetHeight;
  const first = Math.max(0, Math.min(topRow(), total - 1)), last = Math.min(total, first + visible() + 1);
  if (!holds(first, last)) want(Math.max(0, first - MARGIN), visible() + 2 * MARGIN);
  const list = cache.list.slice(Math.max(0, first - cache.first), Math.max(0, last - cache.first));
  rows.style.transform = `translateY(${isScaled() ? scroller.scrollTop : Math.max(first, cache.first) * rowHeight()}px)`;
  fill(list, Math.max(first, cache.first));
  const mine = rows.querySelector("[aria-selected=true]");
  if (mine) scroller.setAttribute("aria-activedescendant", mine.id); else scroller.removeAttribute("aria-activedescendant");
}
/* Elements of rows that stay are kept, since a click on an element that was replaced in between is lost. */
let drawn = new Map();
function fill(list, first) {
  drawn = new Map(list.map((row, index) => {
    const text = JSON.stringify([ladder, first + index, row]);
    return [text, drawn.get(text) || (ladder ? ladderRow : lineRow)(row, first + index)];
  }));
  const items = [...drawn.values()], kept = new Set(items);
  for (const item of [...rows.children]) if (!kept.has(item)) item.remove();
  items.forEach((item, index) => {
    if (rows.children[index] !== item) rows.insertBefore(item, rows.children[index] || null);
    item.setAttribute("aria-selected", Number(item.dataset.number) === selected);
    item.setAttribute("aria-setsize", total);
  });
}
async function want(first, count) {
  if (asked) return;
  asked = load(first, count);
  const isLoaded = await asked;
  asked = null;
  if (isLoaded) requestAnimationFrame(draw);
}
/* False if nobody answers: the rows stay as they are. */
async function load(first, count) {
  const [of, version] = [key(), state.version];
  try {
    const window = await ask("packets", {first, count: Math.min(500, count)});
    /* What is true of an earlier condition says nothing of this one. */
    if (of !== key()) return true;
    cache = {first: window.first, list: window.list, version, key: of};
    if (!paused) total = window.rows;
    refuse("");
  } catch (error) {
    if (of !== key()) return !(error instanceof Lost);
    refuse(error.message);
    if (error instanceof Lost) return false;
    cache = {first: 0, list: [], version, key: of};
    total = 0;
  }
  return true;
}
function option(row, index) {
  const item = element("li", `k-${row.kind}`);
  item.id = "p" + row.number;
  item.setAttribute("role", "option");
  item.setAttribute("aria-posinset", index + 1);
  item.dataset.number = row.number;
  item.dataset.row = index;
  return item;
}
function others(row) {
  const part = element("span", "o");
  if (row.isFlagged) part.append(element("span", "m-risk", "⚑ flag"));
  if (row.mark) part.append(element("span", "m-" + row.mark, row.mark));
  if (row.comment) part.append(element("span", "c", row.comment));
  return part;
}
/* Devices have short names in the rows, A, B and so on; the status line is the legend. */
const short = index => index < 26 ? String.fromCharCode(65 + index) : `${index + 1}`;
function content(row) {
  const part = element("span", "x"), [, head, rest] = row.text.match(/^(ACL 0x[0-9A-F]{4} (?:\(.*?\) )?)?(.*)$/s);
  if (state.devices.length > 1) {
    const name = element("span", "d", short(row.device));
    name.title = state.devices[row.device] || "";
    part.append(name, " ");
  }
  if (head) part.append(element("span", "h", head));
  part.append(rest);
  part.title = row.text;
  return part;
}
function lineRow(row, index) {
  const item = option(row, index);
  item.append(element("span", "n", row.number), element("span", "t", row.seconds), element("span", "w", row.way), content(row), others(row));
  return item;
}
function ladderRow(row, index) {
  const item = option(row, index), side = row.device ? "s" : "t";
  /* The style of the ladder looks at the first class. */
  item.className = `${side}-${row.way === ">" ? "down" : row.way === "<" ? "up" : "air"} ${item.className}`;
  const line = element("div", "row"), label = element("span", "label");
  const text = row.text.split(" | ").pop();
  const words = [text.split(" ")[0], ...["Command_Opcode", "Status", "Error_Code"].map(name => (text.match(` ${name}=([^ ]+)`) || [])[1])].filter(word => word && word !== "Success").join(" ");
  label.append(element("span", "name", words), " ", element("span", "number", "#" + row.number));
  if (row.mark) label.append(" ", element("span", "m-" + row.mark, row.mark));
  line.append(element("span", "time", Number(row.seconds).toFixed(3)), label);
  item.append(line);
  return item;
}

/* One packet. */
async function show(number, row) {
  selected = number;
  if (row !== undefined) selectedRow = row;
  draw();
  if (!number) { detail.hidden = true; return; }
  let packet;
  try { packet = await ask("packet", {number}); } catch (error) { refuse(error.message); return; }
  if (number !== selected) return;
  detail.hidden = false;
  $("detail-title").textContent = `Packet ${packet.row.number}, ${packet.row.seconds} s`;
  $("tree").textContent = packet.tree.map(line => line.slice(2)).join("\n");
  $("detail-marks").replaceChildren(...packet.marks.map(finding));
  $("comment").value = packet.row.comment || "";
  $("flag").checked = !!packet.row.isFlagged;
  $("saved").textContent = "";
}
function finding(mark) {
  const item = element("li");
  const link = element("button", "", `#${mark.packet}`);
  link.type = "button";
  link.addEventListener("click", () => reveal(mark.packet));
  item.append(element("span", "m-" + mark.severity, mark.severity), " ", mark.message, " ", link);
  if (mark.count > 1) item.append(` ×${mark.count}`);
  if (mark.section) item.append(element("span", "soft", mark.section));
  if (mark.advice) item.append(element("span", "soft", mark.advice));
  return item;
}
async function reveal(number) {
  stopFollowing();
  try {
    const window = await ask("packets", {around: number, count: 1});
    scrollToRow(Math.max(0, window.first - Math.floor(visible() / 2)));
    show(number, window.first);
  } catch (error) { refuse(error.message); }
}
async function save(number, note) {
  await ask("note", {}, {method: "POST", headers: {"Content-Type": "application/json"}, body: JSON.stringify({number, ...note})});
  $("saved").textContent = "saved";
  cache.version = -1;
  draw();
}

/* What the capture tells. */
function refuse(text) { $("refusal").hidden = !text; $("refusal").textContent = text; }
const whole = number => number.toLocaleString("en");
function tell() {
  $("title").textContent = state.packets ? `${whole(state.packets)} packet${state.packets === 1 ? "" : "s"}` : "No packets yet";
  document.title = `${whole(state.packets)} packets · Bluebench`;
  const marks = Object.entries(state.marks).map(([name, count]) => `${count} ${name}`).join(", ");
  $("status").textContent = [state.devices.length > 1 ? state.devices.map((name, index) => `${short(index)} ${name}`).join(", ") : state.devices.join(""), `${state.seconds.toFixed(1)} s`, marks, state.omitted ? `${whole(state.omitted)} later packets are not here` : "",
    state.hasEnded ? "The capture has ended." : ""].filter(Boolean).join(" · ");
  const isAll = !key();
  $("tally").textContent = (isAll ? `${whole(total)} packets` : `${whole(total)} of ${whole(state.packets)} packets`) + (state.progress < 1 ? `, ${Math.floor(state.progress * 100)} % searched` : "");
  $("no-rates").hidden = state.rates.length > 0;
  $("rates").replaceChildren(...state.rates.map(rate));
}
function rate(each) {
  const item = element("li"), most = Math.max(1, ...each.out, ...each.back);
  const now = list => (list[list.length - 1] || 0).toFixed(1);
  item.append(element("span", "name", each.name), element("b", "", now(each.out)), " and ", element("b", "", now(each.back)), " kbit/s, at most ", most.toFixed(0));
  const picture = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  picture.setAttribute("viewBox", "0 0 59 26");
  picture.setAttribute("preserveAspectRatio", "none");
  picture.setAttribute("aria-hidden", "true");
  for (const [style, list] of [["p-out", each.out], ["p-back", each.back]]) {
    const line = document.createElementNS("http://www.w3.org/2000/svg", "polyline");
    line.setAttribute("class", style);
    /* From zero, so that a single second has a line. */
    line.setAttribute("points", [0, ...list].map((value, index) => `${59 - (list.length - index)},${25 - value / most * 24}`).join(" "));
    picture.append(line);
  }
  item.append(picture);
  return item;
}
async function tellFindings() {
  const sum = Object.values(state.marks).reduce((a, b) => a + b, 0);
  if (sum === findingsOf) return;
  const list = await ask("findings");
  findingsOf = sum;
  $("no-findings").hidden = list.length > 0;
  $("findings").replaceChildren(...list.slice(0, 200).map(finding));
}
function listen() {
  if (source) source.close();
  source = new EventSource(`api/events?${query({token})}`);
  source.onmessage = event => {
    state = JSON.parse(event.data);
    if (!paused) total = state.rows;
    tell();
    const findings = tellFindings().catch(error => refuse(error.message));
    if (state.hasEnded) finish(findings);
    else if (!paused) requestAnimationFrame(draw);
  };
  source.onerror = () => { if (!state.hasEnded) $("status").textContent = "The connection to the capture is lost."; };
}
/* Asks for what is still missing. Closing the events tells the capture that it need not wait for this page any longer. */
async function finish(findings) {
  await findings;
  await asked;
  if (!paused) draw();
  await asked;
  isOver = true;
  source.close();
}

/* Control. */
function press(button, on) { button.setAttribute("aria-pressed", on); }
function stopFollowing() { following = false; press($("follow"), false); }
function pause(on) { paused = on; press($("pause"), on); if (!on) { total = state.rows; draw(); } }
function change() {
  remember();
  refuse("");
  cache.key = "-";
  want(following ? Math.max(0, total - visible()) : 0, visible() + MARGIN).then(listen);
}
function remember() {
  const chosen = query({});
  history.replaceState(null, "", location.pathname + location.search + (chosen ? "#?" + chosen : ""));
}
function restore() {
  const chosen = new URLSearchParams(location.hash.startsWith("#?") ? location.hash.slice(2) : "");
  for (const [id, name] of [["condition", "where"], ["words", "words"], ["layer", "layer"], ["connection", "connection"]]) $(id).value = chosen.get(name) || "";
  for (const id of ["marked", "flagged"]) $(id).checked = chosen.get(id) === "1";
}
function clear() {
  document.querySelector(".filter").reset();
  change();
}
let waiting = 0;
for (const id of ["condition", "words", "connection"]) $(id).addEventListener("input", () => { remember(); clearTimeout(waiting); waiting = setTimeout(change, 150); });
for (const id of ["layer", "marked", "flagged"]) $(id).addEventListener("change", change);
for (const form of document.forms) form.addEventListener("submit", event => event.preventDefault());
$("clear").addEventListener("click", clear);
$("pause").addEventListener("click", () => pause(!paused));
$("follow").addEventListener("click", () => { following = !following; press($("follow"), following); draw(); });
$("ladder").addEventListener("click", () => {
  const row = topRow();
  ladder = !ladder;
  press($("ladder"), ladder);
  document.querySelector(".packets").classList.toggle("ladder", ladder);
  const lanes = document.querySelector(".lanes");
  lanes.hidden = !ladder;
  const isPair = state.devices.length > 1;
  lanes.replaceChildren(...[`host of ${isPair ? short(0) : state.devices[0] || "the device"}`, "controller", isPair ? "controller" : "", isPair ? `host of ${short(1)}` : ""].map(text => element("span", "", text)));
  draw();
  if (!following) scrollToRow(row);
  draw();
});
$("export").addEventListener("change", () => {
  const link = element("a");
  link.href = `api/export?${query({as: $("export").value, token})}`;
  link.download = "capture." + $("export").value;
  if ($("export").value) link.click();
  $("export").value = "";
});
$("note").addEventListener("submit", () => {
  save(selected, {comment: $("comment").value, isFlagged: $("flag").checked}).catch(error => { $("saved").textContent = error.message; });
});
/* Scrolling up by hand ends following; scrolling to the end does not start it. */
for (const kind of ["wheel", "pointerdown", "touchmove"]) scroller.addEventListener(kind, event => { if (kind !== "pointerdown" || event.target === scroller) stopFollowing(); }, {passive: true});
scroller.addEventListener("scroll", () => requestAnimationFrame(draw));
new ResizeObserver(() => requestAnimationFrame(draw)).observe(scroller);
rows.addEventListener("click", event => {
  const item = event.target.closest("li");
  if (!item) return;
  stopFollowing();
  show(Number(item.dataset.number), Number(item.dataset.row));
});
async function step(by) {
  stopFollowing();
  const row = Math.max(0, Math.min(total - 1, selectedRow < 0 ? topRow() : selectedRow + by));
  const window = await ask("packets", {first: row, count: 1});
  if (!window.list.length) return;
  const top = topRow();
  if (row < top) scrollToRow(row); else if (row >= top + visible() - 1) scrollToRow(row - visible() + 2);
  show(window.list[0].number, row);
}
addEventListener("keydown", event => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "Escape") { clear(); return; }
  if (event.target.matches("input[type=search],select")) return;
  const onList = event.target === scroller || event.target === document.body;
  const move = by => step(by).catch(error => refuse(error.message));
  if (event.key === "/") $("words").focus();
  else if (event.key === "j" || onList && event.key === "ArrowDown") move(1);
  else if (event.key === "k" || onList && event.key === "ArrowUp") move(-1);
  else if (event.key === "p") pause(!paused);
  else if (event.key === "f" && selected) save(selected, {isFlagged: !$("flag").checked}).then(() => show(selected)).catch(error => refuse(error.message));
  else if (onList && event.key === "Home") { stopFollowing(); scrollToRow(0); }
  else if (onList && event.key === "End") { following = true; press($("follow"), true); draw(); }
  else return;
  event.preventDefault();
});

restore();
if (token) listen(); else refuse("Open the address that the command printed: it has the token of this capture.");
document.documentElement.dataset.ready = "yes";
})();
