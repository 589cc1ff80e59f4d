// Two trials beside each other, event by event, with their texts compared by words.

/** The page of a trial beside its other one. Traces and trials are by their arms: `a` is what is compared with, `b` is reported. */
function besideView(row, traces, route, neighbours) {
  const { a, b } = traces;
  const rows = { [row.arm]: row, [row.other.arm]: row.other };
  const bar = trialBar(row, traces[row.arm], route, neighbours);
  const title = el("h1", { tabindex: "-1" }, shown(row.skill + "/" + row.case), el("small", {}, " repeat " + row.n));
  const sides = el("div", { class: "pair heads" }, sideHead(rows.a, "before"), sideHead(rows.b, "after"));
  if (!a || !b) return [bar, title, sides, ...[rows.a, rows.b].filter((one) => !traces[one.arm]).map((one) => (one.verdict === NOT_RUN ? notRun(one) : leftOut(one)))];
  // The events of the trial that the address names have their numbers there; a link to one of the other names that one.
  const inPair = (arm) => arm === row.arm || row.other.other === row;
  const link = (arm) => (place) => linkTo(rows[arm], { w: inPair(arm) ? "1" : "", e: String(place + 1) });
  const side = (arm) => ({ trace: traces[arm], link: link(arm), named: arm === row.arm, isAfter: arm === "b" });
  const pairs = aligned(a.entries, b.entries);
  const itemOf = (place) => pairs.findIndex((pair) => pair[row.arm] === place);
  const onlyChanged = el("input", { type: "checkbox", id: "changed-only", checked: true });
  const list = el("ol", { class: "pairs changed-only" });
  onlyChanged.addEventListener("change", () => list.classList.toggle("changed-only", onlyChanged.checked));
  return [
    bar,
    title,
    sides,
    checksBeside(a, b, link("b")),
    skillsBeside(),
    el("h2", {}, "Sessions ", el("label", {}, onlyChanged, " only what differs")),
    fillLong(list, pairs.length, (at) => pairView(pairs[at], side("a"), side("b")), eventOf(route), itemOf),
  ];
}

function sideHead(row, when) {
  return el("div", {}, el("small", {}, when + " · run ", shown(row.run), " · ", shown(row.mode)), el("div", {}, badge(row.verdict), " ", row.ms !== undefined && duration(row.ms), row.tokens !== undefined && " · " + count(row.tokens) + " tokens"));
}

/** Checks whose status differs. */
function checksBeside(a, b, link) {
  const key = (check) => check.id + "\n" + check.expected;
  const before = new Map(a.checks.map((check) => [key(check), check]));
  const moved = b.checks.filter((check) => before.has(key(check)) && before.get(key(check)).status !== check.status);
  const gone = a.checks.filter((check) => !b.checks.some((other) => key(other) === key(check)));
  const added = b.checks.filter((check) => !before.has(key(check)));
  const line = (from, to, check) => el("li", {}, from ? badge(from) : el("span", { class: "off" }, "not asked"), " → ", to ? badge(to) : el("span", { class: "off" }, "not asked"), " ", checkName(check, link), el("p", {}, shown(check.found)));
  const all = [...moved.map((check) => line(before.get(key(check)).status, check.status, check)), ...gone.map((check) => line(check.status, null, { ...check, entry: undefined })), ...added.map((check) => line(null, check.status, check))];
  return el("section", {}, el("h2", {}, "Checks"), all.length ? el("ul", { class: "checks" }, all) : el("p", {}, "Every check found the same."));
}

/** Two events, or one that the other trial has not. */
function pairView(pair, a, b) {
  const [x, y] = [a.trace.entries[pair.a], b.trace.entries[pair.b]];
  const same = x && y && textOf(x) === textOf(y) && outputOf(x) === outputOf(y);
  return el("li", { class: "pair" + (same ? " same" : "") }, sideView(a, x, pair.a, y), sideView(b, y, pair.b, x));
}

function sideView(side, entry, at, other) {
  if (!entry) return el("div", { class: "side none" }, "–");
  const name = nameOf(entry);
  const number = el("a", { class: "number", href: side.link(at), "aria-label": "event " + (at + 1) + (side.isAfter ? "" : ", before") }, String(at + 1));
  return el(
    "div",
    { class: "side", id: side.named && "e" + (at + 1), tabindex: side.named && "-1" },
    el("div", { class: "event-head" }, number, el("span", { class: "kind" }, name), entry.kind === "command" && exitView(entry)),
    compared(textOf(entry), other && textOf(other), side.isAfter),
    outputBeside(entry, other, side.isAfter),
  );
}

function outputBeside(entry, other, isAfter) {
  const output = outputOf(entry);
  if (!output.trim()) return null;
  return el("details", { open: Boolean(other) && outputOf(other) !== output }, el("summary", {}, "output"), compared(output, other && outputOf(other), isAfter));
}

/** A text with what the other one lacks of it marked: as gone before, as new after. */
function compared(text, other, isAfter) {
  if (other === undefined || other === text) return el("div", { class: "prose" }, shown(text));
  const pieces = isAfter ? wordDiff(other, text) : wordDiff(text, other);
  const own = pieces.filter((piece) => piece.kind === "same" || piece.kind === (isAfter ? "new" : "gone"));
  return el("div", { class: "prose" }, own.map((piece) => (piece.kind === "same" ? shown(piece.text) : el(isAfter ? "ins" : "del", {}, shown(piece.text)))));
}

/** The skills' texts that differ between the runs, as the agents were given them. */
function skillsBeside() {
  const found = document.getElementById("skills");
  const skills = found ? JSON.parse(found.textContent) : [];
  if (!skills.length) return null;
  const one = ({ skill, before, after }) => el("details", {}, el("summary", {}, el("code", {}, shown(skill)), " ", el("small", {}, before === "" ? "new" : after === "" ? "gone" : "changed")), el("pre", { class: "words", tabindex: "0" }, wordDiff(before, after).map((piece) => (piece.kind === "same" ? shown(piece.text) : el(piece.kind === "new" ? "ins" : "del", {}, shown(piece.text))))));
  return el("section", {}, el("h2", {}, "Skills that changed"), skills.map(one));
}
