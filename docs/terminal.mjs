// A picture of a command's colored output in a terminal of 80 columns, as the README has them:
// script -qec 'stty cols 80 rows 24; COMMAND' /dev/null | node docs/terminal.mjs 'COMMAND'.
import { readFileSync } from "node:fs";

const [command] = process.argv.slice(2);
const colors = { 31: "#f7768e", 32: "#9ece6a", 33: "#e0af68", 34: "#7aa2f7", 35: "#bb9af7", 36: "#7dcfff" };
// Browsers fold spaces, whatever xml:space says.
const escape = (text) => text.replace(/ /g, "\u00a0").replace(/[&<>"]/g, (c) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[c]);

// Each piece of a line, with the escape sequence before it.
const drawn = (line) =>
  line.split(/(?=\x1b\[)/).map((piece) => {
    const [, codes = "", text] = piece.match(/^(?:\x1b\[([\d;]*)m)?(.*)$/);
    const color = codes.split(";").map((code) => colors[code]).find(Boolean);
    return color && text ? `<tspan fill="${color}">${escape(text)}</tspan>` : escape(text);
  }).join("");

// What a terminal draws and erases again is not in the picture.
const erased = /(?:\x1b\[\?7l[^\x1b]*\x1b\[\?7h)|\x1b\[\d*[AJ]/g;
const output = readFileSync(0, "utf8").replace(/\r/g, "").replace(erased, "").trimEnd().split("\n");
const lines = [escape(`$ ${command}`), ...output.map(drawn)];
const plain = [`$ ${command}`, ...output.map((line) => line.replace(/\x1b\[[\d;]*m/g, ""))];
const width = Math.ceil(Math.max(...plain.map((line) => [...line].length)) * 7.85 + 32);
const height = 54 + 18 * lines.length;
const text = lines.map((line, at) => `<text x="16" y="${46 + 18 * at}">${line}</text>`).join("\n");
process.stdout.write(`<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img" aria-label="${escape(plain.slice(0, 2).join(": "))}">
<rect width="${width}" height="${height}" rx="8" fill="#1a1b26"/>
<circle cx="18" cy="16" r="5" fill="#f7768e"/><circle cx="36" cy="16" r="5" fill="#e0af68"/><circle cx="54" cy="16" r="5" fill="#9ece6a"/>
<g font-family="ui-monospace,SFMono-Regular,Menlo,Consolas,monospace" font-size="13" fill="#c0caf5">
${text}
</g>
</svg>
`);
