// Makes elements. Texts only become text nodes: the scripts of this page have no markup.

/** An element with attributes (`on…` are listeners; false and undefined are left out) and children, which may be texts. */
function el(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.flat(9).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

/** A text of an agent or a user as nodes: hidden characters as numbers, `ranges` marked. */
function shown(text, ranges = []) {
  return lit(text, ranges).map((piece) => {
    const nodes = visible(piece.text).map((part) =>
      part.hidden ? el("span", { class: "hidden-char", title: "an invisible character" }, part.text) : part.text,
    );
    return piece.lit ? el("mark", {}, nodes) : nodes;
  });
}

/** A text on one line. */
function shownLine(text) {
  return shown(text.replace(/\s+/g, " "));
}

/** Announces a change to screen readers. */
function say(text) {
  document.getElementById("said").textContent = text;
}

async function copy(text, what) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    // Some browsers give a file no clipboard.
    const area = el("textarea", { readonly: true, class: "copying" });
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
  say(what + " copied");
}

function download(name, type, text) {
  const address = URL.createObjectURL(new Blob([text], { type }));
  el("a", { href: address, download: name.replace(/[^\w.-]+/g, "-") }).click();
  setTimeout(() => URL.revokeObjectURL(address), 1000);
}

/** A button that copies a text, or the result of a function. */
function copyButton(label, text, what) {
  return el("button", { type: "button", class: "quiet", onclick: () => copy(typeof text === "function" ? text() : text, what) }, label);
}

/** A verdict or a check's status by word and sign, not by color alone. */
function badge(word) {
  return el("span", { class: "badge " + word }, el("span", { "aria-hidden": "true" }, SIGNS[word] || "·"), " " + inWords(word));
}

/** A verdict in words. */
function inWords(verdict) {
  return verdict === NOT_RUN ? "not run" : verdict;
}

const SIGNS = { pass: "✓", fail: "✕", error: "!", unscored: "?", unknown: "?", [NOT_RUN]: "–" };
