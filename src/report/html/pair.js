// Two trials next to each other, event by event, with their texts compared by words.

/** The page of a trial next to its partner. `traces` has the sessions of the `baseline` and the `candidate`. */
function pairPage(row, traces, route, neighbors) {
  const { baseline, candidate } = traces;
  const rows = { [row.side]: row, [row.other.side]: row.other };
  const bar = trialBar(row, traces[row.side], route, neighbors);
  const title = el("h1", { tabindex: "-1" }, shown(row.skill + "/" + row.case), el("small", {}, " repeat " + row.n));
  const heads = el("div", { class: "pair heads" }, sideHead(rows.baseline, "before"), sideHead(rows.candidate, "after"));
  if (!baseline || !candidate) {
    const missing = [rows.baseline, rows.candidate].filter((one) => !traces[one.side]);
    return [bar, title, heads, ...missing.map((one) => (one.verdict === NOT_RUN ? notRun(one) : leftOut(one)))];
  }
  // Numbers of the trial in the address link to its events here; those of its partner link to the partner's page.
  const inPair = (side) => side === row.side || row.other.other === row;
  const link = (side) => (place) => linkTo(rows[side], { w: inPair(side) ? "1" : "", e: String(place + 1) });
  const column = (side) => ({ trace: traces[side], link: link(side), named: side === row.side, isAfter: side === "candidate" });
  const pairs = aligned(baseline.entries, candidate.entries).map(({ a, b }) => ({ baseline: a, candidate: b }));
  const itemOf = (place) => pairs.findIndex((pair) => pair[row.side] === place);
  const onlyChanged = el("input", { type: "checkbox", id: "changed-only", checked: true });
  const list = el("ol", { class: "pairs changed-only" });
  onlyChanged.addEventListener("change", () => list.classList.toggle("changed-only", onlyChanged.checked));
  return [
    bar,
    title,
    heads,
    checkChanges(baseline, candidate, link("candidate")),
    skillChanges(),
    el("h2", {}, "Sessions ", el("label", {}, onlyChanged, " only differences")),
    fillLong(list, pairs.length, (at) => pairView(pairs[at], column("baseline"), column("candidate")), eventOf(route), itemOf),
  ];
}

function sideHead(row, when) {
  return el("div", {}, el("small", {}, when + " · run ", shown(row.run), " · ", shown(row.mode)), el("div", {}, badge(row.verdict), " ", row.ms !== undefined && duration(row.ms), row.tokens !== undefined && " · " + count(row.tokens) + " tokens"));
}

/** Checks whose status differs. */
function checkChanges(baseline, candidate, link) {
  const key = (check) => check.id + "\n" + check.expected;
  const before = new Map(baseline.checks.map((check) => [key(check), check]));
  const after = new Set(candidate.checks.map(key));
  const status = (check) => (check ? badge(check.status) : el("span", { class: "off" }, "not checked"));
  const line = (from, to) => {
    const name = to ? checkName(to, link) : el("b", {}, shown(from.id));
    return el("li", {}, status(from), " → ", status(to), " ", name, el("p", {}, shown((to || from).found)));
  };
  const moved = candidate.checks.filter((check) => before.has(key(check)) && before.get(key(check)).status !== check.status);
  const gone = baseline.checks.filter((check) => !after.has(key(check)));
  const added = candidate.checks.filter((check) => !before.has(key(check)));
  const lines = [...moved.map((check) => line(before.get(key(check)), check)), ...gone.map((check) => line(check)), ...added.map((check) => line(undefined, check))];
  return el("section", {}, el("h2", {}, "Checks"), lines.length ? el("ul", { class: "checks" }, lines) : el("p", {}, "All checks have the same result."));
}

/** A pair of events; one of them may be missing. */
function pairView(pair, baseline, candidate) {
  const [x, y] = [baseline.trace.entries[pair.baseline], candidate.trace.entries[pair.candidate]];
  const same = x && y && textOf(x) === textOf(y) && outputOf(x) === outputOf(y);
  return el("li", { class: "pair" + (same ? " same" : "") }, sideView(baseline, x, pair.baseline, y), sideView(candidate, y, pair.candidate, x));
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
    comparedOutput(entry, other, side.isAfter),
  );
}

function comparedOutput(entry, other, isAfter) {
  const output = outputOf(entry);
  if (!output.trim()) return null;
  return el("details", { open: Boolean(other) && outputOf(other) !== output }, el("summary", {}, "output"), compared(output, other && outputOf(other), isAfter));
}

/** A text with marks on the words that the other text lacks: deleted before, inserted after. */
function compared(text, other, isAfter) {
  if (other === undefined || other === text) return el("div", { class: "prose" }, shown(text));
  const pieces = isAfter ? wordDiff(other, text) : wordDiff(text, other);
  const own = pieces.filter((piece) => piece.kind === "same" || piece.kind === (isAfter ? "new" : "gone"));
  return el("div", { class: "prose" }, own.map((piece) => (piece.kind === "same" ? shown(piece.text) : el(isAfter ? "ins" : "del", {}, shown(piece.text)))));
}

/** The differences of the skills' texts between the runs. */
function skillChanges() {
  const element = document.getElementById("skills");
  const skills = element ? JSON.parse(element.textContent) : [];
  if (!skills.length) return null;
  const one = ({ skill, before, after }) => {
    const change = before === "" ? "new" : after === "" ? "deleted" : "changed";
    const words = wordDiff(before, after).map((piece) => (piece.kind === "same" ? shown(piece.text) : el(piece.kind === "new" ? "ins" : "del", {}, shown(piece.text))));
    return el("details", {}, el("summary", {}, el("code", {}, shown(skill)), " ", el("small", {}, change)), el("pre", { class: "words", tabindex: "0" }, words));
  };
  return el("section", {}, el("h2", {}, "Changed skills"), skills.map(one));
}
