// The page's scripts that touch no document, by node's own test runner.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { runInNewContext } from "node:vm";

const folder = new URL("../../crates/exports/src/html/", import.meta.url);
const scripts = ["text.js", "diff.js", "route.js", "rows.js", "align.js"];
const source = scripts.map((name) => readFileSync(new URL(name, folder), "utf8")).join("\n");
const names = [...source.matchAll(/^function (\w+)/gm)].map((found) => found[1]);
const page = runInNewContext('"use strict";' + source + ";({" + names.join(",") + "})");
/** Values of the page's own realm as this one's; trials that stand beside each other would have no end. */
const own = (value) => JSON.parse(JSON.stringify(value, (key, value) => (key === "other" ? undefined : value)));

test("amounts read as people write them", () => {
  assert.deepEqual([320, 4210, 185000].map(page.duration), ["320 ms", "4.2 s", "3:05"]);
  assert.deepEqual([7, 1234, 1234567].map(page.count), ["7", "1\u202f234", "1\u202f234\u202f567"]);
  assert.deepEqual([0.5, 0.0123].map(page.dollars), ["$0.50", "$0.0123"]);
  assert.deepEqual(["2026-01-01T21:04:46.559Z", "", undefined].map(page.clock), ["21:04:46", "", ""]);
});

test("a search looks into texts, not into the keys that they stand under", () => {
  const session = { entries: [{ kind: "command", command: "make Tea", at: 1 }], metrics: null };
  assert.deepEqual(["tea", "metrics", "kind", "1"].map((text) => page.holdsText(session, text)), [true, false, false, false]);
});

test("hidden characters are told by their numbers, and nothing else changes", () => {
  assert.deepEqual(own(page.visible("a\u202eb\0")), [{ text: "a" }, { text: "U+202E", hidden: true }, { text: "b" }, { text: "U+0000", hidden: true }]);
  assert.deepEqual(own(page.visible("é\n\t🎉")), [{ text: "é\n\t🎉" }]);
  assert.deepEqual(own(page.visible("")), [{ text: "" }]);
});

test("ranges are marked, also where they overlap or reach too far", () => {
  const pieces = page.lit("abcdef", [{ from: 1, to: 3 }, { from: 2, to: 4 }, { from: 5, to: 99 }]);
  assert.deepEqual(own(pieces), [{ text: "a", lit: false }, { text: "bcd", lit: true }, { text: "e", lit: false }, { text: "f", lit: true }]);
  assert.deepEqual(own(page.lit("", [])), [{ text: "", lit: false }]);
});

test("json is spread over lines, and a mark stays on its words", () => {
  const value = { skill: "greet, {é}", list: [1, [], {}, { a: null, b: "\\\"[" }], empty: "" };
  const text = JSON.stringify(value);
  assert.deepEqual(own(page.pretty(text, [])), [JSON.stringify(value, null, 2), []]);
  const marked = (text, from, to) => {
    const [spread, pieces] = page.pretty(text, [{ from, to }]);
    return pieces.map((piece) => spread.slice(piece.from, piece.to));
  };
  for (const word of ["greet", "{é}", '"list"', "null", '\\\\\\"[']) {
    const from = text.indexOf(word);
    assert.deepEqual(own(marked(text, from, from + word.length)), [word]);
  }
  assert.deepEqual(own(marked(text, 0, text.length)), [JSON.stringify(value, null, 2)]);
  assert.deepEqual(own(marked('[1,  2]', 2, 7)), [",\n  2\n]"]);
  assert.deepEqual(own(page.pretty("no {json", [{ from: 3, to: 8 }])), ["no {json", [{ from: 3, to: 8 }]]);
});

test("an edit turns one list into the other, and is the shortest", () => {
  const random = (seed) => () => (seed = (seed * 16807) % 2147483647) / 2147483647;
  const next = random(7);
  for (let round = 0; round < 300; round++) {
    const list = () => Array.from({ length: Math.floor(next() * 12) }, () => "abc"[Math.floor(next() * 3)]);
    const [a, b] = [list(), list()];
    const all = own(page.edits(a, b));
    assert.deepEqual(all.filter((edit) => edit.kind !== "new").map((edit) => edit.a), a);
    assert.deepEqual(all.filter((edit) => edit.kind !== "gone").map((edit) => edit.b), b);
    assert.equal(all.filter((edit) => edit.kind === "same").length, longest(a, b), JSON.stringify([a, b]));
  }
});

/** The length of the longest common subsequence, by the book. */
function longest(a, b) {
  const table = Array.from({ length: a.length + 1 }, () => Array(b.length + 1).fill(0));
  for (let x = 1; x <= a.length; x++) {
    for (let y = 1; y <= b.length; y++) {
      table[x][y] = a[x - 1] === b[y - 1] ? table[x - 1][y - 1] + 1 : Math.max(table[x - 1][y], table[x][y - 1]);
    }
  }
  return table[a.length][b.length];
}

