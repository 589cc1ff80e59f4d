// A picture of a gate's comment as a pull request shows it, as docs/gate.md has it: node comment.mjs GATE.md PICTURE.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { resolve } from "node:path";
import { withPage } from "./page.mjs";

const require = createRequire(new URL("../../target/prose/", import.meta.url));
const micromark = require("micromark");
const gfm = require("micromark-extension-gfm");
const gfmHtml = require("micromark-extension-gfm/html");

const [comment, picture] = process.argv.slice(2);
const body = micromark(readFileSync(comment, "utf8"), { allowDangerousHtml: true, extensions: [gfm()], htmlExtensions: [gfmHtml] });
const style = `
  body { margin: 0; padding: 16px; background: #fff; font: 14px/1.5 system-ui, "Noto Sans", sans-serif; color: #1f2328; }
  article { border: 1px solid #d1d9e0; border-radius: 6px; }
  header { padding: 8px 16px; background: #f6f8fa; border-bottom: 1px solid #d1d9e0; border-radius: 6px 6px 0 0; color: #59636e; }
  header b { color: #1f2328; }
  main { padding: 16px; overflow-wrap: anywhere; }
  main > :first-child { margin-top: 0; }
  h2 { font-size: 21px; border-bottom: 1px solid #d1d9e0; padding-bottom: 5px; }
  code { font: 12px ui-monospace, "DejaVu Sans Mono", monospace; background: #f1f2f4; border-radius: 6px; padding: 2px 5px; }
  table { border-collapse: collapse; }
  th, td { border: 1px solid #d1d9e0; padding: 6px 13px; }`;

await withPage(async (page) => {
  await page.setViewport({ width: 760, height: 100, deviceScaleFactor: 1 });
  const head = "<header><b>github-actions</b> bot commented</header>";
  const html = "<!doctype html><style>" + style + "</style><article>" + head + "<main>" + body + "</main></article>";
  await page.goto("data:text/html;charset=utf-8," + encodeURIComponent(html));
  await page.screenshot({ path: resolve(picture), fullPage: true });
});
