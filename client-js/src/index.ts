/** The JavaScript client of Keeps, a memory service for AI agents. */

export { MemoryClient, type EventQuery, type MemoryName, type NewDocument, type ShareTarget } from "./client.js";
export * from "./errors.js";
export type { components, paths } from "./openapi.js";
export type { Body, Page, Parts, PathOf, Query, Result, Schemas, Verb } from "./routes.js";
export type { CallOptions, ClientOptions } from "./transport.js";
