import { createHash, randomBytes } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { mkdir, open } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { makeAdministrator } from './accounts.ts'
import { createRepository, git } from './git.ts'
import { lightCallsDuring } from './light-calls.ts'
import { median, quantile } from './measure.ts'
import type { ServerProcess } from './processes.ts'
import { mebibytes, table } from './report.ts'
import { sized } from './sizes.ts'

const ROUNDS = sized(3, 1)
const FILE_BYTES = sized(2 ** 29, 2 ** 18)
const CHUNK_BYTES = 2 ** 18

const UPLOADS_AT_ONCE = sized(8, 2)
const BYTES_AT_ONCE = sized(2 ** 26, 2 ** 18)
const CALL_EVERY_MS = 10
const IDLE_MS = sized(3_000, 50)

const BATCH_OBJECTS = 100
const BATCHES_OF_ROUND = sized(50, 1)
const PUSHES_OF_ROUND = sized(10, 1)

const SAMPLE_MS = 50
const LFS_TYPE = 'application/vnd.git-lfs+json'

interface Place {
  readonly server: ServerProcess
  readonly token: string
  /** URL of the repository in the API. */
  readonly api: string
  /** URL of its Git LFS. */
  readonly lfs: string
  readonly folder: string
}

interface Content {
  readonly path: string
  readonly oid: string
  readonly size: number
}

/** What a client does with an object. */
interface Action {
  readonly href: string
  readonly header: Record<string, string>
}

/** The answer to a batch. */
interface Batch {
  readonly objects: readonly [{ readonly actions: Record<'upload' | 'download', Action> }]
}

interface Timing {
  readonly ms: number
  readonly cpuMs: number
  /** Growth of the resident memory of the server. */
  readonly grownBytes: number
}

/**
 * Compares Git LFS with assets of releases, batches with a small call, light calls beside uploads with
 * those of an idle server, and pushes with a quota with those without.
 */
export async function measureLfs(
  start: (...options: readonly string[]) => Promise<ServerProcess>,
  folder: string,
): Promise<string> {
  await mkdir(folder, { recursive: true })
  const limits = ['--max-asset-bytes', '1GiB', '--max-lfs-bytes', '1GiB']
  const server = await start('--data', join(folder, 'data'), ...limits)
  const { personalAccessToken: token } = await makeAdministrator(server.url)
  await createRepository(server, token, 'large')
  const { origin } = server.url
  const api = `${origin}/api/v1/repos/ada/large`
  const place = { server, token, folder, api, lfs: `${origin}/ada/large.git/info/lfs` }
  await createBranch(place)
  process.stderr.write('lfs: transfers …\n')
  const transfers = await compareTransfers(place)
  process.stderr.write('lfs: light calls and batches …\n')
  const calls = await compareCalls(place)
  process.stderr.write('lfs: pushes with a quota …\n')
  return [transfers, calls, await compareQuotas(start, folder)].join('\n\n')
}

/** A release needs a commit. */
async function createBranch({ api, token, folder }: Place): Promise<void> {
  const content = Buffer.from('text').toString('base64')
  await send(`${api}/contents/a.txt`, token, { content })
  await mkdir(join(folder, 'files'))
}

async function compareTransfers(place: Place): Promise<string> {
  const rounds = { up: [] as [Timing, Timing][], down: [] as [Timing, Timing][] }
  for (let round = 0; round < ROUNDS; round++) {
    const content = await createContent(place, FILE_BYTES)
    const asset = await uploadAsset(place, content, round)
    const object = await uploadObject(place, content)
    rounds.up.push([asset.timing, object])
    const ofAsset = await measure(place, () => download(asset.url, {}, content))
    const action = (await batch(place, 'download', [content])).objects[0].actions.download
    const ofObject = await measure(place, () => download(action.href, action.header, content))
    rounds.down.push([ofAsset, ofObject])
  }
  const size = `${Math.round(FILE_BYTES / 2 ** 20)} MiB`
  const row = (name: string, timings: readonly [Timing, Timing][]) => {
    const figure = (value: (round: [Timing, Timing]) => number) => median(timings.map(value))
    return [
      `${name} of ${size}`,
      figure(([asset]) => asset.ms).toFixed(0),
      figure(([, object]) => object.ms).toFixed(0),
      figure(([asset, object]) => asset.ms / object.ms).toFixed(2),
      figure(([asset, object]) => asset.cpuMs / object.cpuMs).toFixed(2),
      mebibytes(Math.max(...timings.map(([, { grownBytes }]) => grownBytes))),
    ]
  }
  const columns = ['asset ms', 'Git LFS ms', 'ratio', 'CPU ratio', 'MiB grown']
  const rows = [row('upload', rounds.up), row('download', rounds.down)]
  return table(['Git LFS beside assets of releases', ...columns], rows)
}

