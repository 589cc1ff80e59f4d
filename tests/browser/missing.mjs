import { assert, click, open, picture, tab, text, texts, withPage } from "./page.mjs";

await withPage(async (page) => {
  await open(page);
  assert.match(await text(page, ".figures"), /not run2/);
  assert.match(await text(page, "#count"), /^14 trials in \d+ cases, 2 not run$/);
  await tab(page, "not-run");
  assert.deepEqual((await texts(page, ".rows .case")).sort(), ["greeting/kept codex", "greeting/later codex"]);
  // With what else did not pass in the case, whose figures no filter changes.
  const why = await texts(page, ".rows .why");
  for (const reason of ["the run has cost its limit of $2", "the run was stopped"]) assert.ok(why.some((one) => one.includes(reason)), why);
  const label = await page.$eval(".rows .dot", (one) => one.getAttribute("aria-label"));
  assert.match(label, /repeat \d: not run$/);
  await picture(page, "light", true);
  await click(page, ".rows .dot");
  await page.waitForFunction(() => !document.getElementById("one").hidden);
  assert.match(await text(page, "#one"), /This trial was not run: the run /);
});
