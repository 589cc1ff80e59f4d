// What the address says behind its `#`: the filters, or the trial and the event that are open. Pure.

/** The keys of filters, in the order in which they are written. */
const FILTERS = ["skill", "case", "mode", "run", "verdict", "check", "differs", "q", "sort"];

/** `#t=a%2Fb&e=3` as { t: "a/b", e: "3" }; what cannot be read is left out. */
function readRoute(hash) {
  const route = {};
  for (const part of hash.replace(/^#/, "").split("&")) {
    const [key, value] = part.split("=", 2);
    if (value === undefined) continue;
    try {
      route[key] = decodeURIComponent(value);
    } catch {
      // Somebody's broken link: as if it were not there.
    }
  }
  return route;
}

/** The address of a route. */
function writeRoute(route) {
  const keys = [...FILTERS, "t", "r", "w", "e"].filter((key) => route[key]);
  return "#" + keys.map((key) => key + "=" + encodeURIComponent(route[key]).replace(/%2F/g, "/")).join("&");
}

/** The place of the event that a route names; -1 where it names none. */
function eventOf(route) {
  return /^\d+$/.test(route.e || "") ? Number(route.e) - 1 : -1;
}

/** Only the filters of a route. */
function filtersOf(route) {
  return Object.fromEntries(FILTERS.filter((key) => route[key]).map((key) => [key, route[key]]));
}
