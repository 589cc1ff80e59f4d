// A trial: its checks, session, files and judge.

/** The page of a trial. `route` is its address. */
function trialView(row, trace, route, neighbors) {
  // Events are numbered from 1, as in the terminal.
  const here = (place) => writeRoute({ ...route, e: String(place + 1) });
  const pieces = new Map();
  for (const check of trace ? trace.checks : []) {
    for (const piece of check.pieces || []) {
      if (!pieces.has(piece.entry)) pieces.set(piece.entry, []);
      pieces.get(piece.entry).push(piece);
    }
  }
  const head = [trialBar(row, trace, route, neighbors), trialHead(row, trace)];
  if (!trace) return [...head, row.verdict === NOT_RUN ? notRun(row) : leftOut(row)];
  const event = (at) => entryView(trace.entries[at], at + 1, pieces.get(at) || [], here(at), trace.answers && trace.answers[at]);
  return [
    ...head,
    el(
      "div",
      { class: "columns" },
      el("aside", { "aria-label": "Checks" }, checksView(trace, here), commandsView(trace), factsView(trace)),
      el(
        "div",
        { class: "session" },
        el("h2", {}, "Session ", foldAll()),
        fillLong(el("ol", { class: "events" }), trace.entries.length, event, eventOf(route)),
        trace.dropped > 0 && el("p", { class: "note" }, "… and " + count(trace.dropped) + " more events: see trace.jsonl in the trial's directory."),
        filesView(trace.files),
        judgeView(trace.judge),
      ),
    ),
  ];
}

function trialBar(row, trace, route, { before, after, compare }) {
  const link = (to, label, key) => (to ? el("a", { href: to, rel: key }, label) : el("span", { class: "off" }, label));
  const name = idOf(row) + (row.ofRun && "-" + row.ofRun);
  return el(
    "nav",
    { class: "bar", "aria-label": "Trial" },
    el("a", { href: writeRoute(filtersOf(route)), rel: "up" }, "← All trials"),
    link(before, "Previous", "prev"),
    link(after, "Next", "next"),
    compare && el("a", { href: compare.link, rel: "compare" }, compare.label),
    el("span", { class: "space" }),
    keysButton(),
    trace && copyButton("Copy", () => trialText(row, trace), "the trial"),
    trace && el("button", { type: "button", class: "quiet", onclick: () => download(name + ".json", "application/json", JSON.stringify(trace, null, 2)) }, "Download"),
  );
}

function trialHead(row, trace) {
  return el(
    "header",
    { class: "trial-head" },
    el("h1", { tabindex: "-1" }, badge(row.verdict), " ", shown(row.skill + "/" + row.case), el("small", {}, " ", shown(modeOf(row)), " · repeat " + row.n, row.other && row.other.run === row.run && [" · ", shown(sideOf(row))], row.ofRun && [" · run ", shown(row.ofRun)])),
    trace && trace.trouble && el("p", { class: "note" }, el("b", {}, row.verdict === "error" ? "Nothing was measured: " : "Not judged: "), shown(trace.trouble)),
    trace && trace.scripted && el("p", { class: "note scripted" }, el("b", {}, "Note: "), shown(trace.scripted)),
  );
}

/** The mode; without the commit that tells the sides of a comparison apart. */
function modeOf(row) {
  return row.mode.startsWith(row.inMode + ".") ? row.inMode : row.mode;
}

function notRun(row) {
  return el("p", { class: "note" }, "This trial was not run: ", shown(row.why), ".");
}

function leftOut(row) {
  const command = "skill-evals show " + idOf(row) + " --run " + row.run;
  return el("p", { class: "note" }, "The session of this trial was left out to keep this file small. To see it, run ", el("code", {}, shown(command)), ". ", copyButton("Copy", command, "the command"));
}

const ORDER = ["fail", "unknown", "pass"];

/** The checks, failed ones first, each with a link to the event that decided it. */
function checksView(trace, here) {
  const checks = [...trace.checks].sort((a, b) => ORDER.indexOf(a.status) - ORDER.indexOf(b.status));
  const passed = checks.filter((check) => check.status === "pass");
  // Checks with the same name are told apart by what they expect.
  const isRepeated = (check) => checks.filter((other) => other.id === check.id).length > 1;
  const item = (check) =>
    el(
      "li",
      { class: "check " + check.status },
      el("div", {}, badge(check.status), " ", checkName(check, here), el("small", {}, " " + check.about)),
      check.status !== "pass" && el("dl", {}, el("dt", {}, "expected"), el("dd", {}, shown(check.expected)), el("dt", {}, "found"), el("dd", {}, shown(check.found))),
      check.status === "pass" && el("p", {}, isRepeated(check) && [shown(firstLine(check.expected, 120)), ": "], shown(firstLine(check.found, 120))),
    );
  const others = checks.filter((check) => check.status !== "pass");
  return el(
    "section",
    {},
    el("h2", {}, "Checks"),
    others.length > 0 && el("ul", { class: "checks" }, others.map(item)),
    passed.length > 0 && el("details", { open: !others.length }, el("summary", {}, passed.length + " passed"), el("ul", { class: "checks" }, passed.map(item))),
    !checks.length && el("p", {}, "No checks."),
  );
}

/** The name of a check, with a link to the event that decided it. */
function checkName(check, here) {
  return check.entry === undefined ? el("b", {}, shown(check.id)) : el("a", { href: here(check.entry), class: "to-event" }, shown(check.id));
}

function commandsView(trace) {
  const line = ([what, command]) => el("li", {}, el("span", {}, what), el("code", {}, shown(command)), copyButton("Copy", command, "the command"));
  return el("section", { class: "later" }, el("h2", {}, "Commands"), el("ul", { class: "commands" }, trace.commands.map(line)));
}

