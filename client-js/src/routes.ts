/** Types of the routes of the HTTP API. */

import type { components, paths } from "./openapi.js";

export type Schemas = components["schemas"];
export type Verb = "get" | "post" | "put" | "patch" | "delete";
export type Path = keyof paths;

/** Paths that have this verb. */
export type PathOf<V extends Verb> = { [P in Path]: paths[P][V] extends object ? P : never }[Path];
type OperationOf<V extends Verb, P extends Path> = NonNullable<paths[P][V]>;
type ContentOf<T> = T extends { content: { "application/json": infer Content } } ? Content : never;

/** The query parameters of a route. */
export type Query<V extends Verb, P extends Path> =
  OperationOf<V, P> extends { parameters: { query?: infer Q } } ? NonNullable<Q> : never;

/** The JSON body of a route. */
export type Body<V extends Verb, P extends Path> =
  OperationOf<V, P> extends { requestBody?: infer B } ? ContentOf<NonNullable<B>> : never;

/** The JSON answer of a route. */
export type Result<V extends Verb, P extends Path> =
  OperationOf<V, P> extends { responses: infer R } ? ContentOf<R[keyof R]> : never;

type PathNames<P extends Path, V extends Verb> =
  OperationOf<V, P> extends { parameters: { path: infer Names } } ? Names : never;
type Optional<Name extends string, T> = [T] extends [never] ? unknown : { [N in Name]?: T };
type Required<Name extends string, T> = [T] extends [never] ? unknown : { [N in Name]: T };

/** The parts of a request: `path` has the names in braces, `query` and `body` are those of the route. */
export type Parts<V extends Verb, P extends Path> = Required<"path", PathNames<P, V>> &
  Optional<"query", Query<V, P>> &
  Required<"body", Body<V, P>>;

/** The fields of a body without those that are arguments of their own. */
export type Fields<V extends Verb, P extends Path, Arguments extends string = never> = Omit<Body<V, P>, Arguments>;

/** One page of a list. Pass `next_cursor` as `cursor` for the next; there is none after the last. */
export interface Page<T> {
  items: T[];
  next_cursor?: string | null;
}
