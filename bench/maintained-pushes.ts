import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { makeAdministrator } from './accounts.ts'
import { createRepository, git } from './git.ts'
import { http1 } from './http1-load.ts'
import { median, quantile } from './measure.ts'
import type { ServerProcess } from './processes.ts'
import { table } from './report.ts'
import { get } from './requests.ts'
import { sized } from './sizes.ts'

const PUSHERS = sized(8, 2)
/** Enough for several steps of each repository: every push has about sixty new objects. */
const PUSHES = sized(30, 1)
const FILES_OF_PUSH = 50
const ROUNDS = sized(3, 1)

interface Figures {
  readonly pushesPerSecond: number
  /** Of a light call beside the pushes. */
  readonly p99Ms: number
}

/** Compares the rate of pushes, and light calls beside them, with maintenance on and off. */
export async function measureMaintainedPushes(
  start: (...options: readonly string[]) => Promise<ServerProcess>,
  folder: string,
): Promise<string> {
  const rounds: Record<'on' | 'off', Figures>[] = []
  for (let round = 0; round < ROUNDS; round++) {
    const measure = (maintenance: string) =>
      measurePushers(start, join(folder, `${maintenance}-${round}`), maintenance)
    rounds.push({ off: await measure('off'), on: await measure('on') })
  }
  const row = (name: string, figure: (figures: Figures) => number) => [
    name,
    median(rounds.map(({ off }) => figure(off))).toFixed(1),
    median(rounds.map(({ on }) => figure(on))).toFixed(1),
    median(rounds.map(({ on, off }) => figure(on) / figure(off))).toFixed(2),
  ]
  return table(
    [`${PUSHERS} pushers`, 'maintenance off', 'on', 'ratio'],
    [
      row('pushes a second', ({ pushesPerSecond }) => pushesPerSecond),
      row('light call, p99 ms', ({ p99Ms }) => p99Ms),
    ],
  )
}

async function measurePushers(
  start: (...options: readonly string[]) => Promise<ServerProcess>,
  folder: string,
  maintenance: string,
): Promise<Figures> {
  await mkdir(folder, { recursive: true })
  const server = await start('--data', join(folder, 'data'), '--maintenance', maintenance)
  const { personalAccessToken: token } = await makeAdministrator(server.url)
  const pushers = await Promise.all(
    Array.from({ length: PUSHERS }, async (_, i) => {
      const clone = join(folder, `pusher-${i}`)
      await mkdir(clone)
      await git(clone, 'init', '-q', '-b', 'main')
      return { clone, url: await createRepository(server, token, `pushed-${i}`) }
    }),
  )
  let isDone = false
  const calls = callUntil(server, () => isDone)
  const startedMs = performance.now()
  await Promise.all(
    pushers.map(async ({ clone, url }) => {
      for (let push = 0; push < PUSHES; push++) {
        await commit(clone, push)
        await git(clone, 'push', '-q', url, 'main')
      }
    }),
  )
  const seconds = (performance.now() - startedMs) / 1000
  isDone = true
  const p99Ms = quantile(Float64Array.from(await calls).sort(), 0.99)
  await server.stop()
  return { pushesPerSecond: (PUSHERS * PUSHES) / seconds, p99Ms }
}

async function commit(clone: string, push: number): Promise<void> {
  const folder = join(clone, String(push))
  await mkdir(folder)
  for (let file = 0; file < FILES_OF_PUSH; file++)
    await writeFile(join(folder, `${file}.txt`), `${clone} ${push} ${file}\n`)
  await git(clone, 'add', '.')
  await git(clone, 'commit', '-q', '-m', 'work')
}

/** Makes a light call after the other. Returns how long each took, in milliseconds. */
async function callUntil(server: ServerProcess, isDone: () => boolean): Promise<number[]> {
  const elapsedMs: number[] = []
  while (!isDone()) {
    const startedMs = performance.now()
    await http1.ask(server.url, get('/api/v1/version'))
    elapsedMs.push(performance.now() - startedMs)
  }
  return elapsedMs
}
