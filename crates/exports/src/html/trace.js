// Reads sessions. Each is packed (JSON, raw deflate, base64) in its own script element. The sessions of a skill share a
// packed text, in an element that they name: their data continues that text.

/** The latest sessions, by their places. */
const opened = new Map();

/** The most sessions that are kept. */
const MAX_OPENED = 8;

/** The document of the trial at this place; null if the page does not have it. */
async function openTrace(place) {
  if (opened.has(place)) return opened.get(place);
  const read = await readTrace(place);
  opened.set(place, read);
  if (opened.size > MAX_OPENED) opened.delete(opened.keys().next().value);
  return read;
}

async function readTrace(place) {
  const packed = await packedAt(place);
  return packed && JSON.parse(await inflated(packed));
}

/** The element of a session. Waits for the whole page if a link opens a session early. */
async function packedAt(place) {
  const find = () => document.getElementById("t" + place);
  if (!find() && document.readyState === "loading") {
    await new Promise((resolve) => document.addEventListener("DOMContentLoaded", resolve, { once: true }));
  }
  return find();
}

/** The bytes of shared texts, by the ids of their elements. */
const commons = new Map();

function bytesOf(element) {
  const binary = atob(element.textContent);
  const bytes = new Uint8Array(binary.length);
  for (let at = 0; at < binary.length; at++) bytes[at] = binary.charCodeAt(at);
  return bytes;
}

/** The JSON in the element of a session. */
async function inflated(packed) {
  const { behind } = packed.dataset;
  if (!commons.has(behind)) commons.set(behind, bytesOf(document.getElementById(behind)));
  const stream = new Blob([commons.get(behind), bytesOf(packed)]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  const text = await new Response(stream).text();
  return text.slice(text.indexOf("\0") + 1);
}

/** Milliseconds of searching, after which the page may draw. */
const SLICE = 12;

/**
 * Searches a text in the sessions of these rows. Calls `tell` with the places of the rows that have it and the share of
 * rows searched. `goes()` returns false to stop.
 */
async function searchTraces(rows, text, tell, goes) {
  // As JSON spells it, so that few sessions need to be parsed.
  const wanted = JSON.stringify(text).slice(1, -1).toLowerCase();
  const found = new Set();
  let since = performance.now();
  for (const [at, row] of rows.entries()) {
    if (!goes()) return;
    const packed = row.kept ? await packedAt(row.place) : null;
    const session = packed ? await inflated(packed) : "";
    if (session.toLowerCase().includes(wanted) && holdsText(JSON.parse(session), text.toLowerCase())) found.add(row.place);
    if (performance.now() - since > SLICE) {
      tell(found, (at + 1) / rows.length);
      await new Promise((resolve) => setTimeout(resolve));
      since = performance.now();
    }
  }
  if (goes()) tell(found, 1);
}
