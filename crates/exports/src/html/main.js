// The page: reads the index, follows the address, and listens to keys.

const KEYS = [
  ["/", "search in names and sessions"],
  ["j  k", "next, previous case or event"],
  ["n  p", "next, previous trial"],
  ["c", "next check of a trial"],
  ["b", "compare with the other side, or this trial only"],
  ["Esc", "back to the list"],
];

/** Milliseconds without typing after which sessions are searched. */
const PAUSE = 200;

const index = JSON.parse(document.getElementById("index").textContent);
const rows = rowsOf(index);
const allGroups = groupsOf(rows);
const compares = Boolean(index.sides);
const [all, one] = ["all", "one"].map((id) => document.getElementById(id));
const list = caseList((row) => linkTo(row));
const tabs = verdictTabs(rows);
const bar = filterBar(rows, choicesOf(rows), () => filters, compares, (chosen) => go(filtersOf(chosen)));
const head = el("h2");
const labels = ["case", compares ? index.sides.join(" → ") : "trials", "pass rate", "failed checks, errors", "time", "tokens"];
const countRan = (rows) => rows.filter((row) => row.verdict !== NOT_RUN).length;
const ran = countRan(rows);
const help = el("dialog", { "aria-label": "Keys" }, el("h2", {}, "Keys"), el("dl", { class: "facts" }, KEYS.map(([key, what]) => [el("dt", {}, el("kbd", {}, key)), el("dd", {}, what)])), el("button", { type: "button", onclick: () => help.close() }, "Close"));
let filters = {};
let found = new Set();
let search = 0;
/** The text that `found` belongs to. */
let searched;
let groups = [];
let scrolled = 0;
/** The open trial: the list returns to its row. */
let reading = null;

/** The address of a trial, with the active filters. */
function linkTo(row, more = {}) {
  return writeRoute({ ...filters, t: idOf(row), r: row.ofRun, w: row.other ? "1" : "", ...more });
}

function rowAt(route) {
  const named = rows.filter((row) => idOf(row) === route.t && (!route.r || row.run === route.r));
  return named.find((row) => row.side === "candidate") || named[0];
}

function showList(route, isLink) {
  const next = filtersOf(route);
  const asked = next.q !== searched;
  filters = next;
  const isBack = all.hidden;
  one.hidden = true;
  all.hidden = false;
  document.body.classList.remove("reading");
  if (asked) searchFor(filters.q);
  drawList();
  if (isBack) {
    scrollTo(0, scrolled);
    list.draw();
  } else if (isLink && Object.keys(filters).length && list.element.getBoundingClientRect().top > innerHeight * 0.8) {
    document.getElementById("trials").scrollIntoView();
  }
  const at = reading ? groups.findIndex((group) => group.rows.includes(reading) || group.before.includes(reading)) : -1;
  reading = null;
  if (at >= 0) list.focus(at);
}

function drawList() {
  groups = selected(allGroups, filters, found);
  head.replaceChildren("Trials ", el("small", { id: "count" }, countText()), Object.keys(filters).length > 0 ? el("a", { class: "clear", href: "#" }, "show all") : "", keysButton());
  for (const part of [tabs, bar]) part.show(filters);
  list.show(groups);
}

/** The number of trials that the filters leave, and of their cases. */
function countText() {
  const chosen = groups.flatMap((group) => [...group.rows, ...group.before]);
  const trials = countRan(chosen);
  const missing = chosen.length - trials;
  const part = (some, all, what) => count(some) + (some === all ? "" : " of " + count(all)) + " " + what + (all === 1 ? "" : "s");
  return part(trials, ran, "trial") + " in " + part(groups.length, allGroups.length, "case") + (missing ? ", " + count(missing) + " not run" : "");
}

/** Searches the sessions, until the user types another text. */
function searchFor(text) {
  searched = text;
  const own = ++search;
  found = new Set();
  if (!text) return;
  setTimeout(() => {
    const tell = (places, share) => {
      found = places;
      if (one.hidden) {
        groups = selected(allGroups, filters, found);
        list.show(groups);
        document.getElementById("count").textContent = countText() + (share < 1 ? ", " + Math.round(share * 100) + " % searched" : "");
      }
      if (share === 1) say(countText());
    };
    searchTraces(rows, text, tell, () => own === search);
  }, PAUSE);
}

async function showTrial(route) {
  const row = rowAt(route);
  if (!one.hidden && one.dataset.trial === keyOf(route)) return showEvent(route);
  if (one.hidden) scrolled = scrollY;
  filters = filtersOf(route);
  const others = row && route.w && row.other ? [row.other] : [];
  const traces = await Promise.all((row ? [row, ...others] : []).map((one) => openTrace(one.place)));
  // The address may have changed while the sessions were unpacked.
  if (writeRoute(readRoute(location.hash)) !== writeRoute(route)) return;
  const view = row ? viewOf(row, traces, route) : [el("p", { class: "note" }, "This report has no trial ", shown(route.t || ""), ". ", el("a", { href: "#" }, "Show all"))];
  one.replaceChildren(...view.filter(Boolean));
  one.dataset.trial = keyOf(route);
  reading = row;
  all.hidden = true;
  one.hidden = false;
  document.body.classList.add("reading");
  document.title = (route.t || "") + " – " + title;
  scrollTo(0, 0);
  const heading = one.querySelector("h1");
  if (route.e) showEvent(route);
  else if (heading) heading.focus({ preventScroll: true });
}