function factsView(trace) {
  const { metrics } = trace;
  // A trial that ended early has lower bounds.
  const least = metrics.settled ? "≥ " : "";
  const usage = metrics.usage || (metrics.settled && metrics.usage_at_least);
  const facts = [...trace.facts, ["time", least + duration(metrics.duration_ms)], ["commands", least + metrics.commands + ", " + metrics.effective_commands + " effective"]];
  if (usage) facts.push(["tokens", least + count(usage.input_tokens) + " read, " + count(usage.output_tokens) + " written"]);
  if (metrics.usage && metrics.usage.cost_usd !== undefined) facts.push(["cost", dollars(metrics.usage.cost_usd)]);
  facts.push(["directory", trace.folder]);
  return el("section", { class: "later" }, el("h2", {}, "Facts"), el("dl", { class: "facts" }, facts.map(([name, value]) => [el("dt", {}, name), el("dd", {}, shown(String(value)))])));
}

function foldAll() {
  const all = (open) => {
    drawAll();
    document.querySelectorAll("#one details").forEach((details) => (details.open = open));
  };
  return [
    el("button", { type: "button", class: "quiet", onclick: () => all(true) }, "Unfold all"),
    el("button", { type: "button", class: "quiet", onclick: () => all(false) }, "Fold all"),
  ];
}

/** Lines that are shown around a change. */
const AROUND = 3;

function filesView(files) {
  if (!files.length) return null;
  const one = (file) =>
    el(
      "details",
      { open: files.length <= 5 },
      el("summary", {}, el("code", {}, shown(file.path)), " ", el("small", {}, count(file.size) + " bytes" + (file.before === undefined ? ", new" : ", changed"))),
      file.why ? el("p", { class: "note" }, "Not shown: ", shown(file.why)) : el("pre", { class: "diff", tabindex: "0" }, linesView(file.before || "", file.after || "")),
    );
  return el("section", { class: "files" }, el("h2", {}, "Files written"), files.map(one));
}

function linesView(before, after) {
  const lines = lineDiff(before, after);
  const near = (at) => lines.slice(Math.max(0, at - AROUND), at + AROUND + 1).some((line) => line.kind !== "same");
  const view = [];
  let skipped = 0;
  lines.forEach((line, at) => {
    if (!near(at)) {
      skipped++;
      return;
    }
    if (skipped) view.push(skippedLines(skipped));
    skipped = 0;
    view.push(lineView(line));
  });
  if (skipped) view.push(skippedLines(skipped));
  return view;
}

function skippedLines(number) {
  return el("span", { class: "skipped" }, "  … " + count(number) + " equal lines\n");
}

function lineView({ kind, text }) {
  const sign = { same: "  ", gone: "− ", new: "+ " }[kind];
  const tag = { same: "span", gone: "del", new: "ins" }[kind];
  return el(tag, { class: kind }, sign, shown(text), "\n");
}

/** The files in which the skills of two sides differ; the changes of the first one are open. */
function showEdits(section, texts, sides) {
  const one = ({ path, before, after, why }, at) => {
    const change = why ? "changed, not shown: " + why : before === undefined ? "new" : after === undefined ? "deleted" : "changed";
    const lines = el("pre", { class: "diff", tabindex: "0" });
    const draw = (event) => event.target.open && !lines.firstChild && lines.append(...linesView(before || "", after || ""));
    const summary = el("summary", {}, el("code", {}, shown(path)), " ", el("small", {}, change));
    return why ? el("p", {}, summary.childNodes) : el("details", { open: at === 0, ontoggle: draw }, summary, lines);
  };
  section.append(el("h2", {}, "What differs in the skills ", el("small", {}, shown(sides.join(" → ")))), ...texts.map(one));
  section.hidden = !texts.length;
}

function judgeView(judge) {
  if (!judge) return null;
  const { judgment, question } = judge;
  const vote = (vote, at) =>
    el(
      "section",
      { class: "vote" },
      el("h3", {}, "Vote " + (at + 1) + " ", vote.answer ? badge(vote.answer.overall_pass ? "pass" : "fail") : badge("unscored"), vote.answer && vote.answer.score !== undefined && " " + vote.answer.score + " of 100"),
      vote.answer && el("ul", { class: "checks" }, vote.answer.checks.map((point) => el("li", {}, badge(point.pass ? "pass" : "fail"), " ", el("b", {}, shown(point.id)), el("p", {}, shown(point.notes))))),
      !vote.answer && vote.attempts.map((attempt) => el("p", {}, shown(attempt.unusable || (attempt.trouble && attempt.trouble.detail) || "no answer"))),
    );
  return el(
    "section",
    { class: "judge" },
    el("h2", {}, "Judge ", badge(judgment.verdict)),
    judgment.scripted && el("p", { class: "note scripted" }, el("b", {}, "Mock model: "), shown(judgment.scripted)),
    el("details", {}, el("summary", {}, "The judge's prompt"), question ? block(question, [], "input") : el("p", {}, "Not available: the template, the case or the skill has changed since.")),
    judgment.votes.map(vote),
  );
}

/** A trial as plain text, to copy. */
function trialText(row, trace) {
  const checks = trace.checks.map((check) => "- " + check.status + " " + check.id + ": expected " + check.expected + "; found " + check.found);
  const events = trace.entries.map((entry, at) => at + 1 + ". " + entry.kind + "\n" + [textOf(entry), outputOf(entry)].filter(Boolean).join("\n"));
  return [row.verdict + " " + idOf(row) + " (run " + row.run + ")", trace.trouble || "", ...checks, "", ...events].join("\n") + "\n";
}
