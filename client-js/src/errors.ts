/** Errors of Keeps: a class for each code, with the same names as in Python. */

/** The body of an error, by RFC 9457. */
export interface Problem {
  code: string;
  detail: string;
  status?: number;
  request_id?: string;
  errors?: { field?: string; message?: string }[];
  current_version?: number | null;
  current?: unknown;
  retry_after_seconds?: number;
  rule?: string;
  kind?: string;
}

/** An operation that Keeps refuses or fails to do. `code` is stable; `detail` is for people. */
export class KeepsError extends Error {
  static readonly code: string = "error";
  static readonly status: number = 500;
  readonly code: string;
  readonly status: number;
  readonly detail: string;
  /** The id of the request in the server's log. */
  readonly requestId: string | undefined;

  constructor(problem: Partial<Problem> & { detail: string }, options?: ErrorOptions) {
    super(problem.detail, options);
    this.name = new.target.name;
    this.code = problem.code ?? new.target.code;
    this.status = problem.status ?? new.target.status;
    this.detail = problem.detail;
    this.requestId = problem.request_id;
  }
}

/** The input breaks a rule; `errors` has the field and message of each broken one. Nothing was written. */
export class ValidationFailedError extends KeepsError {
  static override readonly code: string = "validation_failed";
  static override readonly status: number = 422;
  readonly errors: { field?: string; message?: string }[];

  constructor(problem: Partial<Problem> & { detail: string }) {
    super(problem);
    this.errors = problem.errors ?? [];
  }
}

/** No usable credentials. */
export class UnauthenticatedError extends KeepsError {
  static override readonly code: string = "unauthenticated";
  static override readonly status: number = 401;
}

/** A known caller whose role does not allow it. */
export class ForbiddenError extends KeepsError {
  static override readonly code: string = "forbidden";
  static override readonly status: number = 403;
}

/** The tenant holds as much as it may, so nothing was written. */
export class QuotaExceededError extends ForbiddenError {
  static override readonly code: string = "quota_exceeded";
}

/** No such row that this caller may see. */
export class NotFoundError extends KeepsError {
  static override readonly code: string = "not_found";
  static override readonly status: number = 404;
}

/** A concurrent change: another version is stored. `currentVersion` and `current` are what is stored now. */
export class ConflictError extends KeepsError {
  static override readonly code: string = "conflict";
  static override readonly status: number = 409;
  readonly currentVersion: number | undefined;
  readonly current: unknown;

  constructor(problem: Partial<Problem> & { detail: string }) {
    super(problem);
    this.currentVersion = problem.current_version ?? undefined;
    this.current = problem.current;
  }
}

/** More bytes, or more values, than the limit allows. */
export class PayloadTooLargeError extends KeepsError {
  static override readonly code: string = "payload_too_large";
  static override readonly status: number = 413;
}

/** Too many calls; try again after `retryAfterSeconds`. */
export class RateLimitedError extends KeepsError {
  static override readonly code: string = "rate_limited";
  static override readonly status: number = 429;
  readonly retryAfterSeconds: number;

  constructor(problem: Partial<Problem> & { detail: string }) {
    super(problem);
    this.retryAfterSeconds = problem.retry_after_seconds ?? 1;
  }
}

/** A missing setting or package of the server; `detail` names it. */
export class NotConfiguredError extends KeepsError {
  static override readonly code: string = "not_configured";
  static override readonly status: number = 501;
}

/** The server, or its database, cannot be reached or is too busy. */
export class UnavailableError extends KeepsError {
  static override readonly code: string = "unavailable";
  static override readonly status: number = 503;
}

/** A query to a database that does not pass the gate; `rule` is the broken rule. */
export class QueryRefusedError extends KeepsError {
  static override readonly code: string = "query_refused";
  static override readonly status: number = 422;
  readonly rule: string;

  constructor(problem: Partial<Problem> & { detail: string }) {
    super(problem);
    this.rule = problem.rule ?? "";
  }
}

/** A queried database failed. `kind`: database, timeout, limit, connect or refused. */
export class DatabaseFailedError extends KeepsError {
  static override readonly code: string = "database_failed";
  static override readonly status: number = 424;
  readonly kind: string;

  constructor(problem: Partial<Problem> & { detail: string }) {
    super(problem);
    this.kind = problem.kind ?? "";
  }
}

const CLASSES = new Map(
  [
    ValidationFailedError,
    UnauthenticatedError,
    ForbiddenError,
    QuotaExceededError,
    NotFoundError,
    ConflictError,
    PayloadTooLargeError,
    RateLimitedError,
    NotConfiguredError,
    UnavailableError,
    QueryRefusedError,
    DatabaseFailedError,
  ].map((kind) => [kind.code, kind] as const),
);

/** Return the error of a response. A code without a class of its own, such as `internal`, is an UnavailableError. */
export function errorOf(status: number, body: string): KeepsError {
  let problem: unknown;
  try {
    problem = JSON.parse(body);
  } catch {
    problem = undefined;
  }
  if (!isProblem(problem)) {
    const detail = `HTTP ${status}, and not from Keeps; check the URL, and any proxy on the way`;
    return new UnavailableError({ detail, status });
  }
  return new (CLASSES.get(problem.code) ?? UnavailableError)({ ...problem, status });
}

function isProblem(body: unknown): body is Problem {
  const problem = body as Partial<Problem> | null | undefined;
  return typeof problem?.code === "string" && typeof problem.detail === "string";
}
