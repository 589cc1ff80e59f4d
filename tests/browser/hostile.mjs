import { assert, click, open, picture, settled, text, withPage } from "./page.mjs";

await withPage(async (page) => {
  const harmless = async (where) => {
    const found = await page.evaluate(() => ({
      broken: "broken" in window,
      images: document.images.length,
      styles: document.querySelectorAll("style").length,
      frames: document.querySelectorAll("iframe, object, embed").length,
    }));
    assert.deepEqual(found, { broken: false, images: 0, styles: 1, frames: 0 }, where);
  };
  await open(page);
  await harmless("the list");
  assert.ok((await text(page, ".rows")).includes("<img"), "reasons are texts");
  await page.type('[name="q"]', '"><img src=x onerror=window.broken=1>');
  await settled(page);
  await harmless("the search");
  for (const hash of ["#t=greeting/kept/codex/1", "#t=greeting/explicit/codex/1", "#q=%3Cimg%20src%3Dx%3E", "#t=%3Cscript%3Ewindow.broken%3D1%3C/script%3E"]) {
    await open(page, hash);
    if (hash.includes("kept")) {
      await page.waitForSelector("#one .event");
      await click(page, "h2 button", "Unfold all");
      const all = await text(page, "#one");
      assert.ok(all.includes("</script><script>window.broken=1"), "texts are whole");
      assert.ok(all.includes("U+202E") && all.includes("U+0000") && all.includes("U+001B"), "hidden characters are told");
      assert.ok(!all.includes("\u202e"), "none of them is live");
      await picture(page, "trial", true);
    }
    await harmless(hash);
  }
});
