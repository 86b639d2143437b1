// Checked by the compiler in a project that has only the tarball: it never runs.
import { ConflictError, MemoryClient, type Schemas } from "keeps-client";

const memory = new MemoryClient({ baseUrl: "http://127.0.0.1:8765", token: "keeps_" });

const receipt: Schemas["Receipt"] = await memory.remember("text", { kind: "episodic", tags: ["a"], index: "later" });
const content: string | undefined = receipt.memory?.content;
// @ts-expect-error a misspelt field
await memory.remember("text", { importence: 1 });
// @ts-expect-error a value that is not in the list
await memory.remember("text", { kind: "fact" });
// @ts-expect-error a session is needed
await memory.storeExchange([{ role: "user", content: "Hello." }], {});
// @ts-expect-error a field that hits do not have
(await memory.recall("question")).hits[0]?.text;

const entity = await memory.request("get", "/v1/graph/entities/{entity_id}", { path: { entity_id: "id" } });
const name: string = entity.name;
// @ts-expect-error the route has no such verb
await memory.request("put", "/v1/graph/entities", { body: {} });
// @ts-expect-error the path needs an id
await memory.request("get", "/v1/graph/entities/{entity_id}", {});
// @ts-expect-error the body needs a name
await memory.request("post", "/v1/graph/entities", { body: {} });

for await (const event of memory.subscribe({ kinds: ["semantic"] })) event.sequence satisfies number;
export const version = (error: unknown) => (error instanceof ConflictError ? error.currentVersion : undefined);
export { content, name };
