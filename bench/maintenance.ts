import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { makeAdministrator } from './accounts.ts'
import { createRepository, git, gitReading } from './git.ts'
import { http1 } from './http1-load.ts'
import { median } from './measure.ts'
import type { ServerProcess } from './processes.ts'
import { table } from './report.ts'
import { get, postJson } from './requests.ts'

/** The first push, as an import has it, and the pushes after it. */
const IMPORTED_COMMITS = 3_000
const PUSHES = 200
const FILES = 400

const ROUNDS = 5
/** The system counts CPU time in hundredths of a second, which these share. */
const LOGS_OF_ROUND = 20
/** Commits that the measured fetch lacks. */
const FETCHED_COMMITS = 50

const POLL_MS = 200

interface Place {
  readonly server: ServerProcess
  readonly token: string
  readonly folder: string
  readonly url: string
}

/**
 * Returns a commit for `git fast-import`, which changes three files.
 *
 * @param continues whether the commit follows one that the repository has already.
 */
function commitOf(number: number, continues: boolean): string {
  const files = [number, number * 7, number * 13].map((seed) => {
    const content = `${number} ${seed}\n`.repeat(40)
    const name = `folder-${seed % 20}/file-${seed % FILES}.txt`
    return `M 100644 inline ${name}\ndata ${content.length}\n${content}\n`
  })
  const person = `Bench <bench@example.org> ${1_700_000_000 + number} +0000`
  const from = continues ? 'from refs/heads/main^0\n' : ''
  return `commit refs/heads/main\ncommitter ${person}\ndata 5\nwork\n${from}${files.join('')}\n`
}

/**
 * Compares a repository after many pushes with itself after maintenance: CPU time of the server and
 * of its Git processes.
 */
export async function measureMaintenance(
  start: (...options: readonly string[]) => Promise<ServerProcess>,
  folder: string,
): Promise<string> {
  await mkdir(folder, { recursive: true })
  const server = await start('--data', join(folder, 'data'), '--maintenance', 'off')
  const { personalAccessToken: token } = await makeAdministrator(server.url)
  const place = { server, token, folder, url: await createRepository(server, token, 'pushed') }
  await pushAll(place)
  const before = await measureAll(place, 0)
  const bytesBefore = await sizeOf(place)
  const cpuBeforeMs = server.cpuMs() ?? Number.NaN
  await maintain(place)
  const cpuMs = (server.cpuMs() ?? Number.NaN) - cpuBeforeMs
  const after = await measureAll(place, 1)
  const bytesAfter = await sizeOf(place)
  const row = (name: string, from: number, to: number) => [
    name,
    from.toFixed(1),
    to.toFixed(1),
    (to / from).toFixed(3),
  ]
  return table(
    [`A repository after ${PUSHES} pushes`, 'before', 'after maintenance', 'ratio'],
    [
      row('clone, CPU ms', before.cloneMs, after.cloneMs),
      row(`fetch of ${FETCHED_COMMITS} commits, CPU ms`, before.fetchMs, after.fetchMs),
      row('commits of a path, CPU ms', before.logMs, after.logMs),
      row('size, MiB', bytesBefore / 2 ** 20, bytesAfter / 2 ** 20),
      ['all steps, CPU ms', '', cpuMs.toFixed(0), ''],
    ],
  )
}

async function pushAll({ folder, url }: Place): Promise<void> {
  const source = join(folder, 'source')
  await mkdir(source)
  await git(source, 'init', '-q', '-b', 'main')
  for (let done = 0; done < IMPORTED_COMMITS + PUSHES; ) {
    const count = done === 0 ? IMPORTED_COMMITS : 1
    const commits = Array.from({ length: count }, (_, i) => commitOf(done + i, done > 0))
    await gitReading(commits.join(''), source, 'fast-import', '--quiet')
    await git(source, 'push', '-q', url, 'main')
    done += count
  }
}

async function maintain({ server, token }: Place): Promise<void> {
  const path = `/api/v1${await pathOf(server, token)}/maintenance`
  const headers = { authorization: `Bearer ${token}` }
  await http1.ask(server.url, postJson(path, {}, headers))
  for (;;) {
    const { body } = await http1.ask(server.url, get(path, token))
    if (JSON.parse(body.toString()).requested.length === 0) return
    await new Promise((resolve) => setTimeout(resolve, POLL_MS))
  }
}

/** Returns the path of the only repository in the API. */
async function pathOf(server: ServerProcess, token: string): Promise<string> {
  const { body } = await http1.ask(server.url, get('/api/v1/user/repos', token))
  return `/repos/${JSON.parse(body.toString())[0].full_name}`
}

async function sizeOf({ server, token }: Place): Promise<number> {
  const path = `/api/v1${await pathOf(server, token)}/maintenance`
  const { body } = await http1.ask(server.url, get(path, token))
  const { packs_bytes, loose_bytes } = JSON.parse(body.toString())
  return packs_bytes + loose_bytes
}

/** @param phase has paths of its own, since the server remembers lists of commits. */
async function measureAll(place: Place, phase: number) {
  const { server, folder, url, token } = place
  const cpu = async (work: () => Promise<unknown>) => {
    const beforeMs = server.cpuMs() ?? Number.NaN
    await work()
    return (server.cpuMs() ?? Number.NaN) - beforeMs
  }
  const behind = join(folder, `behind-${phase}`)
  await git(folder, 'clone', '-q', '--bare', join(folder, 'source'), behind)
  const logs = `/api/v1${await pathOf(server, token)}/commits?limit=50&path=`
  const rounds = { clone: [] as number[], fetch: [] as number[], log: [] as number[] }
  for (let round = 0; round < ROUNDS; round++) {
    const target = join(folder, 'clone')
    rounds.clone.push(await cpu(() => git(folder, 'clone', '-q', '--bare', url, target)))
    await rm(target, { recursive: true })
    await git(folder, 'clone', '-q', '--bare', behind, target)
    await git(target, 'update-ref', 'refs/heads/main', `main~${FETCHED_COMMITS}`)
    await git(target, 'gc', '-q', '--prune=now')
    rounds.fetch.push(await cpu(() => git(target, 'fetch', '-q', url, 'main')))
    await rm(target, { recursive: true })
    rounds.log.push(
      await cpu(async () => {
        for (let i = 0; i < LOGS_OF_ROUND; i++) {
          const file = (round * LOGS_OF_ROUND + i) * 2 + phase
          const path = encodeURIComponent(`folder-${file % 20}/file-${file}.txt`)
          const { status } = await http1.ask(server.url, get(`${logs}${path}`, token))
          if (status !== 200) throw new Error(`a list of commits is answered ${status}`)
        }
      }),
    )
  }
  return {
    cloneMs: median(rounds.clone),
    fetchMs: median(rounds.fetch),
    logMs: median(rounds.log) / LOGS_OF_ROUND,
  }
}
