// Aligns the events of two sessions. Pure; uses diff.js.

/** An event without its texts: events of the same kind and tool can be aligned. */
function kindOf(entry) {
  if (entry.kind === "tool") return "tool " + entry.name;
  if (entry.kind === "command") return "command " + (entry.command.trim().split(/\s+/, 1)[0] || "");
  if (entry.kind === "said") return entry.answer ? "answer" : "said";
  return entry.kind;
}

/** Pairs of places in the two lists, [{ a, b }]. An event of only one session has no partner. */
function aligned(a, b) {
  const places = (entries) => entries.map((entry, at) => ({ at, depth: entry.depth || 0, kind: kindOf(entry) }));
  const same = (x, y) => x.kind === y.kind && x.depth === y.depth;
  return edits(places(a), places(b), same).map((edit) => ({ a: edit.a && edit.a.at, b: edit.b && edit.b.at }));
}

/** All texts of an event as one, to compare. */
function textOf(entry) {
  const parts = [entry.text, entry.command, entry.name, entry.input, entry.skill, ...(entry.paths || []), ...(entry.native || [])];
  return parts.filter((part) => part !== undefined).join("\n");
}

/** The output of an event. */
function outputOf(entry) {
  return entry.output || "";
}