test("texts that differ throughout are told in no time", () => {
  const text = (word) => Array.from({ length: 20000 }, (_, at) => word + at).join(" ");
  const pieces = page.wordDiff(text("a"), text("b"));
  assert.ok(pieces.length >= 2);
});

test("words that follow each other are one change", () => {
  assert.deepEqual(own(page.wordDiff("We are late, Ada.", "We will be late, Ada.")), [
    { kind: "same", text: "We " },
    { kind: "gone", text: "are" },
    { kind: "new", text: "will be" },
    { kind: "same", text: " late, Ada." },
  ]);
  for (const [a, b] of [["one two  three", "two three four"], ["", "x y"], ["a b", ""], ["a b c", "a x c"]]) {
    const pieces = own(page.wordDiff(a, b));
    assert.equal(pieces.filter((piece) => piece.kind !== "new").map((piece) => piece.text).join(""), a);
    assert.equal(pieces.filter((piece) => piece.kind !== "gone").map((piece) => piece.text).join(""), b);
  }
});

test("an address is read back as it was written, and a broken one breaks nothing", () => {
  const route = { t: "a/b&c/d e/1", e: "3", q: "<#=&>", skill: "ü" };
  assert.deepEqual(own(page.readRoute(page.writeRoute(route))), route);
  assert.deepEqual(own(page.readRoute("#t=%E0%A4%A&x&=&e=1")), { "": "", e: "1" });
  assert.equal(page.writeRoute({}), "#");
});

const index = {
  runs: ["new", "old"],
  sides: ["main", "working tree"],
  not_run: [],
  names: ["s", "c", "d", "m", "must-include"],
  rows: [
    { run: 0, skill: 0, case: 1, mode: 3, n: 1, verdict: "pass", failed: [], unknown: [], ms: 10, tokens: 5, answer: "x", calls: "y", kept: true },
    { run: 0, skill: 0, case: 1, mode: 3, n: 2, verdict: "fail", failed: [4], unknown: [], ms: 30, answer: "z", calls: "y", kept: true },
    { run: 0, skill: 0, case: 2, mode: 3, n: 1, verdict: "error", failed: [4], unknown: [], ms: 20, kept: false, why: "rate limit" },
    { run: 1, before: 3, skill: 0, case: 1, mode: 3, n: 1, verdict: "pass", failed: [], unknown: [], ms: 10, answer: "x", calls: "y", kept: true },
    { run: 1, before: 3, skill: 0, case: 1, mode: 3, n: 2, verdict: "pass", failed: [], unknown: [], ms: 10, answer: "x", calls: "y", kept: true },
  ],
};

test("repeats are one group with its share, and what measured nothing is in no share", () => {
  const groups = own(page.selected(page.groupsOf(page.rowsOf(index)), {}));
  assert.deepEqual(groups.map((group) => [group.case, group.passed, group.measured, group.share, group.flaky]), [
    ["c", 1, 2, 0.5, true],
    ["d", 0, 0, null, false],
  ]);
  assert.deepEqual(groups.map((group) => group.failed), [[["must-include", 1]], []]);
});

test("filters leave what they name", () => {
  const cases = (filters, found) => own(page.selected(page.groupsOf(page.rowsOf(index)), filters, found)).map((group) => group.case);
  assert.deepEqual(cases({ verdict: "error" }), ["d"]);
  assert.deepEqual(cases({ check: "must-include" }), ["c", "d"]);
  assert.deepEqual(cases({ q: "RATE" }), ["d"]);
  assert.deepEqual(cases({ q: "nowhere" }), []);
  assert.deepEqual(cases({ q: "nowhere" }, new Set([0])), ["c"]);
  assert.deepEqual(cases({ sort: "slowest" }), ["c", "d"]);
  assert.deepEqual(cases({ differs: "1" }), ["c", "d"]);
});

test("a filter hides trials and changes no figure of a case", () => {
  const figures = (group) => [group.case, group.passed, group.measured, group.share, group.shareBefore, group.flaky, group.worst, group.ms, group.tokens, group.failed];
  const groups = page.groupsOf(page.rowsOf(index));
  const all = new Map(groups.map((group) => [group.case, own(figures(group))]));
  for (const filters of [{ verdict: "fail" }, { verdict: "pass" }, { verdict: "error" }, { check: "must-include" }, { q: "must" }, { run: "new" }, { case: "c" }, { differs: "1" }]) {
    const left = page.selected(groups, filters);
    assert.ok(left.length > 0, JSON.stringify(filters));
    for (const group of left) assert.deepEqual(own(figures(group)), all.get(group.case), JSON.stringify(filters));
  }
  assert.deepEqual(own(page.selected(groups, { verdict: "fail" }).map((group) => group.rows.map((row) => row.n))), [[2]]);
});

