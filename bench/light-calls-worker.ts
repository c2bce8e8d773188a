import http from 'node:http'
import http2 from 'node:http2'
import { setTimeout as sleep } from 'node:timers/promises'
import { parentPort, workerData } from 'node:worker_threads'
import { create, toBinary } from '@bufbuild/protobuf'
import { GetUserRequestSchema } from '#gen/branchline/v1/user_service_pb.ts'
import type { LightCalls, LightCallsOptions, Probe } from './light-calls.ts'
import { envelope } from './requests.ts'

/** The client of light calls (bench/light-calls.ts). */
const { probes, intervalMs, username } = workerData as LightCallsOptions

/** Calls before the measurement: connections are open, and code is compiled. */
const WARM_UP_CALLS = 50

/** One way to ask for the account. */
interface Client {
  ask(): Promise<void>
  close(): void
}

interface Measured {
  readonly name: string
  readonly client: Client
  readonly calls: Promise<number>[]
}

const measured: Measured[] = probes.map((probe) => ({
  name: probe.name,
  client: probe.protocol === 'REST' ? restClient(probe) : grpcClient(probe),
  calls: [],
}))
for (const { client } of measured) for (let i = 0; i < WARM_UP_CALLS; i++) await client.ask()

let isOver = false
parentPort?.once('message', () => {
  isOver = true
})
parentPort?.postMessage('ready')
const clientLateMs = await sendCalls()
const results: LightCalls[] = []
for (const { name, client, calls } of measured) {
  results.push({ name, latenciesMs: await Promise.all(calls), clientLateMs })
  client.close()
}
parentPort?.postMessage(results)

/** Sends calls until the work is over. Returns the longest time by which one was sent late. */
async function sendCalls(): Promise<number> {
  let lateMs = 0
  const startedMs = performance.now()
  for (let index = 0; !isOver; index++) {
    const dueMs = startedMs + index * intervalMs
    await sleep(Math.max(0, dueMs - performance.now()))
    lateMs = Math.max(lateMs, performance.now() - dueMs)
    for (const { client, calls } of measured) {
      const call = client.ask().then(() => performance.now() - dueMs)
      // Awaited at the end.
      call.catch(() => {})
      calls.push(call)
    }
  }
  return lateMs
}

function restClient({ url }: Probe): Client {
  const agent = new http.Agent({ keepAlive: true })
  const target = new URL(`/api/v1/users/${username}`, url)
  return {
    ask: () =>
      new Promise((resolve, reject) => {
        const request = http.get(target, { agent }, (response) => {
          if (response.statusCode !== 200) reject(new Error(`a call is ${response.statusCode}`))
          response.on('end', resolve).on('error', reject).resume()
        })
        request.on('error', reject)
      }),
    close: () => agent.destroy(),
  }
}

function grpcClient({ url }: Probe): Client {
  const session = http2.connect(url)
  const headers = {
    ':method': 'POST',
    ':path': '/branchline.v1.UserService/GetUser',
    'content-type': 'application/grpc+proto',
    te: 'trailers',
  }
  const message = create(GetUserRequestSchema, { name: `users/${username}` })
  const body = envelope(toBinary(GetUserRequestSchema, message))
  return {
    ask: () =>
      new Promise((resolve, reject) => {
        const stream = session.request(headers)
        let status: unknown
        stream.on('trailers', (trailers) => {
          status = trailers['grpc-status']
        })
        stream.on('error', reject)
        stream.on('end', () => {
          if (status === '0') resolve()
          else reject(new Error(`a call has the status ${status}`))
        })
        stream.resume()
        stream.end(body)
      }),
    close: () => session.close(),
  }
}
