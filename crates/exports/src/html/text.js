// Formats text. Pure.

/** Milliseconds as `320 ms`, `4.2 s` or `3:05`. */
function duration(ms) {
  if (ms < 1000) return Math.round(ms) + " ms";
  if (ms < 60000) return (ms / 1000).toFixed(1) + " s";
  const seconds = Math.round(ms / 1000);
  return Math.floor(seconds / 60) + ":" + String(seconds % 60).padStart(2, "0");
}

/** A count with a narrow space between thousands. */
function count(number) {
  return String(number).replace(/\B(?=(\d{3})+$)/g, "\u202f");
}

/** US dollars; small amounts have more decimals. */
function dollars(amount) {
  return "$" + (amount >= 0.1 ? amount.toFixed(2) : amount.toFixed(4));
}

/** `21:04:46` of an RFC 3339 time. */
function clock(time) {
  const found = /T(\d\d:\d\d:\d\d)/.exec(time || "");
  return found ? found[1] : "";
}

/** Characters that are invisible or change the direction of the text after them. */
const HIDDEN = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060\u2066-\u2069\ufeff]/g;

/** `text` in pieces: visible text, and hidden characters as numbers. */
function visible(text) {
  const pieces = [];
  let from = 0;
  for (const found of text.matchAll(HIDDEN)) {
    if (found.index > from) pieces.push({ text: text.slice(from, found.index) });
    const number = found[0].codePointAt(0).toString(16).padStart(4, "0");
    pieces.push({ text: "U+" + number.toUpperCase(), hidden: true });
    from = found.index + found[0].length;
  }
  if (from < text.length || !pieces.length) pieces.push({ text: text.slice(from) });
  return pieces;
}

/** `text` in pieces that are inside `ranges` ({from, to}), or `lit`, and outside. Ranges may overlap. */
function lit(text, ranges) {
  const edges = new Set([0, text.length]);
  for (const { from, to } of ranges) {
    edges.add(Math.min(Math.max(from, 0), text.length));
    edges.add(Math.min(Math.max(to, 0), text.length));
  }
  const places = [...edges].sort((a, b) => a - b);
  const pieces = [];
  for (let at = 0; at + 1 < places.length; at++) {
    const [from, to] = [places[at], places[at + 1]];
    const is = ranges.some((range) => range.from <= from && range.to >= to && range.to > range.from);
    const last = pieces[pieces.length - 1];
    if (last && last.lit === is) last.text += text.slice(from, to);
    else pieces.push({ text: text.slice(from, to), lit: is });
  }
  return pieces.length ? pieces : [{ text: "", lit: false }];
}

/**
 * JSON on several lines with its marked pieces, as [text, pieces]: the pieces stay on the characters that they mark. Spaces are
 * added between tokens only, so every token is as the agent wrote it. Another text is unchanged.
 */
function pretty(text, pieces) {
  try {
    JSON.parse(text);
  } catch {
    return [text, pieces];
  }
  let [spread, depth, before] = ["", 0, ""];
  // Each token's place in `text`, its end there, and its place in `spread`.
  const places = [...text.matchAll(/"(?:[^"\\]|\\.)*"|[[\]{},:]|[^\s[\]{},:"]+/g)].map(({ 0: token, index }) => {
    const [opened, closes] = [/^[[{]$/.test(before), /^[\]}]$/.test(token)];
    if (opened) depth++;
    if (closes) depth--;
    if (before === ":") spread += " ";
    else if (before === "," || opened !== closes) spread += "\n" + "  ".repeat(depth);
    before = token;
    spread += token;
    return { from: index, to: index + token.length, at: spread.length - token.length };
  });
  return [spread, pieces.flatMap((piece) => moved(piece, places))];
}

/** A piece of a text after its tokens moved; none if it has no token. */
function moved(piece, places) {
  const own = places.filter(({ from, to }) => from < piece.to && to > piece.from);
  if (!own.length) return [];
  const [first, last] = [own[0], own[own.length - 1]];
  return [{ from: first.at + Math.max(piece.from - first.from, 0), to: last.at + Math.min(piece.to, last.to) - last.from }];
}

/** The first line of `text`, cut to `most` characters. */
function firstLine(text, most) {
  const line = text.trim().split("\n", 1)[0];
  return line.length > most || line.length < text.trim().length ? line.slice(0, most) + " …" : line;
}

/** Whether a text in this value has `wanted`, in lower case. Keys and the page's own words do not count. */
function holdsText(value, wanted) {
  if (typeof value === "string") return value.toLowerCase().includes(wanted);
  if (value === null || typeof value !== "object") return false;
  return Object.entries(value).some(([key, inner]) => key !== "kind" && key !== "status" && holdsText(inner, wanted));
}
