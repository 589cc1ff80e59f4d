// A long list that is made piece by piece: what is looked at stands there at once, the rest follows while nobody waits.

/** Items that are made before anything is shown. */
const AT_ONCE = 30;

/** How long items are made before the page may draw again, in milliseconds. */
const PIECE = 24;

/** The list that is open: its element, what makes an item, which item an event is in, and which of its `count` are there. */
let long = { list: null, make: null, itemOf: null, count: 0, from: 0, to: 0 };

/** Fills `list` with `make(at)` for each place below `count`, beginning around the event at the place `first`. */
function fillLong(list, count, make, first, itemOf = (place) => place) {
  long = { list, make, itemOf, count, from: 0, to: 0 };
  const item = itemOf(first);
  beginAt(item < count ? item : 0);
  setTimeout(goOn, 0, long);
  return list;
}

/** Makes items anew from those around this place on. */
function beginAt(place) {
  long.from = long.to = Math.max(place - AT_ONCE / 3, 0);
  long.list.replaceChildren();
  below(AT_ONCE);
}

/** Makes the next items, `most` of them or as many as a piece of time allows. */
function below(most) {
  const until = performance.now() + PIECE;
  const items = [];
  while (long.to < long.count && (most ? items.length < most : performance.now() < until)) items.push(long.make(long.to++));
  long.list.append(...items);
  long.list.setAttribute("aria-busy", String(!isWhole()));
}

/** The same for those before; what is in sight stays where it is. */
function above() {
  if (!long.from) return;
  const until = performance.now() + PIECE;
  const items = [];
  while (long.from > 0 && performance.now() < until) items.unshift(long.make(--long.from));
  const first = [...long.list.children].find((item) => item.getClientRects().length);
  const top = first && first.getBoundingClientRect().top;
  long.list.prepend(...items);
  if (first) scrollBy(0, first.getBoundingClientRect().top - top);
  long.list.setAttribute("aria-busy", String(!isWhole()));
}

function isWhole() {
  return long.from === 0 && long.to === long.count;
}

/** Makes a piece, and the next one later, as long as this list is the open one. */
function goOn(of) {
  if (of !== long || isWhole()) return;
  below();
  above();
  setTimeout(goOn, 0, of);
}

/** Makes what stands next to what is there, for those who step out of it. */
function drawMore() {
  below();
  above();
}

/** Makes the item with the event at this place, if it is not there. */
function drawAt(place) {
  const item = long.itemOf(place);
  if (item >= 0 && item < long.count && (item < long.from || item >= long.to)) beginAt(item);
}

/** Makes all that is missing: on paper, and where all items are to change. */
function drawAll() {
  while (!isWhole()) drawMore();
}
