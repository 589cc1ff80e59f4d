// The sessions: each lies packed (JSON, raw deflate, base64) in a script element of its own, and is read when asked for.
// What the sessions of a skill have in common is packed once, in an element that theirs name: they go on where it ends.

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
  const packed = await packedAt(place);
  return packed && JSON.parse(await inflated(packed));
}

/** The element of a session; a link may open the page before the browser has read it to its end. */
async function packedAt(place) {
  const find = () => document.getElementById("t" + place);
  if (!find() && document.readyState === "loading") {
    await new Promise((resolve) => document.addEventListener("DOMContentLoaded", resolve, { once: true }));
  }
  return find();
}

/** The bytes of what sessions have in common, by the elements that they are in. */
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
