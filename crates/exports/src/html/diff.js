// The differences of two texts, by lines and by words. Pure.

/** With more edits than this, two texts have nothing in common. */
const MAX_EDITS = 600;

/**
 * The shortest edit from list `a` to list `b`, by Myers: [{ kind: "same" | "gone" | "new", a, b }] with the items `a` and
 * `b`. Beyond MAX_EDITS all of `a` is gone and all of `b` is new.
 */
function edits(a, b, same = (x, y) => x === y) {
  let start = 0;
  while (start < a.length && start < b.length && same(a[start], b[start])) start++;
  let endA = a.length;
  let endB = b.length;
  while (endA > start && endB > start && same(a[endA - 1], b[endB - 1])) {
    endA--;
    endB--;
  }
  const middle = shortest(a.slice(start, endA), b.slice(start, endB), same);
  const equal = (from, to, shift) => {
    const items = [];
    for (let at = from; at < to; at++) items.push({ kind: "same", a: a[at], b: b[at + shift] });
    return items;
  };
  return [...equal(0, start, 0), ...middle, ...equal(endA, a.length, endB - endA)];
}

function shortest(a, b, same) {
  const gone = (item) => ({ kind: "gone", a: item });
  const fresh = (item) => ({ kind: "new", b: item });
  if (!a.length || !b.length) return [...a.map(gone), ...b.map(fresh)];
  const most = Math.min(a.length + b.length, MAX_EDITS);
  const reach = new Map([[1, 0]]);
  const steps = [];
  for (let depth = 0; depth <= most; depth++) {
    steps.push(new Map(reach));
    for (let k = -depth; k <= depth; k += 2) {
      const down = k === -depth || (k !== depth && reach.get(k - 1) < reach.get(k + 1));
      let x = down ? reach.get(k + 1) : reach.get(k - 1) + 1;
      let y = x - k;
      while (x < a.length && y < b.length && same(a[x], b[y])) {
        x++;
        y++;
      }
      reach.set(k, x);
      if (x >= a.length && y >= b.length) return way(a, b, steps, depth);
    }
  }
  return [...a.map(gone), ...b.map(fresh)];
}

/** Follows the furthest reaching paths back to the start. */
function way(a, b, steps, depths) {
  const found = [];
  let x = a.length;
  let y = b.length;
  for (let depth = depths; depth > 0; depth--) {
    const reach = steps[depth];
    const k = x - y;
    const down = k === -depth || (k !== depth && reach.get(k - 1) < reach.get(k + 1));
    const before = down ? k + 1 : k - 1;
    const fromX = reach.get(before);
    const fromY = fromX - before;
    while (x > fromX && y > fromY) found.push({ kind: "same", a: a[--x], b: b[--y] });
    if (down) found.push({ kind: "new", b: b[--y] });
    else found.push({ kind: "gone", a: a[--x] });
  }
  while (x > 0) found.push({ kind: "same", a: a[--x], b: b[--y] });
  return found.reverse();
}

/** The words and the white space of a text: `["one", " ", "two"]`. */
function words(text) {
  return text.match(/\s+|[\p{L}\p{N}_]+|[^\s\p{L}\p{N}_]/gu) || [];
}

/** Two texts by words, in pieces of { kind, text }. A deletion is before the insertion that replaces it. */
function wordDiff(a, b) {
  const pieces = [];
  const add = (kind, text) => {
    const last = pieces[pieces.length - 1];
    if (last && last.kind === kind) last.text += text;
    else if (text) pieces.push({ kind, text });
  };
  let gone = "";
  let fresh = "";
  // White space between two changes belongs to both.
  let between = "";
  for (const edit of edits(words(a), words(b))) {
    const text = edit.kind === "new" ? edit.b : edit.a;
    if (edit.kind === "same" && (gone || fresh) && !between && text.trim() === "") {
      between = text;
      continue;
    }
    if (edit.kind !== "same") {
      gone += between;
      fresh += between;
      between = "";
      if (edit.kind === "gone") gone += text;
      else fresh += text;
      continue;
    }
    add("gone", gone);
    add("new", fresh);
    add("same", between + text);
    gone = fresh = between = "";
  }
  add("gone", gone);
  add("new", fresh);
  add("same", between);
  return pieces;
}

/** Two texts by lines, in pieces of { kind, text } of whole lines. */
function lineDiff(a, b) {
  const lines = (text) => (text === "" ? [] : text.replace(/\n$/, "").split("\n"));
  return edits(lines(a), lines(b)).map((edit) => ({ kind: edit.kind, text: edit.kind === "new" ? edit.b : edit.a }));
}
