import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { cacheFolder } from '../../scripts/setup/addon-cache.mjs'
import { parseS3Address, type S3Address } from '../../src/platform/objects/s3/s3-address.ts'
import { freePort } from './free-port.ts'
import { isLongTier } from './tier.ts'

/** The S3 server of the tests, which Go compiles. */
const MODULE = 'github.com/versity/versitygw/cmd/versitygw@v1.8.0'
const TOOLS = join(cacheFolder(), '..', 'tools')
const PROGRAM = join(TOOLS, 'versitygw')
const BUILD_TIMEOUT_MS = 15 * 60_000

/** Why tests with an S3 server cannot run here; undefined if they can. The long tests compile the server. */
export function s3Obstacle(): string | undefined {
  if (existsSync(PROGRAM)) return undefined
  if (spawnSync('go', ['version'], { timeout: 20_000 }).status !== 0) return 'go is not installed'
  if (!isLongTier) return `${PROGRAM} is missing, which the long tests compile`
  const env = { ...process.env, GOBIN: TOOLS }
  const built = spawnSync('go', ['install', MODULE], { env, timeout: BUILD_TIMEOUT_MS })
  return built.status === 0 ? undefined : 'versitygw cannot be compiled'
}

const ACCESS_KEYS = { id: 'branchline', secret: 'a secret of the tests' }

/** An S3 server with a folder of its own. */
export interface S3Server {
  /** Absolute path. Each folder inside is a bucket. */
  readonly folder: string
  readonly url: string
  /** File with the access keys. */
  readonly keyFile: string
  /** Creates a bucket, and returns what `--object-storage` names. */
  bucket(name: string, endpoint?: string): Promise<string>
  /** Ends the process, and starts it again on the same port. */
  halt(): Promise<void>
  resume(): Promise<void>
  stop(): Promise<void>
}

export async function startS3Server(): Promise<S3Server> {
  const base = await mkdtemp(join(tmpdir(), 'branchline-s3-'))
  const folder = join(base, 'buckets')
  const metadata = join(base, 'metadata')
  for (const path of [folder, metadata]) await mkdir(path)
  const keyFile = join(base, 'keys')
  await writeFile(keyFile, `${ACCESS_KEYS.id}\n${ACCESS_KEYS.secret}\n`)
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  let child: ChildProcess | undefined
  const server: S3Server = {
    folder,
    url,
    keyFile,
    async bucket(name, endpoint = url) {
      await mkdir(join(folder, name))
      return `s3://${name}/forge?endpoint=${endpoint}`
    },
    async halt() {
      if (!child) return
      child.kill('SIGKILL')
      await once(child, 'exit')
      child = undefined
    },
    async resume() {
      const args = ['--port', `127.0.0.1:${port}`, '--keep-alive', '--quiet']
      child = spawn(PROGRAM, [...args, 'posix', '--sidecar', metadata, folder], {
        env: { ROOT_ACCESS_KEY: ACCESS_KEYS.id, ROOT_SECRET_KEY: ACCESS_KEYS.secret },
        stdio: 'ignore',
      })
      while (!(await fetch(url).catch(() => undefined))) await new Promise(setImmediate)
    },
    async stop() {
      await server.halt()
      await rm(base, { recursive: true })
    },
  }
  await server.resume()
  return server
}

/** Returns the parsed address of a bucket. */
export function addressOf(text: string): S3Address {
  return parseS3Address(text)
}

/** What a proxy does with a request instead of passing it on; undefined for nothing. */
export type Fault = (
  request: IncomingMessage,
  response: ServerResponse,
) => 'handled' | 'half' | undefined

/** A proxy in front of an S3 server that makes faults. */
export interface FaultyProxy {
  readonly url: string
  fault: Fault
  /** Methods and paths of the requests so far. */
  readonly requests: string[]
  stop(): Promise<void>
}

export async function startFaultyProxy(target: string): Promise<FaultyProxy> {
  const requests: string[] = []
  const server = createServer((incoming, response) => {
    requests.push(`${incoming.method} ${incoming.url}`)
    const fault = proxy.fault(incoming, response)
    if (fault === 'handled') return
    const { method, url: path, headers } = incoming
    const outgoing = request(`${target}${path}`, { method, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers)
      if (fault === undefined) answer.pipe(response)
      else
        answer.once('data', (chunk: Buffer) => {
          response.write(chunk.subarray(0, chunk.length / 2), () => response.destroy())
          answer.destroy()
        })
    })
    outgoing.on('error', () => response.destroy())
    response.on('close', () => outgoing.destroy())
    incoming.pipe(outgoing)
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo
  const proxy: FaultyProxy = {
    url: `http://127.0.0.1:${port}`,
    fault: () => undefined,
    requests,
    async stop() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
  return proxy
}
