import { assert, open, withPage } from "./page.mjs";

/** Every node of a tree. */
function flat(node, into = []) {
  into.push(node);
  for (const child of node.children || []) flat(child, into);
  return into;
}

await withPage(async (page) => {
  const nodes = async () => flat(await page.accessibility.snapshot({ interestingOnly: false }));
  const named = (all, role) => all.filter((node) => node.role === role).map((node) => node.name);
  await open(page);
  let all = await nodes();
  assert.ok(named(all, "heading").some((name) => /trials passed$/.test(name)), named(all, "heading").join());
  assert.ok(all.some((node) => node.role === "main") && all.some((node) => node.role === "search"));
  assert.ok(named(all, "link").includes("greeting/kept/codex/1, repeat 1: fail"), named(all, "link").join("\n"));
  assert.ok(all.some((node) => node.role === "listitem"));
  assert.ok(named(all, "rowheader").includes("greeting"));
  for (const role of ["link", "button", "combobox", "searchbox"]) {
    assert.deepEqual(named(all, role).filter((name) => !name || !name.trim()), [], "each " + role + " has a name");
  }
  const drawings = await page.$$eval("svg", (all) => all.every((one) => one.getAttribute("aria-hidden") === "true"));
  assert.ok(drawings, "what a chart shows stands in words beside it");
  await open(page, "#t=greeting/kept/codex/1");
  await page.waitForSelector("#one .event");
  all = await nodes();
  assert.ok(named(all, "heading").includes("Checks") && named(all, "navigation").includes("Trial"));
  assert.ok(all.filter((node) => node.role === "listitem").some((node) => /: Command$/.test(node.name)));
  for (const role of ["link", "button"]) {
    assert.deepEqual(named(all, role).filter((name) => !name || !name.trim()), [], "each " + role + " has a name");
  }
  // One heading of the first level is shown at a time.
  assert.equal(await page.$$eval("h1", (all) => all.filter((one) => one.getClientRects().length).length), 1);
});
