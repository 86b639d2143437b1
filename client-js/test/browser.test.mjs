import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { test } from "node:test";
import { URL_OF_SERVER, newTenant, tokenOf } from "./service.mjs";

const BUILD = new URL("../dist/esm/", import.meta.url);
const PAGE = `<!doctype html><script type="module">
  import { ConflictError, MemoryClient, NotFoundError } from "/index.js";
  const { baseUrl, token } = JSON.parse(decodeURIComponent(location.hash.slice(1)));
  async function main() {
    const memory = new MemoryClient({ baseUrl, token });
    const { memory_id: id, memory: stored } = await memory.remember("Alice is allergic to peanuts. 🥜");
    const { hits } = await memory.recall("peanuts");
    const missing = await memory.find("profile", "home");
    const conflict = await memory.update(id, { importance: 1 }, { if_version: stored.version + 1 }).catch((error) => error);
    await memory.addDocument(new File(["# Handbook"], "handbook.md"), { title: "Handbook" });
    await memory.createSession({ name: "one" });
    await memory.createSession({ name: "two" });
    const page = await memory.listSessions({ limit: 1 });
    for await (const event of memory.subscribe({ after: 0 })) {
      return [hits[0].memory.content, missing, conflict instanceof ConflictError, Boolean(page.next_cursor), event.type];
    }
  }
  const result = await main().catch((error) => String(error.stack));
  await fetch("/result", { method: "POST", body: JSON.stringify(result) });
</script>`;

/** Open a page in Chromium and return the result that it posts. */
async function opened(page, result) {
  const options = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"];
  const profile = mkdtempSync("/tmp/keeps-js-chromium-");
  const browser = spawn("chromium", [...options, `--user-data-dir=${profile}`, page], {
    stdio: "ignore",
    detached: true,
  });
  const exit = once(browser, "exit");
  try {
    return await result;
  } finally {
    process.kill(-browser.pid, "SIGKILL"); // Its children, too: they write into the profile.
    await exit;
    rmSync(profile, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 });
  }
}

const isThere = () => {
  try {
    return Boolean(execFileSync("sh", ["-c", "command -v chromium"], { encoding: "utf8" }));
  } catch {
    return false;
  }
};

test(
  "a page of an allowed origin uses the client",
  { skip: !process.env.CI && !isThere() && "no chromium" },
  async (t) => {
    let resolve;
    const result = new Promise((done) => (resolve = done));
    const pages = createServer(async (request, answer) => {
      const name = request.url.slice(1);
      if (request.method === "POST") {
        let body = "";
        for await (const chunk of request) body += chunk;
        answer.end();
        return resolve(JSON.parse(body));
      }
      if (name === "") return answer.writeHead(200, { "content-type": "text/html; charset=utf-8" }).end(PAGE);
      if (!/^\w+\.js$/.test(name)) return answer.writeHead(404).end();
      answer
        .writeHead(200, { "content-type": "text/javascript; charset=utf-8" })
        .end(readFileSync(new URL(name, BUILD)));
    }).listen(0, "127.0.0.1");
    await once(pages, "listening");
    t.after(() => {
      pages.closeAllConnections();
      pages.close();
    });
    const caller = encodeURIComponent(JSON.stringify({ baseUrl: URL_OF_SERVER, token: tokenOf(newTenant(), "alice") }));
    const page = `http://127.0.0.1:${pages.address().port}/#${caller}`;
    assert.deepEqual(await opened(page, result), [
      "Alice is allergic to peanuts. 🥜",
      null,
      true,
      true,
      "memory.written",
    ]);
  },
);
