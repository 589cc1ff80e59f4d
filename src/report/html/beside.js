// Two trials beside each other, event by event, with their texts compared by words.

/** The page of two trials: `a` from the run that is compared with, `b` from the reported one. */
function besideView(rows, traces, route, neighbours) {
  const [a, b] = traces;
  const bar = trialBar(rows.b, b, route, neighbours);
  const title = el("h1", { tabindex: "-1" }, shown(rows.b.skill + "/" + rows.b.case), el("small", {}, " repeat " + rows.b.n));
  const sides = el("div", { class: "pair heads" }, sideHead(rows.a, "before"), sideHead(rows.b, "after"));
  if (!a || !b) return [bar, title, sides, el("p", { class: "note" }, "A session of these two was left out to keep the file small.")];
  const pairs = aligned(a.entries, b.entries).map((pair) => pairView(pair, a, b));
  const onlyChanged = el("input", { type: "checkbox", id: "changed-only", checked: true });
  const list = el("ol", { class: "pairs changed-only" }, pairs);
  onlyChanged.addEventListener("change", () => list.classList.toggle("changed-only", onlyChanged.checked));
  return [
    bar,
    title,
    sides,
    checksBeside(a, b),
    skillsBeside(),
    el("h2", {}, "Sessions ", el("label", {}, onlyChanged, " only what differs")),
    list,
  ];
}

function sideHead(row, when) {
  return el("div", {}, el("small", {}, when + " · run ", shown(row.run), " · ", shown(row.mode)), el("div", {}, badge(row.verdict), " ", duration(row.ms), row.tokens !== undefined && " · " + count(row.tokens) + " tokens"));
}

/** Checks whose status differs. */
function checksBeside(a, b) {
  const key = (check) => check.id + "\n" + check.expected;
  const before = new Map(a.checks.map((check) => [key(check), check]));
  const moved = b.checks.filter((check) => before.has(key(check)) && before.get(key(check)).status !== check.status);
  const gone = a.checks.filter((check) => !b.checks.some((other) => key(other) === key(check)));
  const added = b.checks.filter((check) => !before.has(key(check)));
  const line = (from, to, check) => el("li", {}, from ? badge(from) : el("span", { class: "off" }, "not asked"), " → ", to ? badge(to) : el("span", { class: "off" }, "not asked"), " ", el("b", {}, shown(check.id)), el("p", {}, shown(check.evidence)));
  const all = [...moved.map((check) => line(before.get(key(check)).status, check.status, check)), ...gone.map((check) => line(check.status, null, check)), ...added.map((check) => line(null, check.status, check))];
  return el("section", {}, el("h2", {}, "Checks"), all.length ? el("ul", { class: "checks" }, all) : el("p", {}, "Every check found the same."));
}

function pairView({ a: atA, b: atB }, a, b) {
  const [x, y] = [a.entries[atA], b.entries[atB]];
  const side = (entry, at, other) =>
    entry ? el("div", { class: "side" }, sideLine(entry, at), compared(textOf(entry), other && textOf(other), other === x), outputBeside(entry, other, other === x)) : el("div", { class: "side none" }, "–");
  const same = x && y && textOf(x) === textOf(y) && outputOf(x) === outputOf(y);
  return el("li", { class: "pair" + (same ? " same" : "") }, side(x, atA, y), side(y, atB, x));
}

function sideLine(entry, at) {
  const name = entry.kind === "said" && entry.answer ? "Answer" : KINDS[entry.kind] || entry.kind;
  return el("div", { class: "event-head" }, el("span", { class: "number" }, String(at + 1)), el("span", { class: "kind" }, name), entry.kind === "command" && exitView(entry));
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
