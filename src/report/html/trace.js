// The sessions: each lies packed (JSON, raw deflate, base64) in a script element of its own, and is read when asked for.

/** Sessions read last, by their places. */
const opened = new Map();

/** Most sessions that are kept once read. */
const MOST_OPENED = 8;

/** The document of the trial at this place; null where the page does not have it. */
async function openTrace(place) {
  if (opened.has(place)) return opened.get(place);
  const read = await readTrace(place);
  opened.set(place, read);
  if (opened.size > MOST_OPENED) opened.delete(opened.keys().next().value);
  return read;
}

async function readTrace(place) {
  const text = await packedText(place);
  return text === null ? null : JSON.parse(await inflated(text));
}

/** The packed text; a link may open the page before the browser has read it to its end. */
async function packedText(place) {
  const find = () => document.getElementById("t" + place);
  if (!find() && document.readyState === "loading") {
    await new Promise((resolve) => document.addEventListener("DOMContentLoaded", resolve, { once: true }));
  }
  const found = find();
  return found ? found.textContent : null;
}

async function inflated(packed) {
  const binary = atob(packed);
  const bytes = new Uint8Array(binary.length);
  for (let at = 0; at < binary.length; at++) bytes[at] = binary.charCodeAt(at);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  return new Response(stream).text();
}

/** How long a search works before the page may draw again, in milliseconds. */
const SLICE = 12;

/**
 * Looks for a text in the sessions of these rows, and hands over the places where it was found so far with the share that
 * was searched. `goes()` says whether anybody still wants to know.
 */
async function searchTraces(rows, text, tell, goes) {
  // As JSON has it, so that few sessions need to be parsed.
  const wanted = JSON.stringify(text).slice(1, -1).toLowerCase();
  const found = new Set();
  let since = performance.now();
  for (const [at, row] of rows.entries()) {
    if (!goes()) return;
    const packed = row.kept ? await packedText(row.place) : null;
    const session = packed === null ? "" : await inflated(packed);
    if (session.toLowerCase().includes(wanted) && holdsText(JSON.parse(session), text.toLowerCase())) found.add(row.place);
    if (performance.now() - since > SLICE) {
      tell(found, (at + 1) / rows.length);
      await new Promise((resolve) => setTimeout(resolve));
      since = performance.now();
    }
  }
  if (goes()) tell(found, 1);
}
