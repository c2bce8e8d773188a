import http from 'node:http'
import http2 from 'node:http2'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { UNEXPECTED_COMPRESSION } from '../../src/platform/rpc/index.ts'
import { seededRandom } from '../platform/rpc/rest/random.ts'
import { isLongTier } from '../support/tier.ts'
import { type EchoServer, startEchoServer } from './echo-server.ts'
import { codecs, type FuzzRequest } from './inputs.ts'

/** `npm run fuzz` sets both. */
const INPUTS = Number(process.env.FUZZ_INPUTS ?? (isLongTier ? 1_000 : 300))
const SEED = Number(process.env.FUZZ_SEED ?? 1)

const IN_FLIGHT = 16
const TIMEOUT_MS = 120_000 + INPUTS * 10

interface Reply {
  readonly status: number
  /** The status of gRPC, of the headers or trailers. */
  readonly grpcStatus: string | undefined
  readonly body: Buffer
}

let server: EchoServer
const agent = new http.Agent({ keepAlive: true, maxSockets: IN_FLIGHT })
let session: http2.ClientHttp2Session

beforeAll(async () => {
  server = await startEchoServer()
  session = http2.connect(server.url)
})

afterAll(async () => {
  agent.destroy()
  session.destroy()
  await server.listener.close(0)
})

function overHttp1({ method, path, headers, body }: FuzzRequest): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const { port } = server
    const request = http.request({ agent, host: '127.0.0.1', port, method, path, headers })
    request.on('error', reject)
    request.on('response', async (response) => {
      const content = Buffer.concat(await response.toArray())
      const grpcStatus = /grpc-status: ?(\d+)/.exec(plainText(content))?.[1]
      resolve({ status: response.statusCode ?? 0, grpcStatus, body: content })
    })
    request.end(body)
  })
}

/** Content of gRPC-Web may be base64, in several parts. */
function plainText(content: Buffer): string {
  const text = content.toString('latin1')
  const parts = text.split(/(?<==)(?=[^=])/)
  return text + parts.map((part) => Buffer.from(part, 'base64').toString('latin1')).join('')
}

function overHttp2({ method, path, headers, body }: FuzzRequest): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const stream = session.request({ ':method': method, ':path': path, te: 'trailers', ...headers })
    const fields: Record<string, unknown> = {}
    stream.on('response', (received) => Object.assign(fields, received))
    stream.on('trailers', (received) => Object.assign(fields, received))
    stream.on('error', reject)
    stream.toArray().then((chunks) => {
      const grpcStatus = fields['grpc-status']
      resolve({
        status: Number(fields[':status']),
        grpcStatus: grpcStatus === undefined ? undefined : String(grpcStatus),
        body: Buffer.concat([...chunks, Buffer.from(String(fields['grpc-message'] ?? ''))]),
      })
    }, reject)
    stream.end(body)
  })
}

/** Statuses of a server that failed: Internal and Unknown. */
const FAULTS = new Set(['2', '13'])

/** Returns what is wrong with a reply, if anything. */
function complaintAbout({ status, grpcStatus, body }: Reply): string | undefined {
  const text = plainText(body)
  // gRPC prescribes Internal for this mistake of a client.
  if (text.includes(UNEXPECTED_COMPRESSION)) return undefined
  if (!(status >= 200 && status < 500) && ![501, 504].includes(status)) return `status ${status}`
  if (grpcStatus !== undefined && FAULTS.has(grpcStatus)) return `grpc-status ${grpcStatus}`
  if (/"code":"(?:internal|unknown)"/.test(text)) return `an error of the server: ${text}`
  return undefined
}

describe.each(codecs)('$name', (codec) => {
  it(`answers ${INPUTS} mutated requests (seed ${SEED})`, { timeout: TIMEOUT_MS }, async () => {
    const send = codec.isHttp2 ? overHttp2 : overHttp1
    let next = 0
    const work = async () => {
      while (next < INPUTS) {
        const index = next++
        const request = codec.request(seededRandom(SEED * 1_000_000 + index))
        const shown = () =>
          `input ${index}: ${JSON.stringify({ ...request, body: request.body?.toString('base64') })}`
        const reply = await send(request).catch((error: Error) => {
          throw new Error(`${error.message}, ${shown()}`)
        })
        const complaint = complaintAbout(reply)
        if (complaint !== undefined) throw new Error(`${complaint}, ${shown()}`)
      }
    }
    await Promise.all(Array.from({ length: IN_FLIGHT }, work))
    expect(server.faults).toEqual([])
    expect(server.openCalls()).toBe(0)
    const { waitingBytes, streams } = server.listener.figures()
    expect({ waitingBytes, streams }).toEqual({ waitingBytes: 0, streams: 0 })
  })
})
