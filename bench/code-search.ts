import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { makeAdministrator } from './accounts.ts'
import { createRepository, git } from './git.ts'
import { http1 } from './http1-load.ts'
import { median } from './measure.ts'
import type { ServerProcess } from './processes.ts'
import { table } from './report.ts'
import { get } from './requests.ts'
import { sized } from './sizes.ts'

const FILES = sized(2_000, 3)
const CHANGED_FILES = sized(10, 1)
/** A file has about 10 KiB. */
const LINES = 200
const SEARCHES = sized(100, 1)
const POLL_MS = sized(250, 500)

interface Place {
  readonly server: ServerProcess
  readonly token: string
  readonly clone: string
  readonly url: string
}

/** What some work took. */
interface Figures {
  readonly ms: number
  readonly cpuMs: number
}

/**
 * Measures the index of the code: the first one of a repository, that of a later push, and searches by the
 * index. A look begins about ten seconds after its push, which `ms` of an index includes.
 */
export async function measureCodeSearch(
  start: (...options: readonly string[]) => Promise<ServerProcess>,
  folder: string,
): Promise<string> {
  const clone = join(folder, 'clone')
  await mkdir(clone, { recursive: true })
  const server = await start('--data', join(folder, 'data'), '--maintenance', 'off')
  const { personalAccessToken: token } = await makeAdministrator(server.url)
  await git(clone, 'init', '-q', '-b', 'main')
  const place = { server, token, clone, url: await createRepository(server, token, 'searched') }
  const row = (name: string, { ms, cpuMs }: Figures) => [name, ms.toFixed(1), cpuMs.toFixed(1)]
  const first = await pushed(place, FILES, 'heron')
  const later = await pushed(place, CHANGED_FILES, 'kestrel')
  const rows = [
    row(`index of ${FILES} files`, first),
    row(`index after a push of ${CHANGED_FILES} files`, later),
    row('search, a text of one file', await searched(place, 'kestrel 0 ')),
    row('search, a text of all files', await searched(place, 'of words')),
    row('search, a text of no file', await searched(place, 'ostrich')),
  ]
  await server.stop()
  return table(['Search of code', 'ms', 'CPU ms'], rows)
}

/** Pushes files with a word, and waits until a search finds the last one. */
async function pushed(place: Place, files: number, word: string): Promise<Figures> {
  const { clone, url } = place
  for (let file = 0; file < files; file++) await write(clone, file, word)
  await git(clone, 'add', '.')
  await git(clone, 'commit', '-q', '-m', word)
  await git(clone, 'push', '-q', url, 'main')
  return measured(place, async () => {
    while ((await find(place, `${word} ${files - 1} `)) === 0)
      await new Promise((resolve) => setTimeout(resolve, POLL_MS))
  })
}

async function write(clone: string, file: number, word: string): Promise<void> {
  const folder = join(clone, `folder-${file % 50}`)
  await mkdir(folder, { recursive: true })
  const lines = Array.from(
    { length: LINES },
    (_, line) =>
      `${word} ${file} line ${line} of words ${((file + 1) * (line + 7) * 7919) % 1e6}\n`,
  )
  await writeFile(join(folder, `file-${file}.txt`), lines.join(''))
}

/** Returns the median of searches, and the CPU time of one. */
async function searched(place: Place, text: string): Promise<Figures> {
  const times: number[] = []
  const { cpuMs } = await measured(place, async () => {
    for (let search = 0; search < SEARCHES; search++)
      times.push((await measured(place, () => find(place, text))).ms)
  })
  return { ms: median(times), cpuMs: cpuMs / SEARCHES }
}

async function measured({ server }: Place, work: () => Promise<unknown>): Promise<Figures> {
  const cpuBeforeMs = server.cpuMs() ?? Number.NaN
  const startedMs = performance.now()
  await work()
  const ms = performance.now() - startedMs
  return { ms, cpuMs: (server.cpuMs() ?? Number.NaN) - cpuBeforeMs }
}

/** Returns the number of files that a search finds. */
async function find({ server, token }: Place, text: string): Promise<number> {
  const query = new URLSearchParams({ q: text })
  const answer = await http1.ask(server.url, get(`/api/v1/code/search?${query}`, token))
  if (answer.status !== 200) throw new Error(`a search is answered ${answer.status}`)
  return JSON.parse(answer.body.toString()).total
}