/** The rows of an index with these trials: [run, arm, case, repeat, verdict, answer]. */
function rowsWith(runs, trials, notRun = []) {
  const names = ["s", "m", ...trials.map((trial) => trial[2]), ...notRun.map((trial) => trial[2])];
  const row = ([run, arm, id, n, verdict, answer]) => ({ run, ...(arm === "a" ? { before: 1 } : {}), skill: 0, case: names.indexOf(id), mode: 1, n, verdict, failed: [], unknown: [], ms: 1, answer, calls: "", kept: true });
  const missing = (trial) => ({ ...row(trial), ms: undefined, why: "the run was stopped" });
  return page.rowsOf({ runs, sides: ["main", "working tree"], names, rows: trials.map(row), not_run: notRun.map(missing) });
}

test("another number of repeats is no difference by itself", () => {
  const rows = rowsWith(["new", "old"], [
    [0, "b", "more", 1, "pass", "x"], [0, "b", "more", 2, "pass", "y"], [1, "a", "more", 1, "pass", "x"],
    [0, "b", "later", 2, "pass", "y"], [1, "a", "later", 1, "pass", "x"], [1, "a", "later", 2, "pass", "y"],
    [0, "b", "worse", 1, "pass", "x"], [0, "b", "worse", 2, "fail", "x"], [1, "a", "worse", 1, "pass", "x"],
    [0, "b", "said", 1, "pass", "z"], [1, "a", "said", 1, "pass", "x"],
    [0, "b", "new", 1, "pass", "x"],
  ], [[0, "b", "more", 3], [1, "a", "more", 2]]);
  assert.deepEqual(own(page.selected(page.groupsOf(rows), { differs: "1", sort: "name" }).map((group) => group.case)), ["new", "said", "worse"]);
  // Another filter does not make a difference of what it leaves out.
  assert.deepEqual(own(page.selected(page.groupsOf(rows), { differs: "1", verdict: "pass", sort: "name" }).map((group) => group.case)), ["new", "said", "worse"]);
});

test("a trial stands beside the same repeat of the run at its own place", () => {
  const trials = [0, 1, 2, 3].flatMap((run) => [1, 2].map((n) => [run, run < 2 ? "b" : "a", "c", n, "pass", ""]));
  const rows = rowsWith(["one", "two", "x", "y"], trials);
  const beside = (rows) => own(rows.map((row) => (row.other ? row.other.run + "/" + row.other.n : null)));
  assert.deepEqual(beside(rows), ["x/1", "x/2", "y/1", "y/2", "one/1", "one/2", "two/1", "two/2"]);
  // Where there is only one run to stand beside, all do.
  assert.deepEqual(beside(rowsWith(["one", "two", "x"], trials.slice(0, 6))), ["x/1", "x/2", "x/1", "x/2", "one/1", "one/2"]);
  assert.deepEqual(beside(rowsWith(["one", "two", "x", "y"], trials.slice(0, 7))), ["x/1", "x/2", "y/1", null, "one/1", "one/2", "two/1"]);
});

test("runs of one name are told apart, and a name alone is enough where there is one run", () => {
  const rows = rowsWith(["r", "r"], [[0, "b", "c", 1, "pass", ""], [1, "b", "c", 1, "pass", ""]]);
  assert.deepEqual(own(rows.map((row) => row.ofRun)), ["r", "r (2)"]);
  assert.deepEqual(own(rowsWith(["r", "s"], [[0, "b", "c", 1, "pass", ""], [1, "a", "c", 1, "pass", ""]]).map((row) => row.ofRun)), ["", "s"]);
});

test("what was not run has a row with the reason, and is in no share and no time", () => {
  const rows = rowsWith(["r"], [[0, "b", "c", 1, "pass", ""]], [[0, "b", "c", 2], [0, "b", "d", 1]]);
  const groups = page.selected(page.groupsOf(rows), { sort: "name" });
  assert.deepEqual(own(groups.map((group) => [group.case, group.measured, group.ms, group.troubles])), [
    ["c", 1, 1, ["the run was stopped"]],
    ["d", 0, null, ["the run was stopped"]],
  ]);
  assert.deepEqual(own(page.selected(page.groupsOf(rows), { verdict: "not-run" }).map((group) => group.case)), ["c", "d"]);
});

test("an event is where its number says", () => {
  assert.deepEqual([{ e: "3" }, { e: "0" }, { e: "x" }, {}].map((route) => page.eventOf(route)), [2, -1, -1, -1]);
});

test("sessions are aligned by what their events are", () => {
  const entry = (kind, more) => ({ kind, ...more });
  const a = [entry("prompt"), entry("command", { command: "cat x" }), entry("said", { text: "1", answer: true })];
  const b = [entry("prompt"), entry("thought"), entry("command", { command: "cat y" }), entry("said", { text: "2", answer: true })];
  assert.deepEqual(own(page.aligned(a, b)), [{ a: 0, b: 0 }, { b: 1 }, { a: 1, b: 2 }, { a: 2, b: 3 }]);
});
