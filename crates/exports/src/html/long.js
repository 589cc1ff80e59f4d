// A long list that is made in pieces: the visible items at once, the others while the browser is idle.

/** Items that are made before the list is shown. */
const AT_ONCE = 30;

/** Milliseconds of making items, after which the page may draw. */
const PIECE = 24;

/** The open list. `make` makes an item, `itemOf` is the item of an event; items `from` to `to` of `count` are made. */
let long = { list: null, make: null, itemOf: null, count: 0, from: 0, to: 0 };

/** Fills `list` with `count` items, beginning around the event at the place `first`. */
function fillLong(list, count, make, first, itemOf = (place) => place) {
  long = { list, make, itemOf, count, from: 0, to: 0 };
  const item = itemOf(first);
  beginAt(item < count ? item : 0);
  setTimeout(goOn, 0, long);
  return list;
}

/** Makes the items around this place, and no others. */
function beginAt(place) {
  long.from = long.to = Math.max(place - AT_ONCE / 3, 0);
  long.list.replaceChildren();
  below(AT_ONCE);
}

/** Makes the next items: `most` of them, or as many as the time allows. */
function below(most) {
  const until = performance.now() + PIECE;
  const items = [];
  while (long.to < long.count && (most ? items.length < most : performance.now() < until)) items.push(long.make(long.to++));
  long.list.append(...items);
  long.list.setAttribute("aria-busy", String(!isWhole()));
}

/** Makes the items before; the visible ones keep their place. */
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

/** Makes a piece, and later the next one, as long as this list is open. */
function goOn(of) {
  if (of !== long || isWhole()) return;
  below();
  above();
  setTimeout(goOn, 0, of);
}

/** Makes the items next to those that are there. */
function drawMore() {
  below();
  above();
}

/** Makes the item with the event at this place, if it is missing. */
function drawAt(place) {
  const item = long.itemOf(place);
  if (item >= 0 && item < long.count && (item < long.from || item >= long.to)) beginAt(item);
}

/** Makes all missing items: to print, and to change all items. */
function drawAll() {
  while (!isWhole()) drawMore();
}
