import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { typesOf } from "../scripts/types.mjs";
import { URL_OF_SERVER, keyForAnyUser } from "./service.mjs";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const PEERS = ["@types/node", "ai", "@langchain/langgraph", "@langchain/langgraph-checkpoint"];
const run = promisify(execFile);
const folder = mkdtempSync("/tmp/keeps-js-package-");
const project = `${folder}/project`;
let environment;
let tarball;

before(async () => {
  const { stdout } = await run("npm", ["pack", "--ignore-scripts", "--json", "--pack-destination", folder], {
    cwd: ROOT,
  });
  tarball = JSON.parse(stdout)[0] ?? Object.values(JSON.parse(stdout))[0];
  mkdirSync(project);
  writeFileSync(`${project}/package.json`, '{ "name": "project", "private": true }');
  await run("npm", ["install", "--offline", "--no-audit", "--no-fund", `${folder}/${tarball.filename}`], {
    cwd: project,
  });
  environment = {
    ...process.env,
    KEEPS_URL: URL_OF_SERVER,
    KEEPS_TOKEN: await keyForAnyUser(),
    KEEPS_USER_ID: "alice",
  };
});
after(() => rmSync(folder, { recursive: true }));

const node = async (name, source) => {
  writeFileSync(`${project}/${name}`, source);
  return (await run(process.execPath, [name], { cwd: project, env: environment })).stdout;
};

test("the types are those of the service", async () => {
  const document = await (await fetch(`${URL_OF_SERVER}/openapi.json`)).json();
  const isCurrent = (await typesOf(document)) === readFileSync(`${ROOT}src/openapi.ts`, "utf8");
  assert(isCurrent, "src/openapi.ts is out of date: run `npm run types` in client-js");
});

test("the tarball has the builds, no sources of others and no dependencies", () => {
  const files = tarball.files.map((file) => file.path);
  assert.deepEqual(files.filter((path) => !/^dist\/(esm|cjs)\/\w+\.(d\.ts|js)$/.test(path)).sort(), [
    "LICENSE",
    "README.md",
    "dist/cjs/package.json",
    "package.json",
  ]);
  assert.deepEqual(
    readdirSync(`${project}/node_modules`).filter((name) => !name.startsWith(".")),
    ["keeps-client"],
  );
  const { version, dependencies } = JSON.parse(
    readFileSync(`${project}/node_modules/keeps-client/package.json`, "utf8"),
  );
  assert.equal(dependencies, undefined);
  assert.match(readFileSync(`${ROOT}../client/pyproject.toml`, "utf8"), new RegExp(`^version = "${version}"$`, "m"));
  assert(statSync(`${folder}/${tarball.filename}`).size < 100_000);
});

test("an empty project imports and requires the client", async () => {
  const use = `
    const main = async () => {
      const memory = MemoryClient.fromEnv();
      await memory.remember("Alice is allergic to peanuts.");
      const { hits } = await memory.recall("peanuts");
      const error = await memory.get("no-uuid").catch((error) => error);
      console.log(hits[0].memory.content, error instanceof KeepsError, error.code);
    };
    main();`;
  const expected = "Alice is allergic to peanuts. true not_found\n";
  assert.equal(await node("a.mjs", `import { KeepsError, MemoryClient } from "keeps-client"; ${use}`), expected);
  assert.equal(await node("a.cjs", `const { KeepsError, MemoryClient } = require("keeps-client"); ${use}`), expected);
  await assert.rejects(node("b.mjs", 'import "keeps-client/ai";'), /Cannot find package 'ai'/);
});

test("an empty project has the types, and needs none of Node", async () => {
  const required =
    'import keeps = require("keeps-client"); export const memory: keeps.MemoryClient = keeps.MemoryClient.fromEnv();';
  await check({ "main.cts": required, "main.mts": sourceOf("types.mts") }, { types: [], lib: ["es2022", "dom"] });
});

test("a browser can bundle the client: it imports nothing", () => {
  for (const name of readdirSync(`${ROOT}dist/esm`).filter((name) => /^(?!ai|langgraph).*\.js$/.test(name))) {
    const source = readFileSync(`${ROOT}dist/esm/${name}`, "utf8");
    assert.doesNotMatch(source, /from "(?!\.\/)|\bBuffer\b|\brequire\(|node:/, name);
  }
});

test("the entries for frameworks and the pages work in a project", async () => {
  for (const name of PEERS) {
    mkdirSync(dirname(`${project}/node_modules/${name}`), { recursive: true });
    symlinkSync(`${ROOT}node_modules/${name}`, `${project}/node_modules/${name}`);
  }
  const shown = "console.log(new KeepsStore().failures, Object.keys(keepsTools(MemoryClient.fromEnv())).length);";
  const names = [
    ["MemoryClient", ""],
    ["KeepsStore", "/langgraph"],
    ["keepsTools", "/ai"],
  ];
  const imports = names.map(([name, entry]) => `import { ${name} } from "keeps-client${entry}";`).join("\n");
  const requires = names.map(([name, entry]) => `const { ${name} } = require("keeps-client${entry}");`).join("\n");
  assert.equal(await node("c.mjs", `${imports}\n${shown}`), "0 4\n");
  assert.equal(await node("c.cjs", `${requires}\n${shown}`), "0 4\n");

  const pages = await Promise.all(["docs/javascript.md", "client-js/README.md"].map(codeOf));
  cpSync(`${ROOT}test/model.mjs`, `${project}/model.mjs`);
  for (const [number, code] of pages.entries()) {
    const logged = Array.from(code.matchAll(/console\.log\(.*\); \/\/ (.*)/g), ([, text]) => text);
    const output = await node(`page${number}.mjs`, code);
    if (logged.length > 0) assert.deepEqual(output.trimEnd().split("\n"), logged);
  }
  const required = names.map(([name, entry]) => `import ${name} = require("keeps-client${entry}");`);
  const used =
    "export const store = new KeepsStore.KeepsStore(), tools = keepsTools.keepsTools(MemoryClient.MemoryClient.fromEnv());";
  const files = {
    "frameworks.cts": [...required, used].join("\n"),
    "frameworks.mts": sourceOf("types-frameworks.mts"),
  };
  await check(files, { types: ["node"], skipLibCheck: true });
});

/** Run the compiler in the project. */
async function check(files, options) {
  for (const [name, source] of Object.entries(files)) writeFileSync(`${project}/${name}`, source);
  const compilerOptions = { module: "nodenext", target: "es2022", strict: true, noEmit: true, ...options };
  writeFileSync(`${project}/tsconfig.json`, JSON.stringify({ compilerOptions, files: Object.keys(files) }));
  const compiler = `${ROOT}node_modules/typescript-native/bin/tsc`;
  const { stdout } = await run(process.execPath, [compiler, "-p", project]).catch((error) => error);
  assert.equal(stdout, "");
}

function sourceOf(name) {
  return readFileSync(`${ROOT}test/${name}`, "utf8");
}

/** Return the code of a page, in one module, with the test's server and model, and a tenant of its own. */
async function codeOf(page) {
  const text = readFileSync(`${ROOT}../${page}`, "utf8");
  const blocks = Array.from(text.matchAll(/^```js\n(.*?)^```$/gms), ([, code]) => code);
  assert(blocks.length > 0);
  const place = `baseUrl: "${URL_OF_SERVER}", token: "${await keyForAnyUser()}"`;
  const code = blocks.join("\n").replaceAll('baseUrl: "http://127.0.0.1:8765"', () => place);
  return `import { model } from "./model.mjs";\n${code}`;
}
