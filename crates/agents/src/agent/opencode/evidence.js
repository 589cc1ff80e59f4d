// Prints what `opencode run` keeps to itself: requests with the list of skills, retries, calls that run, sub-agents.
const KEPT = ["session.created", "session.status", "session.error", "message.part.updated"];
const LIST = /matches its description\.\n<available_skills>([^]*?)<\/available_skills>/g;
// OpenCode escapes neither.
const SKILL = /<name>([^]*?)<\/name>\s*<description>([^]*?)<\/description>\s*<location>/g;

const subAgents = new Set();
const running = new Set();
const users = new Set();
let told;

function print(kind, sessionID, data) {
  const line = { type: "evidence", timestamp: new Date().toISOString(), kind, ...data };
  if (subAgents.has(sessionID)) line.agent = sessionID;
  process.stdout.write(JSON.stringify(line) + "\n");
}

function isKept(type, { part }) {
  if (!part) return KEPT.includes(type);
  // A call that runs is told once, and not with each piece of its output.
  if (part.type === "tool" && part.state.status === "running") return !running.has(part.id) && running.add(part.id);
  if (part.type === "tool") return part.state.status !== "pending";
  if (part.type === "text") return users.has(part.messageID) || part.time?.end;
  return part.type === "reasoning" ? part.time?.end : part.type.startsWith("step-");
}

export const Evidence = async ({ client }) => ({
  "experimental.chat.system.transform": async ({ sessionID, model }, { system }) => {
    // Instructions of the workspace come before it.
    const list = [...system.join("\n").matchAll(LIST)].at(-1)?.[1];
    const isNew = list !== told && !subAgents.has(sessionID);
    const skills = isNew ? [...(list ?? "").matchAll(SKILL)].map((found) => found.slice(1)) : undefined;
    if (isNew) told = list;
    const servers = (await client.mcp.status()).data;
    print("request", sessionID, { model: model.id, skills, servers });
  },
  event: async ({ event: { type, properties } }) => {
    const { info, status } = properties;
    if (info?.parentID && type.startsWith("session.")) subAgents.add(info.id);
    if (type === "message.updated" && info.role === "user") users.add(info.id);
    if (status?.next) status.wait = status.next - Date.now();
    if (isKept(type, properties)) print(type, properties.sessionID ?? info?.id, { ...properties, byUser: users.has(properties.part?.messageID) });
  },
});