async function compareCalls(place: Place): Promise<string> {
  const contents: Content[] = []
  for (let i = 0; i <= UPLOADS_AT_ONCE; i++)
    contents.push(await createContent(place, BYTES_AT_ONCE))
  const [first, ...others] = contents as [Content, ...Content[]]
  const one = await uploadObject(place, first)
  const idleMs = await p99(place, () => new Promise((resolve) => setTimeout(resolve, IDLE_MS)))
  let busy = one
  const busyMs = await p99(place, async () => {
    busy = await measure(place, () =>
      Promise.all(others.map((content) => uploadObject(place, content))),
    )
  })
  const small: Content[] = []
  for (let i = 0; i < BATCH_OBJECTS; i++) {
    const content = await createContent(place, 64)
    await uploadObject(place, content)
    small.push(content)
  }
  const batchMs = await perCall(() => batch(place, 'download', small))
  const getMs = await perCall(() => send(place.api, place.token))
  const rate = ({ ms }: Timing, count: number) => (count * BYTES_AT_ONCE) / 2 ** 20 / (ms / 1000)
  const [alone, together] = [rate(one, 1), rate(busy, UPLOADS_AT_ONCE)]
  const row = (name: string, from: number, to: number, of: string) => [
    name,
    from.toFixed(1),
    to.toFixed(1),
    (to / from).toFixed(2),
    of,
  ]
  return table(
    ['Calls', 'of', 'figure', 'ratio', 'compared with'],
    [
      row(`${UPLOADS_AT_ONCE} uploads at once, MiB a second`, alone, together, 'one upload'),
      row(`GetUser beside ${UPLOADS_AT_ONCE} uploads, p99 ms`, idleMs, busyMs, 'an idle server'),
      row(`batch of ${BATCH_OBJECTS} stored objects, ms`, getMs, batchMs, 'GET of the repository'),
    ],
  )
}

/** Pushes small commits to a server with a limit for each repository, and to one without, in turn. */
async function compareQuotas(
  start: (...options: readonly string[]) => Promise<ServerProcess>,
  folder: string,
): Promise<string> {
  const open = async (name: string, ...options: readonly string[]) => {
    const server = await start('--data', join(folder, name), ...options)
    const { personalAccessToken: token } = await makeAdministrator(server.url)
    const clone = join(folder, `${name}-clone`)
    await mkdir(clone)
    await git(clone, 'init', '-q', '-b', 'main')
    const url = await createRepository(server, token, 'pushed')
    return { server, clone, url }
  }
  const both = [await open('free'), await open('limited', '--quota-repository', '10GiB')] as const
  const push = async ({ server, clone, url }: (typeof both)[number]) => {
    for (let i = 0; i < PUSHES_OF_ROUND; i++)
      await git(clone, 'commit', '-q', '--allow-empty', '-m', `${i}`)
    const timing = await measure({ server }, async () => {
      for (let i = PUSHES_OF_ROUND - 1; i >= 0; i--)
        await git(clone, 'push', '-q', url, `HEAD~${i}:refs/heads/main`)
    })
    return { ms: timing.ms / PUSHES_OF_ROUND, cpuMs: timing.cpuMs / PUSHES_OF_ROUND }
  }
  const rounds: { free: { ms: number; cpuMs: number }; limited: { ms: number; cpuMs: number } }[] =
    []
  for (let round = 0; round <= ROUNDS; round++) {
    const timings = { free: await push(both[0]), limited: await push(both[1]) }
    // The first round warms up.
    if (round > 0) rounds.push(timings)
  }
  const row = (name: string, key: 'ms' | 'cpuMs') => [
    name,
    median(rounds.map(({ free }) => free[key])).toFixed(1),
    median(rounds.map(({ limited }) => limited[key])).toFixed(1),
    median(rounds.map(({ free, limited }) => limited[key] - free[key])).toFixed(1),
  ]
  const title = 'A push of one commit'
  return table(
    [title, 'without a quota', 'with', 'difference'],
    [row('ms', 'ms'), row('CPU ms', 'cpuMs')],
  )
}

/** Writes a file of random bytes. */
async function createContent({ folder }: Place, size: number): Promise<Content> {
  const path = join(folder, 'files', randomBytes(8).toString('hex'))
  const hash = createHash('sha256')
  const file = await open(path, 'w')
  for (let written = 0; written < size; written += CHUNK_BYTES) {
    const chunk = randomBytes(Math.min(CHUNK_BYTES, size - written))
    hash.update(chunk)
    await file.write(chunk)
  }
  await file.close()
  return { path, size, oid: hash.digest('hex') }
}

