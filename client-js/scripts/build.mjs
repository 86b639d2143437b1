// Builds dist/esm and dist/cjs. TypeScript takes the format of a file from the nearest package.json, so the CommonJS
// build compiles a copy of the sources beside a package.json of that type.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const COPY = `${ROOT}build/cjs`;
const COMMONJS = '{ "type": "commonjs" }\n';

for (const folder of ["dist", "build"]) rmSync(ROOT + folder, { recursive: true, force: true });
cpSync(`${ROOT}src`, `${COPY}/src`, { recursive: true });
const compilerOptions = { rootDir: "src", outDir: "../../dist/cjs" };
writeFileSync(
  `${COPY}/tsconfig.json`,
  JSON.stringify({ extends: "../../tsconfig.json", compilerOptions, include: ["src"] }),
);
mkdirSync(`${ROOT}dist/cjs`, { recursive: true });
for (const folder of [COPY, `${ROOT}dist/cjs`]) writeFileSync(`${folder}/package.json`, COMMONJS);
const codes = await Promise.all([ROOT, COPY].map(compile));
process.exitCode = Math.max(...codes);

async function compile(project) {
  const compiler = spawn(process.execPath, [`${ROOT}node_modules/typescript-native/bin/tsc`, "-p", project], {
    stdio: "inherit",
  });
  return (await once(compiler, "exit"))[0];
}
