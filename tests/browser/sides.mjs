// A run of `compare main`: its sides go by name, and what differs between their skills is on the first screen.
import { assert, click, open, text, texts, withPage } from "./page.mjs";

await withPage(async (page) => {
  await open(page);
  const sides = await texts(page, ".sides th");
  assert.ok(/^main \([0-9a-f]{12}\) baseline$/.test(sides[0]) && sides[1] === "working tree candidate", sides.join());
  assert.equal(await text(page, ".labels span:nth-child(2)"), "main → working tree");
  assert.match(await text(page, ".figures"), /^\s*cases compared3\s*measured trials of both sides\d+/);
  // The case that broke is not called noise, and leads to its trials.
  const moved = await text(page, ".moved tbody tr");
  assert.ok(moved.startsWith("tidy/c0") && !moved.includes("noise"), moved);
  await page.waitForSelector("#edits ins");
  const edits = await text(page, "#edits");
  assert.ok(edits.includes("+ Sweep two times.") && edits.includes("tidy/token.txt new"), edits);
  assert.ok(!(await page.content()).includes("ghp_0123456789"), "a key is masked");
  await click(page, ".moved a");
  assert.deepEqual(await texts(page, ".rows .case"), ["tidy/c0 codex"]);
  await click(page, ".rows .row .dot");
  await page.waitForSelector(".pair.heads");
  const heads = await text(page, ".pair.heads");
  assert.ok(heads.includes("main · codex") && heads.includes("working tree · codex") && !heads.includes("run r"), heads);
  await click(page, "[rel=compare]");
  await page.waitForSelector("#one .event");
  assert.match(await text(page, "[rel=compare]"), /^Compare with (main|working tree)$/);
});
