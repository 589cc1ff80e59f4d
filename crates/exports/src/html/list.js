// The list of cases with their repeats. Only the visible rows are in the document.

/** Rows that are drawn above and below the visible ones. */
const BEYOND = 8;

/** More repeats of a case are counted by verdict. */
const MAX_REPEATS = 8;

/** Whether the rows are those of a telephone, and whether they have little room, as in page.css. */
const [narrow, tight] = [640, 900].map((width) => matchMedia("(max-width: " + width + "px)"));

/** Links that leave the trials with one verdict, with their numbers, which no filter changes. */
function verdictTabs(rows) {
  const tabs = [["", rows], ...byVerdict(rows)].map(([verdict, some]) => ({
    verdict,
    link: el("a", { class: verdict }, verdict ? inWords(verdict) : "all", " ", el("b", {}, count(some.length))),
  }));
  return {
    element: el("nav", { class: "tabs", "aria-label": "Verdict" }, tabs.map(({ link }) => link)),
    show(filters) {
      for (const { verdict, link } of tabs) {
        link.href = writeRoute({ ...filters, verdict });
        link.setAttribute("aria-current", String(verdict === (filters.verdict || "")));
      }
    },
  };
}

/** The filters above the list. `current()` returns the active filters; `change(filters)` is called with the chosen ones. */
function filterBar(rows, choices, current, compares, change) {
  const options = (names, of) => [el("option", { value: "" }, of), names.map((name) => el("option", { value: name }, inWords(name)))];
  const choose = (key, label, names, of) =>
    el("label", {}, el("span", {}, label), el("select", { name: key, onchange: (event) => change({ ...current(), [key]: event.target.value, ...(key === "skill" ? { case: "" } : {}) }) }, options(names, of)));
  const sorts = [...(compares ? ["change"] : []), "worst", "name", "flaky", "slowest", "tokens"];
  // The choice of cases depends on the skill.
  const cases = choose("case", "Case", [], "any");
  let skill;
  const element = el(
    "form",
    { class: "filters", role: "search", "aria-label": "Filter", onsubmit: (event) => event.preventDefault() },
    el("label", { class: "text" }, el("span", {}, "Search names and sessions"), el("input", { type: "search", name: "q", autocomplete: "off", spellcheck: "false", placeholder: "key: /", oninput: (event) => change({ ...current(), q: event.target.value }) })),
    choose("skill", "Skill", choices.skills, "any"),
    cases,
    choose("mode", "Mode", choices.modes, "any"),
    choose("check", "Check not passed", choices.checks, "any"),
    choices.runs.length > 1 && !compares && choose("run", "Run", choices.runs, "any"),
    choose("sort", "Sort", sorts.slice(1), sorts[0]),
    compares && el("label", { class: "tick" }, el("input", { type: "checkbox", name: "differs", onchange: (event) => change({ ...current(), differs: event.target.checked ? "1" : "" }) }), el("span", {}, "only differences")),
  );
  return {
    element,
    /** Sets the fields to the active filters. A field with the right value stays as it is, so that its caret stays too. */
    show(filters) {
      if (filters.skill !== skill) {
        skill = filters.skill;
        const names = [...new Set(rows.filter((row) => row.skill === skill).map((row) => row.case))].sort();
        cases.lastChild.replaceChildren(...options(names, "any").flat());
      }
      cases.hidden = !skill;
      for (const field of element.elements) {
        const value = filters[field.name] || "";
        if (field.type === "checkbox") field.checked = Boolean(value);
        else if (field.value !== value) field.value = value;
      }
    },
  };
}

/** A list that draws `groups` as they become visible. */
function caseList(link) {
  const inner = el("div", { class: "rows", role: "list" });
  let groups = [];
  let drawn = "";
  const height = () => (narrow.matches ? 76 : 36);
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
  const measure = () => document.documentElement.style.setProperty("--repeats", groups.reduce((widest, group) => Math.max(widest, repeatsWidth(group)), 0) + "px");
  tight.addEventListener("change", () => {
    drawn = "";
    measure();
    draw(false);
  });
  addEventListener("resize", () => draw(false));
  addEventListener("beforeprint", () => draw(true));
  addEventListener("afterprint", () => draw(false));
  return {
    element: inner,
    show(next) {
      groups = next;
      drawn = "";
      measure();
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

/** Whether the repeats of a group are counted by verdict. A small window has room for half as many of two sides. */
const isMany = ({ all: { rows, before } }) => Math.max(rows.length, before.length) > (tight.matches && before.length ? MAX_REPEATS / 2 : MAX_REPEATS);

/** The width of a group's repeats in pixels: of a dot, a number or an arrow with the gap behind it. */
function repeatsWidth(group) {
  const width = (rows) => (isMany(group) ? byVerdict(rows).length * 52 : rows.length * 27);
  const { before, rows } = group.all;
  return width(before) + width(rows) + (before.length > 0 ? 26 : 0);
}

function rowView(group, at, all, link) {
  const percent = (share) => (share === null ? "–" : Math.round(share * 100) + " %");
  const compares = group.all.before.length > 0;
  const why = [...group.failed.map(([check, times]) => check + (times < group.measured ? " " + times + "×" : "")), ...group.troubles].join(", ");
  const title = group.skill + "/" + group.case;
  const name = el("span", { class: "case", title }, shown(group.skill + "/"), el("b", {}, shown(group.case)), el("small", {}, " ", shown(group.mode)));
  const repeats = (side) => (isMany(group) ? byVerdict(group.all[side]).map((some) => verdictLink(title, some, link)) : group[side].map((row) => repeatLink(row, link)));
  return el(
    "div",
    { class: "row " + WORST[group.worst], role: "listitem", "aria-posinset": at + 1, "aria-setsize": all, "data-at": at },
    name,
    el("span", { class: "repeats" }, compares && [repeats("before"), el("span", { class: "arrow" }, "→")], repeats("rows")),
    el("span", { class: "share" }, compares && percent(group.shareBefore) + " → ", percent(group.share), !compares && el("small", {}, " " + group.passed + "/" + group.measured), group.flaky && el("small", { class: "flaky" }, " flaky")),
    el("span", { class: "why", title: why }, shownLine(why)),
    el("span", { class: "took" }, group.ms === null ? "" : duration(group.ms)),
    el("span", { class: "tokens" }, group.tokens === null ? "" : count(Math.round(group.tokens))),
  );
}

function repeatLink(row, link) {
  const what = "repeat " + row.n + (row.ofRun && " of run " + row.ofRun) + ": " + inWords(row.verdict) + (index.sides ? ", " + sideOf(row) : "");
  return el("a", { class: "dot " + row.verdict, href: link(row), title: what, "aria-label": idOf(row) + ", " + what }, SIGNS[row.verdict]);
}

/** A number of trials; leads to the first of them. */
function verdictLink(title, [verdict, rows], link) {
  const what = count(rows.length) + " × " + inWords(verdict) + (index.sides ? ", " + sideOf(rows[0]) : "");
  return el("a", { class: "dot many " + verdict, href: link(rows[0]), title: what, "aria-label": title + ", " + what }, SIGNS[verdict] + " " + count(rows.length));
}
