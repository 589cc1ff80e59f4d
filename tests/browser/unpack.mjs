// Unpacks the browser where its package unpacks it when it is first asked for. Two pages that ask at once start half of it.
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const require = createRequire(join(here, "../../target/browser/"));
const chromium = (await import(require.resolve("@sparticuz/chromium"))).default;
await chromium.executablePath();
