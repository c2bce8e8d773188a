import { execFile, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { cp, mkdir, mkdtemp, rename, rm, symlink } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { promisify } from 'node:util'
import { cacheFolder } from '../scripts/setup/addon-cache.mjs'
import { Sqlite } from '../src/platform/database/sqlite.ts'
import { makeAdministrator } from './accounts.ts'
import { createRepository, git } from './git.ts'
import { http1 } from './http1-load.ts'
import { median } from './measure.ts'
import type { ServerProcess } from './processes.ts'
import { mebibytes, table } from './report.ts'
import { get, postJson } from './requests.ts'
import { sized } from './sizes.ts'

const run = promisify(execFile)

/** As many commits as the history of Git itself had. */
const COMMITS = sized(60_000, 60)
const FILES = sized(4_000, 40)
const FOLDERS = 20
const FILES_PER_COMMIT = 3
/** Lines of text that no compression makes short, as many small files have. */
const LINES_OF_FILE = 16

/** The longest file, of which every twentieth commit changes a line. */
const LONG_FILE = 'long.txt'
const LINES_OF_LONG_FILE = sized(3_000, 30)
const COMMITS_PER_CHANGE = 20

/** Releases, at equal distances. Each round reads another one, so that no answer is repeated. */
const RELEASES = 6
const ROUNDS = sized([2, 3, 4, 5, 6], [2])

const FETCHED_COMMITS = 50
const POLL_MS = 200

/** The number of repositories of a server with many, and of one with few. */
const REPOSITORIES = { many: sized(10_000, 3), few: 10 }
const IDLE_MS = sized(10_000, 50)
/** A server that takes no more of a core looks at no repositories. */
const CALM_CPU_SHARE = sized(0.05, 100)

/** Folders of the repositories in the data folder, by the last digits of their ids. */
const SHARDS = 256

/** A change of the generated history. A cached history of another version is not used. */
const VERSION = 1

/** Starts the servers. */
export interface HistoryServers {
  start(...options: readonly string[]): Promise<ServerProcess>
  startBackend(folder: string): Promise<ServerProcess>
}

interface Timing {
  readonly ms: number
  readonly cpuMs: number
}

/** The same work, by Git and by Branchline. The round decides what is read. */
interface Trial {
  readonly name: string
  readonly of: string
  byGit(round: number): Promise<Timing>
  byBranchline(round: number): Promise<Timing>
}

interface Place {
  readonly server: ServerProcess
  readonly token: string
  readonly folder: string
  /** The bare repository of Branchline, whose files Git reads too. */
  readonly repository: string
  readonly url: string
  readonly backend: ServerProcess
  readonly backendUrl: string
}

/**
 * Compares Branchline with Git on a history of 60,000 commits, and a server that has many idle
 * repositories with one that has few.
 */
export async function measureHistories(servers: HistoryServers, folder: string): Promise<string> {
  await mkdir(folder, { recursive: true })
  process.stderr.write('histories: the history …\n')
  const source = await cachedHistory()
  const place = await openPlace(servers, folder)
  const rows: string[][] = []
  process.stderr.write('histories: push …\n')
  rows.push(await measurePush(place, source))
  await maintain(place)
  for (const trial of [...transfersOf(place), ...readsOf(place)]) {
    process.stderr.write(`histories: ${trial.name} …\n`)
    rows.push(await compare(trial))
  }
  const columns = ['Git ms', 'ms', 'ratio', 'Git CPU ms', 'CPU ms', 'CPU ratio', 'of']
  const title = `A history of ${COMMITS} commits`
  process.stderr.write('histories: idle repositories …\n')
  return `${table([title, ...columns], rows)}\n\n${await measureIdle(servers, folder)}`
}

/** Returns the path of the generated history. The first bench of a user creates it. */
async function cachedHistory(): Promise<string> {
  const path = join(cacheFolder(), '..', 'histories', `${COMMITS}-${VERSION}.git`)
  if (existsSync(path)) return path
  await mkdir(dirname(path), { recursive: true })
  const draft = await mkdtemp(join(dirname(path), 'draft-'))
  await run('git', ['init', '-q', '--bare', '-b', 'main', draft])
  const importer = spawn('git', ['-C', draft, 'fast-import', '--quiet'], {
    stdio: ['pipe', 'ignore', 'inherit'],
  })
  const exited = once(importer, 'exit')
  for (const part of historyParts())
    if (!importer.stdin.write(part)) await once(importer.stdin, 'drain')
  importer.stdin.end()
  const [code] = await exited
  if (code !== 0) throw new Error(`git fast-import ended with ${code}`)
  await rename(draft, path)
  return path
}

/** Yields the input of `git fast-import`, the same each time. */
function* historyParts(): Generator<string> {
  const long = Array.from({ length: LINES_OF_LONG_FILE }, (_, i) => `line ${i}`)
  for (let number = 0; number < COMMITS; number++) {
    const files: string[] = []
    for (let i = 0; i < FILES_PER_COMMIT; i++)
      files.push(fileOf(pathOf(number * (2 * i + 1) + i), textOf(`${number} ${i}`)))
    if (number % COMMITS_PER_CHANGE === 0) {
      const line = ((number / COMMITS_PER_CHANGE) * 37) % LINES_OF_LONG_FILE
      long[line] = `line ${line} of commit ${number}`
      files.push(fileOf(LONG_FILE, `${long.join('\n')}\n`))
    }
    const person = `Bench <bench@example.org> ${1_500_000_000 + 600 * number} +0000`
    yield `commit refs/heads/main\ncommitter ${person}\ndata 5\nwork\n${files.join('')}\n`
    const release = ((number + 1) * RELEASES) / COMMITS
    if (Number.isInteger(release)) yield `reset refs/tags/v${release}\nfrom refs/heads/main\n\n`
  }
}

function pathOf(seed: number): string {
  return `folder-${seed % FOLDERS}/file-${seed % FILES}.txt`
}

function fileOf(path: string, text: string): string {
  return `M 100644 inline ${path}\ndata ${text.length}\n${text}\n`
}

function textOf(seed: string): string {
  const lines = Array.from({ length: LINES_OF_FILE }, (_, i) =>
    createHash('sha256').update(`${seed} ${i}`).digest('hex'),
  )
  return `${lines.join('\n')}\n`
}

async function openPlace({ start, startBackend }: HistoryServers, folder: string): Promise<Place> {
  const backendFolder = join(folder, 'backend')
  await mkdir(backendFolder)
  const backend = await startBackend(backendFolder)
  const data = join(folder, 'data')
  const server = await start('--data', data, '--maintenance', 'off', '--max-push-bytes', '2GiB')
  const { personalAccessToken: token } = await makeAdministrator(server.url)
  const url = await createRepository(server, token, 'history')
  const repository = join(data, 'repositories/01/1.git')
  await symlink(repository, join(backendFolder, 'maintained.git'))
  const backendUrl = new URL('/maintained.git', backend.url).href
  return { server, token, folder, repository, url, backend, backendUrl }
}

/** Each server gets the whole history once. */
async function measurePush(place: Place, source: string): Promise<string[]> {
  const { folder, backend, server, url } = place
  await run('git', ['init', '-q', '--bare', '-b', 'main', join(folder, 'backend/pushed.git')])
  const backendUrl = new URL('/pushed.git', backend.url).href
  const push = (to: string) => () => git(source, 'push', '-q', to, 'main', '--tags')
  const first = await onServer(backend, push(backendUrl))
  await rm(join(folder, 'backend/pushed.git'), { recursive: true })
  const second = await onServer(server, push(url))
  return rowOf('push', 'git http-backend', [[first, second]])
}

async function maintain({ server, token }: Place): Promise<void> {
  const path = '/api/v1/repos/ada/history/maintenance'
  const headers = { authorization: `Bearer ${token}` }
  await http1.ask(server.url, postJson(path, {}, headers))
  for (;;) {
    const { body } = await http1.ask(server.url, get(path, token))
    if (JSON.parse(body.toString()).requested.length === 0) return
    await new Promise((resolve) => setTimeout(resolve, POLL_MS))
  }
}

function transfersOf({ server, backend, url, backendUrl, folder }: Place): Trial[] {
  const clone = async (of: ServerProcess, from: string) => {
    const target = join(folder, 'clone')
    const timing = await onServer(of, () => git(folder, 'clone', '-q', '--bare', from, target))
    await rm(target, { recursive: true })
    return timing
  }
  const fetch = async (of: ServerProcess, from: string) => {
    const target = join(folder, 'behind')
    await git(folder, 'init', '-q', '--bare', target)
    await git(target, 'fetch', '-q', backendUrl, 'v6:refs/tags/v6', '--depth=100')
    await git(target, 'update-ref', 'refs/heads/main', `v6~${FETCHED_COMMITS}`)
    await git(target, 'update-ref', '-d', 'refs/tags/v6')
    await git(target, 'gc', '-q', '--prune=now')
    const timing = await onServer(of, () => git(target, 'fetch', '-q', from, 'main'))
    await rm(target, { recursive: true })
    return timing
  }
  const beside = (name: string, work: typeof clone): Trial => ({
    name,
    of: 'git http-backend',
    byGit: () => work(backend, backendUrl),
    byBranchline: () => work(server, url),
  })
  return [beside('clone', clone), beside(`fetch of ${FETCHED_COMMITS} commits`, fetch)]
}

function readsOf(place: Place): Trial[] {
  const beside = (
    name: string,
    of: string,
    command: (release: number) => string,
    target: (release: number) => string,
  ): Trial => ({
    name,
    of,
    byGit: (release) => byShell(place.repository, command(release)),
    byBranchline: (release) => byRest(place, target(release)),
  })
  const file = (release: number) => pathOf(release * 7)
  return [
    beside(
      'root folder with last changes',
      'git ls-tree, git log -1 of each entry',
      (i) =>
        `for e in $(git ls-tree --name-only v${i}); do git log -1 --format=%H v${i} -- $e; done`,
      (i) => `contents?ref=v${i}`,
    ),
    beside(
      'commits of a path',
      'git log, all commits',
      (i) => `git log --format=%H v${i} -- ${file(i)}`,
      (i) => `commits?sha=v${i}&limit=50&path=${encodeURIComponent(file(i))}`,
    ),
    beside(
      'blame of the longest file',
      'git blame',
      (i) => `git blame --porcelain v${i} -- ${LONG_FILE}`,
      (i) => `blame/${LONG_FILE}?ref=v${i}`,
    ),
    beside(
      'compare of two releases',
      'git rev-list, git diff',
      (i) => `git rev-list v${i - 1}..v${i}; git diff --numstat v${i - 1}...v${i}`,
      (i) => `compare/v${i - 1}...v${i}`,
    ),
    beside(
      'archive of a release',
      'git archive',
      (i) => `git archive --format=tar.gz v${i}`,
      (i) => `archive/v${i}.tar.gz`,
    ),
  ]
}

/** Returns the times of a shell command and of its processes. */
async function byShell(folder: string, command: string): Promise<Timing> {
  const startedMs = performance.now()
  const script = `{ ${command}; } >/dev/null; times`
  const { stdout } = await run('sh', ['-c', script], { cwd: folder })
  const ms = performance.now() - startedMs
  // The second line is of ended processes: user and system time, as in 0m0.520s.
  const times = [...(stdout.split('\n')[1] ?? '').matchAll(/(\d+)m([\d.]+)s/g)]
  const cpuMs = times.reduce((sum, [, m, s]) => sum + Number(m) * 60_000 + Number(s) * 1_000, 0)
  return { ms, cpuMs }
}

function byRest({ server, token }: Place, target: string): Promise<Timing> {
  return onServer(server, async () => {
    const request = get(`/api/v1/repos/ada/history/${target}`, token)
    const { status } = await http1.ask(server.url, request)
    if (status !== 200) throw new Error(`${target} is answered ${status}`)
  })
}

async function onServer(server: ServerProcess, work: () => Promise<unknown>): Promise<Timing> {
  const cpuBeforeMs = server.cpuMs() ?? Number.NaN
  const startedMs = performance.now()
  await work()
  const ms = performance.now() - startedMs
  return { ms, cpuMs: (server.cpuMs() ?? Number.NaN) - cpuBeforeMs }
}

async function compare(trial: Trial): Promise<string[]> {
  const rounds: [Timing, Timing][] = []
  for (const round of ROUNDS)
    rounds.push([await trial.byGit(round), await trial.byBranchline(round)])
  return rowOf(trial.name, trial.of, rounds)
}

function rowOf(name: string, of: string, rounds: readonly [Timing, Timing][]): string[] {
  const figure = (value: (round: [Timing, Timing]) => number, digits: number) =>
    median(rounds.map(value)).toFixed(digits)
  return [
    name,
    figure(([first]) => first.ms, 0),
    figure(([, second]) => second.ms, 0),
    figure(([first, second]) => first.ms / second.ms, 2),
    figure(([first]) => first.cpuMs, 0),
    figure(([, second]) => second.cpuMs, 0),
    figure(([first, second]) => first.cpuMs / Math.max(second.cpuMs, 1), 2),
    of,
  ]
}

/** Compares servers that nobody asks anything, after a new start. */
async function measureIdle({ start }: HistoryServers, folder: string): Promise<string> {
  const rows: string[][] = []
  for (const count of [REPOSITORIES.few, REPOSITORIES.many]) {
    const data = ['--data', join(folder, `idle-${count}`)]
    const first = await start(...data)
    const { personalAccessToken: token } = await makeAdministrator(first.url)
    await createRepository(first, token, 'idle')
    await first.stop()
    await copyRepository(join(folder, `idle-${count}`), count)
    const server = await start(...data)
    const lookCpuMs = await untilCalm(server)
    const { cpuMs } = await onServer(server, () => pause(IDLE_MS))
    const perSecond = (cpuMs * 1000) / IDLE_MS
    rows.push([
      `${count}`,
      mebibytes(server.residentBytes()),
      perSecond.toFixed(1),
      (lookCpuMs / 1000).toFixed(1),
    ])
    await server.stop()
  }
  return table(['Idle repositories', 'MiB', 'CPU ms a second', 'CPU s of the first look'], rows)
}

/**
 * Waits until a server has looked at its repositories for the first time: their sizes, code and
 * leftovers. Returns the CPU time since the start.
 */
async function untilCalm(server: ServerProcess): Promise<number> {
  const startCpuMs = server.cpuMs() ?? Number.NaN
  for (let isCalm = false; !isCalm; ) {
    const { cpuMs } = await onServer(server, () => pause(IDLE_MS))
    // Without figures nothing can be awaited.
    isCalm = !(cpuMs > CALM_CPU_SHARE * IDLE_MS)
  }
  return (server.cpuMs() ?? Number.NaN) - startCpuMs
}

/** Creates rows and folders of empty repositories, like the first one. The API would take minutes. */
async function copyRepository(data: string, count: number): Promise<void> {
  const sqlite = new Sqlite(join(data, 'branchline.db'))
  const insert = sqlite.prepare(`insert into repositories (id, owner_id, name, name_key, private,
    default_branch, create_time, update_time, website, description)
    select ?, owner_id, ?, ?, private, default_branch, create_time, update_time, website, description
    from repositories where id = 1`)
  sqlite.transaction(() => {
    for (let id = 2; id <= count; id++) insert.run(id, `idle-${id}`, `idle-${id}`)
  })()
  sqlite.close()
  const pathOf = (id: number) => {
    const shard = (id % SHARDS).toString(16).padStart(2, '0')
    return join(data, 'repositories', shard, `${id}.git`)
  }
  for (let id = 2; id <= count; id++) await cp(pathOf(1), pathOf(id), { recursive: true })
}
