// The server of a test run, callers with tenants of their own, and a proxy that loses answers.
import { createHmac, randomUUID } from "node:crypto";
import { once } from "node:events";
import { createServer, request } from "node:http";
import { MemoryClient } from "keeps-client";

export const URL_OF_SERVER = process.env.KEEPS_TEST_URL;
const SECRET = process.env.KEEPS_TEST_SECRET;

/** Return a JWT. */
export function tokenOf(tenant, user, role = "writer") {
  const claims = { tenant_id: tenant, roles: [role], exp: Math.floor(Date.now() / 1000) + 600, sub: user };
  const [head, body] = [{ alg: "HS256", typ: "JWT" }, claims].map((part) => encoded(JSON.stringify(part)));
  return `${head}.${body}.${createHmac("sha256", SECRET).update(`${head}.${body}`).digest("base64url")}`;
}

export function newTenant() {
  return `tenant-${randomUUID().slice(0, 8)}`;
}

/** Return the memory of a user in a new tenant. */
export function newMemory(options = {}) {
  return new MemoryClient({ baseUrl: URL_OF_SERVER, token: tokenOf(newTenant(), "alice"), ...options });
}

/** Return an API key that may act for any user of a tenant. */
export async function keyForAnyUser(tenant = newTenant()) {
  const admin = new MemoryClient({ baseUrl: URL_OF_SERVER, token: tokenOf(tenant, "admin", "admin") });
  const made = await admin.request("post", "/v1/admin/keys", { body: { name: "app", roles: ["writer"] } });
  return made.secret;
}

/**
 * Start a proxy in front of the server. `fault(number, request)` says what happens to a request: undefined passes it,
 * "lost" loses the answer of a request that was done, "away" drops the request, "hangs" never answers, and an object
 * with status, headers and body answers in the server's place. Returns `url`, the `requests` and `close`.
 */
export async function proxy(fault) {
  const requests = [];
  const server = createServer((incoming, answer) => {
    requests.push(incoming);
    const what = fault(requests.length, incoming);
    if (what === "hangs") return;
    if (what === "away") return incoming.socket.destroy();
    if (typeof what === "object") return answer.writeHead(what.status, what.headers).end(what.body ?? "");
    const headers = { ...incoming.headers, host: new URL(URL_OF_SERVER).host };
    // A connection of its own: one that the server closes while it is idle would look like a fault.
    const options = { method: incoming.method, headers, agent: false };
    const outgoing = request(URL_OF_SERVER + incoming.url, options, (response) => {
      if (what === "lost") return response.resume().on("end", () => incoming.socket.destroy());
      answer.writeHead(response.statusCode, response.headers);
      response.pipe(answer);
    });
    answer.on("close", () => outgoing.destroy());
    outgoing.on("error", () => incoming.socket.destroy());
    incoming.pipe(outgoing);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const close = () => {
    server.closeAllConnections();
    server.close();
  };
  return { url: `http://127.0.0.1:${server.address().port}`, requests, close };
}

/** Return all values of an async iterator. */
export async function collected(iterator) {
  const values = [];
  for await (const value of iterator) values.push(value);
  return values;
}

function encoded(text) {
  return Buffer.from(text).toString("base64url");
}
