// A picture of a report's first screen, as the README has it: node picture.mjs PAGE PICTURE.
import { resolve } from "node:path";
import { open, withPage } from "./page.mjs";

await withPage(async (page) => {
  await page.setViewport({ width: 1180, height: 960, deviceScaleFactor: 1 });
  await open(page);
  await page.screenshot({ path: resolve(process.argv[3]) });
});
