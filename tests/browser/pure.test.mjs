// The page's scripts that touch no document, by node's own test runner.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { runInNewContext } from "node:vm";

const folder = new URL("../../src/report/html/", import.meta.url);
const scripts = ["text.js", "diff.js", "route.js", "rows.js", "align.js"];
const source = scripts.map((name) => readFileSync(new URL(name, folder), "utf8")).join("\n");
const names = [...source.matchAll(/^function (\w+)/gm)].map((found) => found[1]);
const page = runInNewContext('"use strict";' + source + ";({" + names.join(",") + "})");
/** Values of the page's own realm as this one's. */
const own = (value) => JSON.parse(JSON.stringify(value));

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
  compares: true,
  names: ["s", "c", "d", "m", "must-include"],
  rows: [
    { run: 0, skill: 0, case: 1, mode: 3, n: 1, verdict: "pass", failed: [], unknown: [], ms: 10, tokens: 5, answer: "x", calls: "y", kept: true },
    { run: 0, skill: 0, case: 1, mode: 3, n: 2, verdict: "fail", failed: [4], unknown: [], ms: 30, answer: "z", calls: "y", kept: true },
    { run: 0, skill: 0, case: 2, mode: 3, n: 1, verdict: "error", failed: [], unknown: [4], ms: 20, kept: false, why: "rate limit" },
    { run: 1, before: 3, skill: 0, case: 1, mode: 3, n: 1, verdict: "pass", failed: [], unknown: [], ms: 10, answer: "x", calls: "y", kept: true },
    { run: 1, before: 3, skill: 0, case: 1, mode: 3, n: 2, verdict: "pass", failed: [], unknown: [], ms: 10, answer: "x", calls: "y", kept: true },
  ],
};

test("repeats are one group with its share, and what measured nothing is in no share", () => {
  const groups = own(page.selected(page.rowsOf(index), {}));
  assert.deepEqual(groups.map((group) => [group.case, group.passed, group.measured, group.share, group.flaky]), [
    ["c", 1, 2, 0.5, true],
    ["d", 0, 0, null, false],
  ]);
  assert.deepEqual(groups[0].failed, [["must-include", 1]]);
});

test("filters leave what they name", () => {
  const cases = (filters, found) => own(page.selected(page.rowsOf(index), filters, found)).map((group) => group.case);
  assert.deepEqual(cases({ verdict: "error" }), ["d"]);
  assert.deepEqual(cases({ check: "must-include" }), ["c", "d"]);
  assert.deepEqual(cases({ q: "RATE" }), ["d"]);
  assert.deepEqual(cases({ q: "nowhere" }), []);
  assert.deepEqual(cases({ q: "nowhere" }, new Set([0])), ["c"]);
  assert.deepEqual(cases({ sort: "slowest" }), ["c", "d"]);
  assert.deepEqual(cases({ differs: "1" }), ["c", "d"]);
});

test("sessions are aligned by what their events are", () => {
  const entry = (kind, more) => ({ kind, ...more });
  const a = [entry("prompt"), entry("command", { command: "cat x" }), entry("said", { text: "1", answer: true })];
  const b = [entry("prompt"), entry("thought"), entry("command", { command: "cat y" }), entry("said", { text: "2", answer: true })];
  assert.deepEqual(own(page.aligned(a, b)), [{ a: 0, b: 0 }, { b: 1 }, { a: 1, b: 2 }, { a: 2, b: 3 }]);
});
