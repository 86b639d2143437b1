/** Server-sent events. Pure. */

/** Parses `text/event-stream`. `data` is undefined if only the number advanced. */
export class EventParser {
  #rest = "";

  /** Return the complete events so far. A block that the connection cuts off is never taken as complete. */
  feed(chunk: string): { sequence: number; data: string | undefined }[] {
    const blocks = (this.#rest + chunk).split("\n\n");
    this.#rest = blocks.pop() ?? "";
    return blocks.flatMap((block) => {
      const fields = new Map(block.split("\n").flatMap(fieldOf));
      const id = fields.get("id") ?? "";
      return /^\d+$/.test(id) ? [{ sequence: Number(id), data: fields.get("data") }] : [];
    });
  }
}

/** Return the milliseconds before a stream is opened again: almost none, and more while it fails. */
export function reconnectMs(failures: number): number {
  return failures === 0 ? 20 : Math.min(5_000, 100 * 2 ** Math.min(failures, 6)) * (0.5 + Math.random() / 2);
}

function fieldOf(line: string): [string, string][] {
  const colon = line.indexOf(": ");
  return colon < 1 ? [] : [[line.slice(0, colon), line.slice(colon + 2)]];
}
