// Makes src/openapi.ts from the OpenAPI document of the service: `npm run types`, or with the URL of a server.
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import openapiTS, { astToString } from "openapi-typescript";

export const TARGET = fileURLToPath(new URL("../src/openapi.ts", import.meta.url));
const PYTHON = fileURLToPath(new URL("../../.venv/bin/python", import.meta.url));
const PRINT =
  "import json; from keeps.doors.server.openapi import openapi_document; print(json.dumps(openapi_document()))";
const NOTE = "// Made by scripts/types.mjs from the OpenAPI document of the service. Do not edit: `npm run types`.\n\n";

const DROPPED = new Set(["title", "example", "examples"]);
const ONCE_DOC = "/** Routes that are sent at most once, since the server stores no answer to repeat. */";

/** Return the source of src/openapi.ts. It leaves out headers and errors, the same for every route, and examples. */
export async function typesOf(document) {
  const short = JSON.parse(JSON.stringify(document, (name, value) => (isDropped(name, value) ? undefined : value)));
  const operations = Object.values(short.paths).flatMap(Object.values);
  for (const operation of operations) {
    operation.parameters = operation.parameters?.filter((parameter) => parameter.in !== "header");
    for (const status of Object.keys(operation.responses)) {
      if (Number(status) >= 400) delete operation.responses[status];
    }
  }
  const once = operations.filter((operation) => operation["x-keeps-repeatable"] === false);
  const names = once.map((operation) => `  ${JSON.stringify(operation.operationId)},\n`).join("");
  const types = astToString(await openapiTS(short, { defaultNonNullable: false }));
  return `${NOTE}${types}\n${ONCE_DOC}\nexport const SENT_ONCE: ReadonlySet<string> = new Set([\n${names}]);\n`;
}

/** A field of a model may be named `title`; then its value is a schema, not a text. */
function isDropped(name, value) {
  return DROPPED.has(name) && (name !== "title" || typeof value === "string");
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const address = process.argv[2];
  const document = address
    ? await (await fetch(`${address}/openapi.json`)).json()
    : JSON.parse(execFileSync(PYTHON, ["-c", PRINT], { encoding: "utf8", maxBuffer: 1 << 26 }));
  const source = await typesOf(document);
  if (source !== readFileSync(TARGET, "utf8")) writeFileSync(TARGET, source);
}