const keyOf = (route) => [route.t, route.r, route.w].join("\n");

/** The page of a trial; with two traces, of a pair. */
function viewOf(row, traces, route) {
  const order = (groups.length ? groups : selected(allGroups, filters, found)).flatMap((group) => (row.side === "baseline" ? group.before : group.rows));
  const at = order.indexOf(row);
  const around = (step) => (at >= 0 && order[at + step] ? linkTo(order[at + step], route.w ? {} : { w: "" }) : null);
  const { other } = row;
  const twin = other && sideName(other);
  const compare = other && (traces.length > 1 ? { link: linkTo(row, { w: "" }), label: "This trial only" } : { link: linkTo(row), label: "Compare with " + twin });
  const neighbors = { before: around(-1), after: around(1), compare };
  if (traces.length < 2) return trialView(row, traces[0], route, neighbors);
  return pairPage(row, { [row.side]: traces[0], [other.side]: traces[1] }, route, neighbors);
}

/** Scrolls to the event of a route. */
function showEvent(route) {
  one.querySelectorAll(".target").forEach((event) => event.classList.remove("target"));
  const place = eventOf(route);
  drawAt(place);
  const event = document.getElementById("e" + (place + 1));
  if (!event) return;
  // A list of differences hides equal events.
  const onlyChanged = one.querySelector("#changed-only:checked");
  if (onlyChanged && !event.getClientRects().length) onlyChanged.click();
  event.classList.add("target");
  event.scrollIntoView({ block: "center" });
  event.focus({ preventScroll: true });
}

/** Changes the address without a new entry in the browser's history. */
function go(route) {
  history.replaceState(null, "", writeRoute(route) === "#" ? location.pathname + location.search : writeRoute(route));
  follow();
}

function follow(event) {
  const route = readRoute(location.hash);
  if (route.t) return showTrial(route);
  document.title = title;
  return showList(route, Boolean(event));
}

/** The name of the side of a row. */
function sideOf(row) {
  return index.sides[row.side === "baseline" ? 0 : 1];
}

/** The name of the side of a row, by the run if each side has runs of its own. */
function sideName(row) {
  return row.other.run === row.run ? sideOf(row) : "run " + row.run;
}

function keysButton() {
  return el("button", { type: "button", class: "keys", onclick: () => help.showModal() }, "Keys ", el("kbd", {}, "?"));
}

function keys(event) {
  const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName);
  if (event.ctrlKey || event.metaKey || event.altKey || help.open) return;
  if (event.key === "Escape") {
    if (typing) event.target.blur();
    else if (!one.hidden) one.querySelector("[rel=up]").click();
    return;
  }
  if (typing) return;
  if (event.key === "?") return help.showModal();
  const done = one.hidden ? keyInList(event.key) : keyInTrial(event.key);
  if (done) event.preventDefault();
}

function keyInList(key) {
  const row = document.activeElement && document.activeElement.closest(".row[data-at]");
  const at = row ? Number(row.dataset.at) : -1;
  if (key === "/") document.querySelector("[name=q]").focus();
  else if (key === "j" || (key === "ArrowDown" && row)) list.focus(at + 1);
  else if (key === "k" || (key === "ArrowUp" && row)) list.focus(at - 1);
  else return false;
  return true;
}

function keyInTrial(key) {
  const follow = { n: "[rel=next]", p: "[rel=prev]", b: "[rel=compare]", u: "[rel=up]" }[key];
  const link = follow && one.querySelector(follow);
  if (link) link.click();
  else if (key === "j" || key === "k") step(".event, .pair:not(.heads)", key === "j" ? 1 : -1);
  else if (key === "c") step(".to-event", 1);
  else return false;
  return true;
}

/** Moves the focus among the visible elements. */
function step(selector, by) {
  drawMore();
  const places = [...one.querySelectorAll(selector)].filter((place) => place.getClientRects().length);
  const now = places.findIndex((place) => place === document.activeElement || place.contains(document.activeElement));
  const next = places[Math.min(Math.max(now + by, 0), places.length - 1)];
  if (!next) return;
  if (!next.hasAttribute("tabindex") && !next.matches("a")) next.tabIndex = -1;
  next.focus();
  next.scrollIntoView({ block: "nearest" });
}

const title = document.title;
addEventListener("hashchange", follow);
addEventListener("keydown", keys);
addEventListener("beforeprint", () => one.hidden || drawAll());
document.body.append(help);
document.getElementById("trials").replaceChildren(head, tabs.element, bar.element, el("div", { class: "row labels", "aria-hidden": "true" }, labels.map((name) => el("span", {}, name))), list.element);
if (compares) showEdits(document.getElementById("edits"), JSON.parse(document.getElementById("texts").textContent), index.sides);
follow();
performance.mark("first-screen");
