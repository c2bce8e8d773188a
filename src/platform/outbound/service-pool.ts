import type { Readable } from 'node:stream'
import { Pool } from 'undici'

/** A request to a service that the operator has named. */
export interface ServiceRequest {
  readonly method: 'GET' | 'HEAD' | 'PUT' | 'POST' | 'DELETE'
  /** Path and query. */
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: Readable | Buffer | undefined
  /** Cancels the request, and the response while its body is read. */
  readonly signal?: AbortSignal | undefined
}

export interface ServiceResponse {
  readonly status: number
  /** Keys are lower case. A repeated header has its first value. */
  readonly headers: ReadonlyMap<string, string>
  /** Must be read or destroyed. Emits an error when the response breaks off. */
  readonly body: Readable
}

/** The longest times without progress. */
export interface ServiceDeadlines {
  readonly connectMs: number
  /** From the last sent byte to the head of the response. */
  readonly answerMs: number
  /** Between two parts of the response body. The reader's own pauses do not count. */
  readonly idleMs: number
}

/** Connections to one service, which stay open for further requests. */
export interface ServicePool {
  /** @throws Error when there is no response. */
  request(request: ServiceRequest): Promise<ServiceResponse>
  /** Closes all connections at once. */
  close(): Promise<void>
}

/**
 * Creates a pool. The operator has named the service, so its addresses are not checked, and redirects are
 * not followed.
 *
 * @param origin scheme, host and port.
 */
export function createServicePool(origin: string, deadlines: ServiceDeadlines): ServicePool {
  const pool = new Pool(origin, {
    allowH2: false,
    connections: null,
    connect: { timeout: deadlines.connectMs },
    headersTimeout: deadlines.answerMs,
    bodyTimeout: deadlines.idleMs,
  })
  return {
    async request({ body = null, signal, ...request }) {
      const response = await pool.request({ ...request, body, signal: signal ?? null })
      const headers = Object.entries(response.headers).flatMap(
        ([name, value]): [string, string][] => {
          const first = Array.isArray(value) ? value[0] : value
          return first === undefined ? [] : [[name, first]]
        },
      )
      return { status: response.statusCode, headers: new Map(headers), body: response.body }
    },
    close: () => pool.destroy(),
  }
}
