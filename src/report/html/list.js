// The list of cases with their repeats. Only the visible rows are in the document.

/** Rows that are drawn above and below the visible ones. */
const BEYOND = 8;

/** The most repeats of a case that its row shows. */
const MAX_REPEATS = 24;

/** The filters above the list. `current()` returns the active filters; `change(filters)` is called with the chosen ones. */
function filterBar(rows, choices, current, compares, change) {
  const filters = current();
  const choose = (key, label, names, of) =>
    el(
      "label",
      {},
      el("span", {}, label),
      el(
        "select",
        { name: key, onchange: (event) => change({ ...current(), [key]: event.target.value, ...(key === "skill" ? { case: "" } : {}) }) },
        el("option", { value: "" }, of),
        names.map((name) => el("option", { value: name, selected: filters[key] === name }, inWords(name))),
      ),
    );
  const ofSkill = () => [...new Set(rows.filter((row) => row.skill === filters.skill).map((row) => row.case))].sort();
  const sorts = ["worst", "name", "flaky", "slowest", "tokens", ...(compares ? ["change"] : [])];
  return el(
    "form",
    { class: "filters", role: "search", "aria-label": "Filter", onsubmit: (event) => event.preventDefault() },
    el("label", { class: "text" }, el("span", {}, "Search names and sessions"), el("input", { type: "search", name: "q", value: filters.q || "", autocomplete: "off", spellcheck: "false", placeholder: "key: /", oninput: (event) => change({ ...current(), q: event.target.value }) })),
    choose("verdict", "Verdict", WORST, "any"),
    choose("skill", "Skill", choices.skills, "any"),
    filters.skill && choose("case", "Case", ofSkill(), "any"),
    choose("mode", "Mode", choices.modes, "any"),
    choose("check", "Check not passed", choices.checks, "any"),
    choices.runs.length > 1 && !compares && choose("run", "Run", choices.runs, "any"),
    choose("sort", "Sort", sorts.slice(1), sorts[0]),
    compares && el("label", { class: "tick" }, el("input", { type: "checkbox", name: "differs", checked: Boolean(filters.differs), onchange: (event) => change({ ...current(), differs: event.target.checked ? "1" : "" }) }), el("span", {}, "only differences")),
  );
}

/** Sets the fields to the active filters. A field with the right value stays as it is, so that its caret stays too. */
function setFilters(bar, filters) {
  for (const field of bar.elements) {
    const value = filters[field.name] || "";
    if (field.type === "checkbox") field.checked = Boolean(value);
    else if (field.value !== value) field.value = value;
  }
}

/** A list that draws `groups` as they become visible. */
function caseList(link) {
  const inner = el("div", { class: "rows", role: "list" });
  let groups = [];
  let drawn = "";
  const height = () => (matchMedia("(max-width: 640px)").matches ? 76 : 36);
  const draw = (all) => {
    const row = height();
    const top = inner.getBoundingClientRect().top;
    const first = all ? 0 : Math.max(0, Math.floor(-top / row) - BEYOND);
    const last = all ? groups.length : Math.min(groups.length, Math.ceil((innerHeight - top) / row) + BEYOND);
    const now = first + "-" + last + "-" + row;
    if (now === drawn) return;
    drawn = now;
    inner.style.height = all ? "auto" : groups.length * row + "px";
    inner.style.paddingTop = first * row + "px";
    inner.replaceChildren(...groups.slice(first, last).map((group, at) => rowView(group, first + at, groups.length, link)));
  };
  addEventListener("scroll", () => draw(false), { passive: true });
  addEventListener("resize", () => draw(false));
  addEventListener("beforeprint", () => draw(true));
  addEventListener("afterprint", () => draw(false));
  return {
    element: inner,
    show(next) {
      groups = next;
      drawn = "";
      draw(false);
    },
    /** Scrolls to a row and focuses it. */
    focus(at) {
      const place = Math.min(Math.max(at, 0), groups.length - 1);
      const wanted = inner.getBoundingClientRect().top + scrollY + place * height();
      if (wanted < scrollY + 80 || wanted > scrollY + innerHeight - 80) scrollTo(0, wanted - innerHeight / 2);
      draw(false);
      const row = inner.querySelector('[data-at="' + place + '"] a');
      if (row) row.focus({ preventScroll: true });
    },
    draw: () => draw(false),
  };
}

function rowView(group, at, all, link) {
  const share = group.share === null ? "–" : Math.round(group.share * 100) + " %";
  const why = [...group.failed.map(([check, times]) => check + (times < group.measured ? " " + times + "×" : "")), ...group.troubles].join(", ");
  const name = el("span", { class: "case" }, shown(group.skill + "/"), el("b", {}, shown(group.case)), el("small", {}, " ", shown(group.mode)));
  const repeats = (rows) => [rows.slice(0, MAX_REPEATS).map((row) => repeatLink(row, link)), rows.length > MAX_REPEATS && el("small", {}, "+" + (rows.length - MAX_REPEATS))];
  return el(
    "div",
    { class: "row " + WORST[group.worst], role: "listitem", "aria-posinset": at + 1, "aria-setsize": all, "data-at": at },
    name,
    el("span", { class: "repeats" }, group.before.length > 0 && [repeats(group.before), el("span", { class: "arrow" }, "→")], repeats(group.rows)),
    el("span", { class: "share" }, share, el("small", {}, " " + group.passed + "/" + group.measured), group.flaky && el("small", { class: "flaky" }, " flaky")),
    el("span", { class: "why", title: why }, shownLine(why)),
    el("span", { class: "took" }, group.ms === null ? "" : duration(group.ms)),
    el("span", { class: "tokens" }, group.tokens === null ? "" : count(Math.round(group.tokens))),
  );
}

function repeatLink(row, link) {
  const what = "repeat " + row.n + (row.ofRun && " of run " + row.ofRun) + ": " + inWords(row.verdict) + (row.side === "baseline" ? ", before" : "");
  return el("a", { class: "dot " + row.verdict, href: link(row), title: what, "aria-label": idOf(row) + ", " + what }, SIGNS[row.verdict]);
}
