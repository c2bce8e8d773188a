import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import http2 from 'node:http2'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { create, toBinary } from '@bufbuild/protobuf'
import { WebSocket } from 'undici'
import { GetUserRequestSchema } from '#gen/branchline/v1/user_service_pb.ts'
import { insertAccounts, makeAdministrator, usernameOf } from './accounts.ts'
import { http1 } from './http1-load.ts'
import { http2Frames } from './http2-load.ts'
import type { LoadClient } from './load.ts'
import { median } from './measure.ts'
import { type ServerProcess, startProgram } from './processes.ts'
import { envelope, get, post, postJson, type Request } from './requests.ts'

/**
 * Sends a million calls on all protocols, among them refused ones and streams that are cancelled,
 * and fails if the memory of the server keeps growing. scripts/soak.mjs builds everything and passes
 * the bundle of the server before the arguments of the user.
 */
const [server = '', ...args] = process.argv.slice(2)
const { values } = parseArgs({ args, options: { calls: { type: 'string', default: '1000000' } } })
const CALLS = Number(values.calls)

const ROUNDS = 20
const MAX_MS = 20 * 60_000

/** Rounds until caches and the heap have their usual size. */
const WARM_UP_ROUNDS = 8

/** Growth of the heap from the first rounds after the warm-up to the last ones that noise explains. */
const MAX_GROWTH_BYTES = 2 * 1024 ** 2

/** One load of a kind, repeated until there are enough calls. */
const LOAD = { inFlight: 32, durationMs: 100 }

const CANCELLED_STREAMS = 20
const ACCOUNTS = 100

const GET_USER = '/branchline.v1.UserService/GetUser'
const WATCH = '/grpc.health.v1.Health/Watch'

interface Kind {
  readonly name: string
  readonly client: LoadClient
  readonly requests: readonly Request[]
}

function kindsOf(token: string): Kind[] {
  const names = Array.from({ length: ACCOUNTS - 1 }, (_, i) => `users/${usernameOf(i)}`)
  const messages = names.map((name) =>
    toBinary(GetUserRequestSchema, create(GetUserRequestSchema, { name })),
  )
  const binary = { 'content-type': 'application/proto' }
  const grpc = { 'content-type': 'application/grpc', te: 'trailers' }
  const grpcWeb = { 'content-type': 'application/grpc-web' }
  const rest = names.map((name) => get(`/api/v1/${name}`))
  const enveloped = (headers: Record<string, string>) =>
    messages.map((message) => post(GET_USER, headers, envelope(message)))
  return [
    { name: 'REST', client: http1, requests: rest },
    { name: 'REST, signed in', client: http1, requests: [get(`/api/v1/${names[0]}`, token)] },
    { name: 'REST over HTTP/2', client: http2Frames, requests: rest },
    { name: 'not found', client: http1, requests: [get('/api/v1/users/nobody')] },
    { name: 'no route', client: http1, requests: [get('/api/v1/nothing/at/all')] },
    { name: 'malformed', client: http1, requests: [post(GET_USER, binary, Buffer.from([10, 99]))] },
    { name: 'list', client: http1, requests: [get('/api/v1/users?pageSize=5', token)] },
    {
      name: 'Connect JSON',
      client: http1,
      requests: names.map((name) => postJson(GET_USER, { name })),
    },
    {
      name: 'Connect binary over HTTP/2',
      client: http2Frames,
      requests: messages.map((message) => post(GET_USER, binary, message)),
    },
    { name: 'gRPC', client: http2Frames, requests: enveloped(grpc) },
    {
      name: 'gRPC, malformed',
      client: http2Frames,
      requests: [post(GET_USER, grpc, envelope(Buffer.from([10, 99])))],
    },
    { name: 'gRPC-Web', client: http1, requests: enveloped(grpcWeb) },
  ]
}

/** Opens streams and leaves each after its first message. */
async function cancelStreams(url: URL): Promise<number> {
  const session = http2.connect(url)
  const headers = { ':method': 'POST', ':path': WATCH, 'content-type': 'application/grpc' }
  for (let i = 0; i < CANCELLED_STREAMS; i++) {
    const stream = session.request({ ...headers, te: 'trailers' })
    stream.on('error', () => {})
    stream.end(envelope(new Uint8Array()))
    await new Promise((resolve) => stream.once('data', resolve))
    stream.close(http2.constants.NGHTTP2_CANCEL)
  }
  await new Promise<void>((resolve) => session.close(resolve))
  return CANCELLED_STREAMS
}

/** Returns the heap of a process after a garbage collection, by its inspector. */
async function usedHeapBytes(inspectorPort: number): Promise<number> {
  const response = await fetch(`http://127.0.0.1:${inspectorPort}/json`)
  const targets = (await response.json()) as { webSocketDebuggerUrl: string }[]
  const socket = new WebSocket(targets[0]?.webSocketDebuggerUrl ?? '')
  await once(socket, 'open')
  try {
    let id = 0
    const ask = async (method: string) => {
      socket.send(JSON.stringify({ id: ++id, method }))
      const [{ data }] = await once(socket, 'message')
      return JSON.parse(data).result
    }
    await ask('HeapProfiler.collectGarbage')
    return (await ask('Runtime.getHeapUsage')).usedSize
  } finally {
    socket.close()
  }
}

const mib = (bytes: number) => `${(bytes / 1024 ** 2).toFixed(1)} MiB`

/** Sends all calls in rounds. Returns the size of the heap after each round. */
async function soak(
  branchline: ServerProcess,
  inspectorPort: number,
  kinds: readonly Kind[],
): Promise<number[]> {
  const startedMs = performance.now()
  const perKind = CALLS / ROUNDS / kinds.length
  const heaps: number[] = []
  let total = 0
  for (let round = 1; round <= ROUNDS; round++) {
    for (const { client, requests } of kinds) {
      let answered = 0
      while (answered < perKind)
        answered += (await client.load(branchline.url, requests, LOAD)).answered
      total += answered
    }
    total += await cancelStreams(branchline.url)
    const heap = await usedHeapBytes(inspectorPort)
    heaps.push(heap)
    const resident = branchline.residentBytes() ?? 0
    console.log(`round ${round}, ${total} calls: heap ${mib(heap)}, resident ${mib(resident)}`)
    if (performance.now() - startedMs > MAX_MS) throw new Error('the calls take too long')
  }
  return heaps
}

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1')
  await once(probe, 'listening')
  const { port } = probe.address() as AddressInfo
  probe.close()
  return port
}

const folder = await mkdtemp(join(tmpdir(), 'branchline-soak-'))
const inspectorPort = await freePort()
const branchline = await startProgram(process.execPath, [
  `--inspect=127.0.0.1:${inspectorPort}`,
  server,
  ...['serve', '--listen', '127.0.0.1:0', '--data', folder],
])
try {
  const { personalAccessToken } = await makeAdministrator(branchline.url)
  insertAccounts(join(folder, 'branchline.db'), ACCOUNTS - 1)
  const heaps = await soak(branchline, inspectorPort, kindsOf(personalAccessToken))
  const early = median(heaps.slice(WARM_UP_ROUNDS, WARM_UP_ROUNDS + 4))
  const growth = median(heaps.slice(-4)) - early
  console.log(`growth after the warm-up: ${mib(growth)}`)
  if (growth > MAX_GROWTH_BYTES) {
    console.error('the heap of the server keeps growing')
    process.exitCode = 1
  }
} finally {
  await branchline.stop()
  await rm(folder, { recursive: true })
}
