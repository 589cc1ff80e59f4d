// Two trials next to each other, event by event, with their texts compared by words.

/** The page of a trial next to its partner. `traces` has the sessions of the `baseline` and the `candidate`. */
function pairPage(row, traces, route, neighbors) {
  const { baseline, candidate } = traces;
  const rows = { [row.side]: row, [row.other.side]: row.other };
  const bar = trialBar(row, traces[row.side], route, neighbors);
  const title = el("h1", { tabindex: "-1" }, shown(row.skill + "/" + row.case), el("small", {}, " repeat " + row.n));
  const heads = el("div", { class: "pair heads" }, sideHead(rows.baseline), sideHead(rows.candidate));
  if (!baseline || !candidate) {
    const missing = [rows.baseline, rows.candidate].filter((one) => !traces[one.side]);
    return [bar, title, heads, ...missing.map((one) => (one.verdict === NOT_RUN ? notRun(one) : leftOut(one)))];
  }
  // Numbers of the trial in the address link to its events here; those of its partner link to the partner's page.
  const inPair = (side) => side === row.side || row.other.other === row;
  const link = (side) => (place) => linkTo(rows[side], { w: inPair(side) ? "1" : "", e: String(place + 1) });
  const column = (side) => ({ trace: traces[side], link: link(side), named: side === row.side, isAfter: side === "candidate", label: sideName(rows[side]) });
  const pairs = aligned(baseline.entries, candidate.entries).map(({ a, b }) => ({ baseline: a, candidate: b }));
  const itemOf = (place) => pairs.findIndex((pair) => pair[row.side] === place);
  const onlyChanged = el("input", { type: "checkbox", id: "changed-only", checked: true });
  const list = el("ol", { class: "pairs changed-only" });
  onlyChanged.addEventListener("change", () => list.classList.toggle("changed-only", onlyChanged.checked));
  return [
    bar,
    title,
    heads,
    checkPairs(baseline, candidate, link, { baseline: sideName(rows.baseline), candidate: sideName(rows.candidate) }),
    el("h2", {}, "Sessions ", el("label", {}, onlyChanged, " only differences")),
    fillLong(list, pairs.length, (at) => pairView(pairs[at], column("baseline"), column("candidate")), eventOf(route), itemOf),
  ];
}

function sideHead(row) {
  return el("div", {}, el("small", {}, shown(sideName(row)), " · ", shown(modeOf(row))), el("div", {}, badge(row.verdict), " ", row.ms !== undefined && duration(row.ms), row.tokens !== undefined && " · " + count(row.tokens) + " tokens"));
}

/** The checks: what each expects, and what it found on both sides. Those that differ are first; those that passed on both are folded. */
function checkPairs(baseline, candidate, link, names) {
  const key = (check) => check.id + "\n" + check.expected;
  const after = new Map(candidate.checks.map((check) => [key(check), check]));
  const before = new Set(baseline.checks.map(key));
  const pairs = [...baseline.checks.map((check) => [check, after.get(key(check))]), ...candidate.checks.filter((check) => !before.has(key(check))).map((check) => [undefined, check])];
  const half = (check, side) => el("div", { "data-side": names[side] }, check ? [badge(check.status), " ", shown(firstLine(check.found, 300)), check.entry !== undefined && [" ", el("a", { class: "to-event", href: link(side)(check.entry) }, "event " + (check.entry + 1))]] : el("span", { class: "off" }, "not checked"));
  const item = ([x, y]) => {
    const check = y || x;
    return el("li", { class: "check " + (x && y && x.status === y.status ? x.status : "fail") }, el("div", {}, el("b", {}, shown(check.id)), el("small", {}, " " + check.about)), el("p", {}, "expected: ", shown(firstLine(check.expected, 300))), el("div", { class: "pair" }, half(x, "baseline"), half(y, "candidate")));
  };
  const differs = ([x, y]) => !x || !y || x.status !== y.status;
  const passed = pairs.filter((pair) => !differs(pair) && pair[0].status === "pass");
  const others = [...pairs.filter(differs), ...pairs.filter((pair) => !differs(pair) && !passed.includes(pair))];
  return el("section", {}, el("h2", {}, "Checks"), !pairs.some(differs) && el("p", {}, "All checks have the same result."), el("ul", { class: "checks" }, others.map(item)), passed.length > 0 && el("details", {}, el("summary", {}, passed.length + " passed on both sides"), el("ul", { class: "checks" }, passed.map(item))));
}

/** A pair of events; one of them may be missing. */
function pairView(pair, baseline, candidate) {
  const [x, y] = [baseline.trace.entries[pair.baseline], candidate.trace.entries[pair.candidate]];
  const same = x && y && textOf(x) === textOf(y) && outputOf(x) === outputOf(y);
  return el("li", { class: "pair" + (same ? " same" : "") }, sideView(baseline, x, pair.baseline, y), sideView(candidate, y, pair.candidate, x));
}

function sideView(side, entry, at, other) {
  if (!entry) return el("div", { class: "side none", "data-side": side.label }, "–");
  const number = el("a", { class: "number", href: side.link(at), "aria-label": side.label + ", event " + (at + 1) }, String(at + 1));
  const output = outputOf(entry);
  return el(
    "div",
    { class: "side", "data-side": side.label, id: side.named && "e" + (at + 1), tabindex: side.named && "-1" },
    el("div", { class: "event-head" }, number, el("span", { class: "kind" }, nameOf(entry)), entry.kind === "command" && exitView(entry)),
    compared(textOf(entry), other && textOf(other), side.isAfter) || plainView(entry, (side.trace.answers || {})[at]),
    output.trim() && el("details", { open: Boolean(other) && outputOf(other) !== output }, el("summary", {}, "output"), compared(output, other && outputOf(other), side.isAfter) || el("div", { class: "prose" }, shown(output))),
  );
}

function plainView(entry, nodes) {
  return nodes ? el("div", { class: "prose rich", dir: "auto" }, nodes.map((node) => proseView(node, []))) : el("div", { class: "prose", dir: "auto" }, shown(textOf(entry)));
}

/** Longer texts are only compared if they have half of their words in common. */
const LONG = 400;

/** A text with marks on the words that the other text lacks; none if they are equal or too different. Long equal parts are cut. */
function compared(text, other, isAfter) {
  if (other === undefined || other === text) return null;
  const pieces = isAfter ? wordDiff(other, text) : wordDiff(text, other);
  const common = pieces.reduce((sum, piece) => sum + (piece.kind === "same" ? piece.text.length : 0), 0);
  if (Math.max(text.length, other.length) > LONG && common * 2 < Math.min(text.length, other.length)) return null;
  const same = (text) => {
    const lines = text.split("\n");
    const left = lines.length - 2 * AROUND;
    return left < SHORT ? shown(text) : [shown(lines.slice(0, AROUND).join("\n") + "\n"), skippedLines(left), shown(lines.slice(-AROUND).join("\n"))];
  };
  const own = pieces.filter((piece) => piece.kind === "same" || piece.kind === (isAfter ? "new" : "gone"));
  return el("div", { class: "prose" }, own.map((piece) => (piece.kind === "same" ? same(piece.text) : el(isAfter ? "ins" : "del", {}, shown(piece.text)))));
}
