// Runs the tests against `keeps serve` with a database of its own: `npm test`. Arguments are passed to `node --test`.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, existsSync, mkdtempSync, readFileSync, readdirSync, rmSync } from "node:fs";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const KEEPS = process.env.KEEPS_COMMAND ?? `${ROOT}../.venv/bin/keeps`;
const FORMAT = ["node_modules/prettier/bin/prettier.cjs", "--check", "--log-level=warn", "."];
const SECRET = "a secret of the tests, long enough for any HMAC that is tried here";
// Under root the database runs as the user `keeps`, who must reach the home.
const home = mkdtempSync("/tmp/keeps-js-");
chmodSync(home, 0o755);

const environment = Object.entries(process.env).filter(([name]) => !name.startsWith("KEEPS_"));
const server = spawn(KEEPS, ["serve", "--port", "0"], {
  env: {
    ...Object.fromEntries(environment),
    KEEPS_HOME: `${home}/home`,
    KEEPS_AUTH: "jwt+keys",
    KEEPS_JWT_SECRET: SECRET,
    KEEPS_CORS_ORIGINS: "*",
  },
  stdio: ["ignore", "ignore", "pipe"],
});
// An interrupted run ends by its tests, which fail without the server, so that nothing is left behind.
for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => server.kill());
let code = 1;
try {
  const [url] = await Promise.all([addressOf(server), run(["scripts/build.mjs"]), run(FORMAT)]);
  const names = process.argv.slice(2);
  const files = readdirSync(`${ROOT}test`)
    .filter((name) => name.endsWith(".test.mjs"))
    .map((name) => `test/${name}`);
  code = await run(
    [
      "--test",
      "--test-reporter=spec",
      "--test-concurrency=5",
      "--test-timeout=120000",
      ...(names.length ? names : files),
    ],
    {
      KEEPS_TEST_URL: url,
      KEEPS_TEST_SECRET: SECRET,
    },
  );
} finally {
  server.kill("SIGTERM");
  if (server.exitCode === null) await once(server, "exit");
  removeHome();
}
process.exitCode = code;

async function run(command, environment = {}) {
  const child = spawn(process.execPath, command, {
    cwd: ROOT,
    env: { ...process.env, ...environment },
    stdio: "inherit",
  });
  const [code] = await once(child, "exit");
  if (code !== 0 && command[0] !== "--test") throw new Error(`${command.join(" ")} failed`);
  return code;
}

/** Return the address of a server, from the text with which it starts. */
async function addressOf(child) {
  let banner = "";
  for await (const chunk of child.stderr.setEncoding("utf8")) {
    banner += chunk;
    const address = /http:\/\/[\d.]+:\d+/.exec(banner);
    if (address && banner.includes("embedder")) {
      child.stderr.on("data", () => undefined);
      child.stderr.resume();
      return address[0];
    }
  }
  throw new Error(`keeps serve ended: ${banner}`);
}

/** Remove the home, with the data that the launcher put elsewhere. */
function removeHome() {
  for (const entry of readdirSync(home, { recursive: true })) {
    if (!String(entry).endsWith("server.location")) continue;
    const location = readFileSync(`${home}/${entry}`, "utf8").trim();
    if (existsSync(location)) rmSync(location, { recursive: true });
  }
  rmSync(home, { recursive: true });
}
