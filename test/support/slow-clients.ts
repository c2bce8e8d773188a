import { readFile } from 'node:fs/promises'
import http2, {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  type IncomingHttpHeaders,
} from 'node:http2'

/** Resident memory of a process, in MiB (`VmRSS` of proc_pid_status(5)). */
export async function residentMib(pid: number | undefined): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8')
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]) / 1024
}

/**
 * An HTTP/2 connection that reads no byte of any answer's content: its window is closed from the
 * start.
 */
export interface SlowConnection {
  /** Asks, and waits for the headers of the answer, which flow control does not hold back. */
  ask(headers: Record<string, string>, body?: Uint8Array): Promise<IncomingHttpHeaders>
  readonly session: ClientHttp2Session
  close(): void
}

/** Opens such a connection. */
export function connectSlowly(url: string): SlowConnection {
  const session = http2.connect(url, { settings: { initialWindowSize: 0 } })
  session.on('error', () => {})
  return {
    session,
    ask: (headers, body) => askOn(session, headers, body).headers,
    close: () => session.destroy(),
  }
}

/** A stream of a session, and the headers of its answer; `{}` for one that is reset before. */
export function askOn(
  session: ClientHttp2Session,
  headers: Record<string, string>,
  body?: Uint8Array,
): { readonly stream: ClientHttp2Stream; readonly headers: Promise<IncomingHttpHeaders> } {
  const stream = session.request(headers, { endStream: body === undefined })
  stream.on('error', () => {})
  if (body) stream.end(body)
  const answered = new Promise<IncomingHttpHeaders>((resolve) => {
    stream.once('response', resolve)
    stream.once('close', () => resolve({}))
  })
  return { stream, headers: answered }
}
