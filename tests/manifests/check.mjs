// Check manifests of Kubernetes, a JSON array on standard input, against the types and schemas of their kinds.
//
// The types, by TypeScript, find fields that do not exist, and values outside an enumeration; the validators, made of
// the same definitions, find formats and limits. Prints a JSON array of problems.
import { text } from "node:stream/consumers";
import ts from "typescript";

const MODELS = {
  "postgresql.cnpg.io": "@kubernetes-models/cloudnative-pg/postgresql.cnpg.io/v1/",
  "keda.sh": "@kubernetes-models/keda/keda.sh/v1alpha1/",
};
// The plugin's own kind is in no package. Its configuration is the one that the operator had before.
const STORE = "@kubernetes-models/cloudnative-pg/github.com/cloudnative-pg/barman-cloud/pkg/api/BarmanObjectStoreConfiguration";
const STORE_FIELDS = ["configuration", "retentionPolicy", "instanceSidecarConfiguration"];

function moduleOf({ apiVersion, kind }) {
  const [group, version] = apiVersion.includes("/") ? apiVersion.split("/") : ["", apiVersion];
  return (MODELS[group] ?? `kubernetes-models/${group ? `${group}/` : ""}${version}/`) + kind;
}

function part(manifest) {
  if (manifest.kind !== "ObjectStore") return [moduleOf(manifest), manifest.kind, manifest];
  return [STORE, "BarmanObjectStoreConfiguration", manifest.spec.configuration];
}

function typeProblems(parts) {
  const file = new URL("manifests.ts", import.meta.url).pathname;
  const lines = parts.map(([module, kind, value], index) =>
    `import type { I${kind} as T${index} } from "${module}"; export const m${index}: T${index} = ${JSON.stringify(value)};`);
  const options = {
    strict: true, noEmit: true, skipLibCheck: true, types: [], target: ts.ScriptTarget.ES2022,
    module: ts.ModuleKind.NodeNext, moduleResolution: ts.ModuleResolutionKind.NodeNext,
  };
  const host = ts.createCompilerHost(options);
  const { fileExists, readFile, getSourceFile } = host;
  host.fileExists = (name) => name === file || fileExists(name);
  host.readFile = (name) => (name === file ? lines.join("\n") : readFile(name));
  host.getSourceFile = (name, version, ...rest) =>
    name === file ? ts.createSourceFile(name, lines.join("\n"), version) : getSourceFile(name, version, ...rest);
  return ts.getPreEmitDiagnostics(ts.createProgram([file], options, host)).map((found) => {
    const line = found.file && found.start !== undefined ? found.file.getLineAndCharacterOfPosition(found.start).line : -1;
    return `${parts[line]?.[1] ?? "manifests"}: ${ts.flattenDiagnosticMessageText(found.messageText, " ")}`;
  });
}

async function schemaProblems([module, kind, value]) {
  const Model = (await import(module))[kind];
  try {
    new Model(value).validate();
    return [];
  } catch (error) {
    return [`${kind}: ${error.message}`];
  }
}

const manifests = JSON.parse(await text(process.stdin));
const parts = manifests.map(part);
const problems = typeProblems(parts);
for (const each of parts) problems.push(...(await schemaProblems(each)));
for (const { kind, spec } of manifests) {
  if (kind !== "ObjectStore") continue;
  const unknown = Object.keys(spec).filter((name) => !STORE_FIELDS.includes(name));
  if (unknown.length) problems.push(`ObjectStore: unknown fields ${unknown}`);
}
console.log(JSON.stringify(problems, null, 1));
