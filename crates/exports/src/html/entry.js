// One event of a session.

/** An output with more lines is folded. */
const SHORT = 12;

/** The names of the kinds of events. */
const KINDS = {
  system: "System prompt",
  history: "History",
  prompt: "Prompt",
  offered: "Skills offered",
  injected: "Skill put into the conversation",
  said: "Agent",
  thought: "Thinking",
  command: "Command",
  tool: "Tool",
  files: "Files written",
  notice: "Notice",
  end: "End",
};

/** How a skill activated. */
const MECHANISMS = { injected: "injected", "read-skill-file": "read SKILL.md", "skill-tool": "skill tool", "mcp-tool": "MCP tool" };

function nameOf(entry) {
  if (entry.kind === "history") return "History · " + entry.role;
  return entry.kind === "said" && entry.answer ? "Answer" : KINDS[entry.kind] || entry.kind;
}

/**
 * An event with its number, its own address, and the pieces that decided checks: [{ part, from, to }]. `nodes` is a final
 * message as prose.rs reads it.
 */
function entryView(entry, number, pieces, link, nodes) {
  const of = (part) => pieces.filter((piece) => piece.part === part);
  const depth = Math.min(entry.depth || 0, 4);
  const name = nameOf(entry);
  const head = el(
    "div",
    { class: "event-head" },
    el("a", { class: "number", href: link, "aria-label": "event " + number }, String(number)),
    el("span", { class: "kind" }, (depth ? "Sub-agent · " : "") + name),
    entry.kind === "tool" && el("code", {}, shown(entry.name, of("name"))),
    entry.kind === "command" && exitView(entry),
    entry.failed && badge("fail"),
    (entry.marks || []).map(markView),
    el("span", { class: "aside" }, timesView(entry)),
  );
  const classes = ["event", entry.kind, depth && "depth" + depth, entry.answer && "answer", pieces.length && "evidence"];
  return el(
    "li",
    { id: "e" + number, class: classes.filter(Boolean).join(" "), tabindex: "-1", "aria-label": number + ": " + name },
    entry.gap_ms > 10000 && el("p", { class: "gap" }, duration(entry.gap_ms) + " later"),
    head,
    nodes ? [el("div", { class: "prose rich", dir: "auto" }, nodes.map((node) => proseView(node, of("text")))), fold("output", entry.text, [], "As written", false)] : bodyView(entry, of),
  );
}

/** A node of a message. The tags are those of prose.rs, never the agent's. */
function proseView([tag, ...parts], pieces) {
  if (typeof tag === "number") return shown(parts[0], pieces.map(({ from, to }) => ({ from: from - tag, to: to - tag })));
  const start = tag === "ol" ? parts.shift() : undefined;
  const element = el(tag, { start, tabindex: tag === "pre" && "0" }, parts.map((part) => proseView(part, pieces)));
  return tag === "table" ? el("div", { class: "wide", role: "group", "aria-label": "Table", tabindex: "0" }, element) : element;
}

function bodyView(entry, of) {
  const paragraph = (text, pieces) => el("div", { class: "prose", dir: "auto" }, shown(text, pieces));
  switch (entry.kind) {
    case "thought":
      return fold("thought", entry.text, of("text"), firstLine(entry.text, 90), false);
    case "command":
      return [block(entry.command, of("input"), "input"), outputView(entry.output, of("output"))];
    case "tool":
      return [
        fold("input", ...pretty(entry.input, of("input")), firstLine(entry.input, 90), entry.input.length < 200),
        outputView(entry.output, of("output")),
      ];
    case "files":
      return el("ul", { class: "paths" }, entry.paths.map((path, at) => el("li", {}, el("code", {}, shown(path, of("path" + at))))));
    case "offered":
      return el(
        "p",
        { class: "names" },
        entry.native.length || entry.mcp.length
          ? [...entry.native, ...entry.mcp].map((name) => [el("code", {}, shown(name)), " "])
          : "none",
      );
    case "injected":
      return el("p", {}, el("code", {}, shown(entry.skill, of("name"))));
    default:
      return paragraph(entry.text, of("text"));
  }
}

function exitView(entry) {
  if (entry.exit === null || entry.exit === undefined) return el("span", { class: "exit fail" }, "no exit status");
  return el("span", { class: "exit " + (entry.exit === 0 ? "pass" : "fail") }, "exit " + entry.exit);
}

function block(text, pieces, kind) {
  return el("pre", { class: kind, tabindex: "0" }, shown(text, pieces));
}

/** A text folded to its first line. */
function fold(kind, text, pieces, summary, open) {
  if (!text.trim()) return null;
  return el("details", { open: open || pieces.length > 0 }, el("summary", {}, shownLine(summary)), block(text, pieces, kind));
}

/** An output; a long one is folded. */
function outputView(output, pieces) {
  const text = (output || "").replace(/\s+$/, "");
  if (!text) return null;
  const lines = text.split("\n");
  if (lines.length <= SHORT && text.length < 1500) return block(text, pieces, "output");
  const about = count(lines.length) + (lines.length === 1 ? " line" : " lines");
  return fold("output", text, pieces, "Output, " + about + ": " + firstLine(text, 80), false);
}

function markView(mark) {
  const share = mark.seen === null || mark.seen === undefined ? "" : ", " + Math.round(mark.seen * 100) + " % of it seen";
  switch (mark.note) {
    case "loaded":
      return el("span", { class: "mark loaded" + (mark.under_test ? " under-test" : "") }, "loaded ", shown(mark.skill), " (" + (MECHANISMS[mark.how] || mark.how) + share + ")");
    case "resource":
      return el("span", { class: "mark resource" }, "resource ", shown(mark.skill + "/" + mark.path), share);
    case "failed-load":
      return el("span", { class: "mark failed" }, "failed to load ", shown(mark.skill));
    case "denied":
      return el("span", { class: "mark failed" }, "not allowed");
    default:
      return el("span", { class: "mark" }, "inspected skills");
  }
}

function timesView(entry) {
  const tokens = entry.tokens && count(entry.tokens.read) + " tokens read" + (entry.tokens.written ? ", " + count(entry.tokens.written) + " written" : "");
  return [tokens, entry.took_ms && "took " + duration(entry.took_ms), clock(entry.time)].filter(Boolean).join(" · ");
}
