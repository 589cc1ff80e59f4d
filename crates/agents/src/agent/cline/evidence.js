// Prints what `cline --json` keeps to itself: requests with the list of skills, refusals, and how answers end.
const LIST = /\bAvailable skills: ([^"\\]*)\."/;
const SERVED = /"([^"]+?)__[^"]+"/g;
const END = /"(?:finish_reason|finishReason|stop_reason)":\s*"([^"]+)"/g;

// Programs that the model runs are not Cline.
delete process.env.BUN_OPTIONS;

const own = globalThis.fetch;
let isFirst = true;

function print(kind, data) {
  process.stdout.write(JSON.stringify({ type: "evidence", ts: new Date().toISOString(), kind, ...data }) + "\n");
}

function request(body) {
  // Prompts and files may have the same words.
  const { tools, toolConfig } = JSON.parse(body);
  const list = JSON.stringify(tools ?? toolConfig ?? []).match(LIST)?.[1].split(", ");
  // Without a skill, there is neither list nor tool. Sub-agents have no servers.
  const skills = list ?? (isFirst ? [] : undefined);
  const servers = isFirst ? [...new Set([...body.matchAll(SERVED)].map((found) => found[1]))] : [];
  isFirst = false;
  return { skills, servers };
}

globalThis.fetch = Object.assign(async (...args) => {
  const body = args[1]?.body;
  if (typeof body !== "string" || !body.includes('"run_commands"')) return own(...args);
  print("request", request(body));
  try {
    const response = await own(...args);
    const wait = Number(response.headers.get("retry-after") ?? undefined);
    if (!response.ok) print("refused", { status: response.status, wait: wait || undefined });
    else response.clone().text().then((text) => print("answered", { end: [...text.matchAll(END)].at(-1)?.[1] }), () => {});
    return response;
  } catch (error) {
    print("refused", { message: String(error) });
    throw error;
  }
}, own);
