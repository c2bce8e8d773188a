import http2, { type ClientHttp2Session } from 'node:http2'
import { setImmediate } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, expect } from 'vitest'
import {
  type Listener,
  type ListenOptions,
  listen,
} from '../../../../src/platform/http/listener/index.ts'
import type { ListenerLimits } from '../../../../src/platform/http/listener/limits.ts'
import type { HttpRequest, HttpResponse } from '../../../../src/platform/http/requests.ts'

/** Limits under which no test waits for long. Those not under test are far away. */
export const quickSweep = {
  sweepIntervalMs: 5,
  lingerTimeoutMs: 20,
} satisfies Partial<ListenerLimits>

/** A request that a test answers when it likes. */
export interface Held {
  readonly request: HttpRequest
  readonly response: HttpResponse
}

/** Answers with the method, the path and the body of the request. */
export function echo(request: HttpRequest, response: HttpResponse): void {
  const chunks: Buffer[] = []
  request.on('data', (chunk: Buffer) => chunks.push(chunk))
  request.on('end', () => response.end(`${request.method} ${request.url} ${Buffer.concat(chunks)}`))
}

/**
 * Answers `/hold...` when the test says so, reading its body meanwhile, and echoes the rest. `next`
 * gives the requests held, in order.
 */
export function holding(): {
  handler: (request: HttpRequest, response: HttpResponse) => void
  next: () => Promise<Held>
} {
  const held: Held[] = []
  const waiting: ((held: Held) => void)[] = []
  return {
    handler(request, response) {
      if (!request.url?.startsWith('/hold')) return echo(request, response)
      request.resume()
      const one = { request, response }
      const taker = waiting.shift()
      if (taker === undefined) held.push(one)
      else taker(one)
    },
    next: () =>
      new Promise((resolve) => {
        const one = held.shift()
        if (one === undefined) waiting.push(resolve)
        else resolve(one)
      }),
  }
}

/**
 * Starts listeners on a free port of loopback and HTTP/2 clients, and ends them after each test.
 */
export function useListeners() {
  const listeners: Listener[] = []
  const sessions: ClientHttp2Session[] = []
  const uncaught: unknown[] = []
  const onUncaught = (error: unknown): void => {
    uncaught.push(error)
  }
  beforeAll(() => {
    process.on('uncaughtException', onUncaught)
  })
  afterAll(() => {
    process.off('uncaughtException', onUncaught)
  })

  afterEach(async () => {
    // Node 20 loops without end when a session is destroyed within the callback that reports one of
    // its streams as reset.
    await setImmediate()
    for (const session of sessions.splice(0)) session.destroy()
    await Promise.all(listeners.splice(0).map((listener) => listener.close(0)))
    expect(uncaught).toEqual([])
  })

  return {
    async start(options: Partial<ListenOptions> = {}): Promise<Listener> {
      const listener = await listen({ host: '127.0.0.1', port: 0, handler: echo, ...options })
      listeners.push(listener)
      return listener
    },
    connectHttp2(url: string, options: http2.SecureClientSessionOptions = {}): ClientHttp2Session {
      const session = http2.connect(url, options)
      session.on('error', () => {})
      sessions.push(session)
      return session
    },
  }
}

/**
 * Sends one request on a session. Resolves with status and body, rejects when the stream is reset.
 */
export function requestHttp2(
  session: ClientHttp2Session,
  path: string,
  body = '',
): Promise<{ status: unknown; text: string }> {
  return new Promise((resolve, reject) => {
    const stream = session.request({ ':method': body === '' ? 'GET' : 'POST', ':path': path })
    let status: unknown
    let text = ''
    stream.setEncoding('utf8')
    stream.on('response', (headers) => {
      status = headers[':status']
    })
    stream.on('data', (chunk: string) => {
      text += chunk
    })
    stream.on('end', () => {
      if (status === undefined) reject(new Error('the connection closed before an answer'))
      else resolve({ status, text })
    })
    stream.on('error', reject)
    stream.on('aborted', () => reject(new Error(`stream reset with code ${stream.rstCode}`)))
    if (body !== '') stream.end(body)
  })
}