async function uploadAsset(place: Place, content: Content, round: number) {
  const { api, token } = place
  const draft = { tag_name: `v${round}`, name: `v${round}` }
  const release = await send<{ id: number }>(`${api}/releases`, token, draft)
  let url = ''
  const timing = await measure(place, async () => {
    const headers = { 'content-type': 'application/octet-stream' }
    const to = `${api}/releases/${release.id}/assets?name=large.bin`
    const answer = await stream(to, 'POST', { ...bearer(token), ...headers }, content)
    url = ((await answer.json()) as { browser_download_url: string }).browser_download_url
  })
  return { timing, url }
}

async function uploadObject(place: Place, content: Content): Promise<Timing> {
  const { actions } = (await batch(place, 'upload', [content])).objects[0]
  return measure(place, () => stream(actions.upload.href, 'PUT', actions.upload.header, content))
}

function batch({ lfs, token }: Place, operation: string, objects: readonly Content[]) {
  const wanted = objects.map(({ oid, size }) => ({ oid, size }))
  const authorization = `Basic ${Buffer.from(`ada:${token}`).toString('base64')}`
  return sendAs<Batch>(`${lfs}/objects/batch`, { authorization, accept: LFS_TYPE }, LFS_TYPE, {
    operation,
    objects: wanted,
  })
}

function bearer(token: string) {
  return { authorization: `Bearer ${token}` }
}

function send<T>(url: string, token: string, body?: object): Promise<T> {
  return sendAs<T>(url, bearer(token), 'application/json', body)
}

async function sendAs<T>(
  url: string,
  headers: Record<string, string>,
  type: string,
  body?: object,
): Promise<T> {
  const response = await fetch(url, {
    ...(body && { method: 'POST', body: JSON.stringify(body) }),
    headers: { ...headers, ...(body && { 'content-type': type }) },
  })
  if (!response.ok) throw new Error(`${url} is answered ${response.status}`)
  return (await response.json()) as T
}

async function stream(
  url: string,
  method: string,
  headers: Record<string, string>,
  { path, size }: Content,
): Promise<Response> {
  const body = Readable.toWeb(createReadStream(path, { highWaterMark: CHUNK_BYTES }))
  const response = await fetch(url, {
    method,
    headers: { ...headers, 'content-length': String(size) },
    body: body as ReadableStream,
    duplex: 'half',
  } as RequestInit)
  if (!response.ok) throw new Error(`${url} is answered ${response.status}`)
  return response
}

async function download(url: string, headers: Record<string, string>, { size }: Content) {
  const response = await fetch(url, { headers })
  let bytes = 0
  for await (const chunk of response.body ?? []) bytes += chunk.length
  if (bytes !== size) throw new Error(`${url} has ${bytes} bytes instead of ${size}`)
}

async function measure(
  { server }: Pick<Place, 'server'>,
  work: () => Promise<unknown>,
): Promise<Timing> {
  const beforeBytes = server.residentBytes() ?? 0
  let peakBytes = beforeBytes
  const sampling = setInterval(() => {
    peakBytes = Math.max(peakBytes, server.residentBytes() ?? 0)
  }, SAMPLE_MS)
  const cpuBeforeMs = server.cpuMs() ?? Number.NaN
  const startedMs = performance.now()
  try {
    await work()
  } finally {
    clearInterval(sampling)
  }
  const ms = performance.now() - startedMs
  const cpuMs = (server.cpuMs() ?? Number.NaN) - cpuBeforeMs
  return { ms, cpuMs, grownBytes: peakBytes - beforeBytes }
}

async function p99({ server }: Place, work: () => Promise<unknown>): Promise<number> {
  const probe = { name: 'REST', protocol: 'REST', url: server.url.origin } as const
  const options = { probes: [probe], intervalMs: CALL_EVERY_MS, username: 'ada' }
  const [calls] = await lightCallsDuring(options, work)
  return quantile(Float64Array.from(calls?.latenciesMs ?? []).sort(), 0.99)
}

/** Returns the median time of a call. */
async function perCall(call: () => Promise<unknown>): Promise<number> {
  const elapsedMs: number[] = []
  for (let i = 0; i < BATCHES_OF_ROUND; i++) {
    const startedMs = performance.now()
    await call()
    elapsedMs.push(performance.now() - startedMs)
  }
  return median(elapsedMs)
}
