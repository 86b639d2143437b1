/** JSON values: what can be stored, and the texts in it. Pure. */

import { ValidationFailedError } from "./errors.js";

/**
 * Return a value as JSON holds it. Dates become text; a value that JSON would lose silently throws.
 *
 * @param isStrict Refuse undefined fields, too: a filter without its condition would match everything.
 */
export function checkedJson(value: unknown, isStrict = false, path = ""): unknown {
  if (value === null || typeof value === "string" || typeof value === "boolean") return value;
  if (typeof value === "number" && Number.isFinite(value)) return value;
  if (Array.isArray(value)) return value.map((inner, place) => checkedJson(inner, isStrict, `${path}[${place}]`));
  if (typeof value === "object") {
    if ("toJSON" in value && typeof value.toJSON === "function") return checkedJson(value.toJSON(), isStrict, path);
    const prototype = Object.getPrototypeOf(value) as object | null;
    if (prototype === null || Object.getPrototypeOf(prototype) === null) {
      const entries = Object.entries(value).filter(([, inner]) => isStrict || inner !== undefined);
      const prefix = path && `${path}.`;
      return Object.fromEntries(entries.map(([name, inner]) => [name, checkedJson(inner, isStrict, prefix + name)]));
    }
  }
  const kind = typeof value === "object" ? (value as object).constructor?.name : typeof value;
  const what = typeof value === "number" ? String(value) : kind;
  const detail = `${path || "the value"} is ${what}, which JSON cannot hold; write text, a number, a list or an object`;
  throw new ValidationFailedError({ detail });
}

/** Return the texts at a path such as `a.b`, `c[*].d`, `e[-1]`, `{f,g}`, `*` or `$` in a JSON value. */
export function textsAt(value: unknown, path: string): string[] {
  return path === "$" ? [JSON.stringify(value)] : textsBelow(value, path.match(/\{[^}]*\}|\[[^\]]*\]|[^.[{]+/g) ?? []);
}

function textsBelow(value: unknown, tokens: string[]): string[] {
  const [token, ...rest] = tokens;
  if (value === null || value === undefined || value === "") return [];
  if (token === undefined) return [typeof value === "object" ? JSON.stringify(value) : String(value)];
  if (token.startsWith("{")) {
    const paths = token.slice(1, -1).split(",");
    return paths.flatMap((path) => textsBelow(value, [...(path.trim().match(/\[[^\]]*\]|[^.[]+/g) ?? []), ...rest]));
  }
  if (typeof value !== "object") return [];
  if (token === "*" || token === "[*]") return Object.values(value).flatMap((inner) => textsBelow(inner, rest));
  if (!token.startsWith("[")) return Object.hasOwn(value, token) ? textsBelow((value as Json)[token], rest) : [];
  return Array.isArray(value) ? textsBelow(value.at(Number(token.slice(1, -1))), rest) : [];
}

type Json = Record<string, unknown>;
