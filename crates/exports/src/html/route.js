// The address after its `#`: the filters, or the open trial and event. Pure.

/** The keys of filters, in the order of an address. */
const FILTERS = ["skill", "case", "mode", "run", "verdict", "check", "differs", "q", "sort"];

/** `#t=a%2Fb&e=3` as { t: "a/b", e: "3" }. Unreadable parts are left out. */
function readRoute(hash) {
  const route = {};
  for (const part of hash.replace(/^#/, "").split("&")) {
    const [key, value] = part.split("=", 2);
    if (value === undefined) continue;
    try {
      route[key] = decodeURIComponent(value);
    } catch {
      // A broken link: as if the part were missing.
    }
  }
  return route;
}

/** The address of a route. */
function writeRoute(route) {
  const keys = [...FILTERS, "t", "r", "w", "e"].filter((key) => route[key]);
  return "#" + keys.map((key) => key + "=" + encodeURIComponent(route[key]).replace(/%2F/g, "/")).join("&");
}

/** The place of a route's event; -1 if it has none. */
function eventOf(route) {
  return /^\d+$/.test(route.e || "") ? Number(route.e) - 1 : -1;
}

/** The filters of a route. */
function filtersOf(route) {
  return Object.fromEntries(FILTERS.filter((key) => route[key]).map((key) => [key, route[key]]));
}
