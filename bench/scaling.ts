import assert from 'node:assert/strict'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { type Credentials, insertAccounts, makeAdministrator, usernameOf } from './accounts.ts'
import { createRepository } from './git.ts'
import { restGetUser } from './groups.ts'
import { http1 } from './http1-load.ts'
import { awake } from './load.ts'
import { insertManyRows, PULLS, type RowCounts } from './many-rows.ts'
import { median } from './measure.ts'
import { mergePull, openPull, prepareMerges } from './merges.ts'
import { type BenchPostgres, startBenchPostgres } from './postgres.ts'
import type { ServerProcess } from './processes.ts'
import { insertPulls } from './pull-lists.ts'
import { table } from './report.ts'
import { get, postJson, type Request } from './requests.ts'
import { sized } from './sizes.ts'

const ROUNDS = sized(5, 1)
const DURATION_MS = sized(1500, 0)

/** Calls before a measurement, and the longest time for them. */
const WARM_UP_CALLS = sized(3000, 1)
const MAX_WARM_UP_ROUNDS = 10

/** Requests in flight. A server opens ten connections to PostgreSQL. */
const IN_FLIGHT = 32

const MERGES = sized(20, 1)

const FEW: RowCounts = { accounts: 1_000, repositories: 1_000, pulls: 1_000 }
const MANY: RowCounts = sized(
  { accounts: 1_000_000, repositories: 100_000, pulls: 1_000_000 },
  { accounts: 2_000, repositories: 2_000, pulls: 2_000 },
)

/** Accounts that requests alternate between. */
const USERS = 100

/** Accounts between two that are updated. */
const DISTANCE = 10

/** A server and its administrator. */
interface Subject {
  readonly name: string
  readonly branchline: ServerProcess
  readonly credentials: Credentials
}

/** A kind of call. */
interface Kind {
  readonly name: string
  readonly inFlight: number
  requests(subject: Subject): readonly Request[]
}

/** Starts a Branchline with some arguments, which ends with the bench. */
type Start = (...args: readonly string[]) => Promise<ServerProcess>

/**
 * Compares SQLite with PostgreSQL, two worker processes with one on each of them, many writers with
 * one, and large tables with small ones.
 *
 * @param folder for data folders and repositories.
 */
export async function measureScaling(start: Start, folder: string): Promise<string> {
  const postgres = await startBenchPostgres()
  if (!postgres) return 'Scaling is not measured, because PostgreSQL is not installed.'
  try {
    await mkdir(folder)
    const open = async (name: string, ...args: readonly string[]): Promise<Subject> => {
      const branchline = await start('--data', join(folder, name), ...args)
      return { name, branchline, credentials: await makeAdministrator(branchline.url) }
    }
    const sections = [
      await compareDatabases(postgres, open, folder),
      await compareWorkers(postgres, start, open, folder),
      await compareSqliteWorkers(postgres, open, folder),
      await compareSizes(postgres, open),
    ]
    return sections.join('\n\n')
  } finally {
    await postgres.stop()
  }
}

type Open = (name: string, ...args: readonly string[]) => Promise<Subject>

async function compareDatabases(
  postgres: BenchPostgres,
  open: Open,
  folder: string,
): Promise<string> {
  const sqlite = await open('SQLite')
  insertAccounts(join(folder, 'SQLite', 'branchline.db'), FEW.accounts)
  const other = await open('PostgreSQL', ...(await postgres.createDatabase('one')))
  for (const { branchline, credentials } of [sqlite, other])
    await createRepository(branchline, credentials.personalAccessToken, PULLS)
  insertPulls(join(folder, 'SQLite', 'branchline.db'), PULLS, FEW.pulls)
  await insertManyRows(postgres, 'one', FEW)
  const subjects = [sqlite, other]
  const calls = await compare(postgres, subjects, [
    getUser,
    getUserByToken,
    getRepository,
    listUsers,
    getPull,
    listPulls,
    ...[1, IN_FLIGHT].map(updateUser),
  ])
  const rates = []
  for (const inFlight of [1, IN_FLIGHT]) rates.push(await flushesOf(postgres, other, inFlight))
  const merges = await compareMerges(subjects, folder)
  return [calls, `WAL flushes of PostgreSQL per update: ${rates.join(', ')}.`, merges].join('\n\n')
}

async function compareWorkers(
  postgres: BenchPostgres,
  start: Start,
  open: Open,
  folder: string,
): Promise<string> {
  const options = await postgres.createDatabase('workers')
  const one = await open('one worker', ...options)
  await createRepository(one.branchline, one.credentials.personalAccessToken, PULLS)
  await insertManyRows(postgres, 'workers', FEW)
  const place = ['--data', join(folder, one.name), ...options]
  const branchline = await start(...place, '--workers', '2')
  const two: Subject = { name: 'two workers', branchline, credentials: one.credentials }
  return compare(postgres, [one, two], [getUser, getRepository, listUsers, updateUser(IN_FLIGHT)])
}

async function compareSqliteWorkers(
  postgres: BenchPostgres,
  open: Open,
  folder: string,
): Promise<string> {
  const one = await open('SQLite, one worker')
  const two = await open('SQLite, two workers', '--workers', '2')
  for (const { name, branchline, credentials } of [one, two]) {
    insertAccounts(join(folder, name, 'branchline.db'), FEW.accounts)
    await createRepository(branchline, credentials.personalAccessToken, PULLS)
  }
  return compare(postgres, [one, two], [getUser, getRepository, listUsers, updateUser(IN_FLIGHT)])
}

async function compareSizes(postgres: BenchPostgres, open: Open): Promise<string> {
  const fill = async (name: string, database: string, counts: RowCounts) => {
    const subject = await open(name, ...(await postgres.createDatabase(database)))
    await createRepository(subject.branchline, subject.credentials.personalAccessToken, PULLS)
    await insertManyRows(postgres, database, counts)
    return subject
  }
  const few = await fill('few rows', 'few', FEW)
  const many = await fill('many rows', 'many', MANY)
  return compare(postgres, [few, many], [getUser, ...pagesOfLists])
}

const getUser: Kind = { name: 'GetUser', inFlight: IN_FLIGHT, requests: () => restGetUser }

const getUserByToken = page('GetUser by a token', `users/${usernameOf(5)}`)

const getPull = page('a pull request', `repos/ada/${PULLS}/pulls/1`)

const listPulls = page('50 pull requests', `repos/ada/${PULLS}/pulls?state=all&limit=50`)

const getRepository = page('a repository', `repos/ada/${PULLS}`)

const listUsers = page('50 accounts', 'users?pageSize=50')

const pagesOfLists: readonly Kind[] = [
  listUsers,
  page('30 repositories of a search', 'repos/search?limit=30'),
  page('30 repositories of a search for text', 'repos/search?limit=30&q=listed-0000'),
  page('10 repositories of an account', `users/${usernameOf(5)}/repos?limit=30`),
  page('30 pull requests', `repos/ada/${PULLS}/pulls?state=all&limit=30`),
  page('30 open pull requests', `repos/ada/${PULLS}/pulls?state=open&limit=30`),
  page('30 by update', `repos/ada/${PULLS}/pulls?state=all&sort=recentupdate&limit=30`),
]

function page(name: string, path: string): Kind {
  return {
    name,
    inFlight: 8,
    requests: ({ credentials }) => [get(`/api/v1/${path}`, credentials.personalAccessToken)],
  }
}

/**
 * Updates of different accounts. Those in one page of an index conflict
 * (https://www.postgresql.org/docs/15/transaction-iso.html#XACT-SERIALIZABLE), so that the accounts
 * are apart.
 */
function updateUser(inFlight: number): Kind {
  return {
    name: `UpdateUser, ${inFlight} at a time`,
    inFlight,
    requests: ({ credentials }) => {
      const headers = { authorization: `Bearer ${credentials.personalAccessToken}` }
      return Array.from({ length: USERS * 2 }, (_, i) => {
        const name = `users/${usernameOf((i % USERS) * DISTANCE)}`
        const user = { name, displayName: `Somebody ${String(i).padStart(3, '0')}` }
        const path = '/branchline.v1.UserService/UpdateUser'
        return postJson(path, { user, updateMask: 'displayName' }, headers)
      })
    },
  }
}

interface Round {
  readonly perSecond: number
  readonly serverMicros: number
  readonly postgresMicros: number
}

/** Measures calls of the first subject and of the second one alternately. */
async function compare(
  postgres: BenchPostgres,
  subjects: readonly Subject[],
  kinds: readonly Kind[],
): Promise<string> {
  const rows: string[][] = []
  for (const kind of kinds) {
    process.stderr.write(`scaling: ${kind.name} …\n`)
    const rounds = subjects.map((): Round[] => [])
    for (const subject of subjects) await warmUp(subject, kind)
    for (let round = 0; round < ROUNDS; round++) {
      for (const [i, subject] of subjects.entries())
        rounds[i]?.push(await measureRound(postgres, subject, kind))
    }
    const [first = []] = rounds
    for (const [i, { name }] of subjects.entries()) {
      const own = rounds[i] ?? []
      const medianOf = (figure: keyof Round) => median(own.map((round) => round[figure]))
      const ratioOf = (figure: (round: Round) => number) =>
        median(own.map((round, at) => figure(round) / figure(first[at] ?? round))).toFixed(2)
      rows.push([
        `${kind.name}, ${name}`,
        medianOf('perSecond').toFixed(0),
        medianOf('serverMicros').toFixed(0),
        medianOf('postgresMicros').toFixed(0),
        ...(i === 0
          ? ['', '', '', '']
          : [
              ratioOf(({ perSecond }) => perSecond),
              ratioOf(({ serverMicros }) => serverMicros),
              ratioOf(({ serverMicros, postgresMicros }) => serverMicros + postgresMicros),
              subjects[0]?.name ?? '',
            ]),
      ])
    }
  }
  const figures = ['calls/s', 'server µs', 'PostgreSQL µs']
  return table(
    ['CPU of a call', ...figures, 'calls ratio', 'server ratio', 'sum ratio', 'of'],
    rows,
  )
}

/** Lets V8 compile the code of a call in each worker process. */
async function warmUp(subject: Subject, kind: Kind): Promise<void> {
  const requests = kind.requests(subject)
  const options = { inFlight: kind.inFlight, durationMs: DURATION_MS }
  let answered = 0
  for (let round = 0; round < MAX_WARM_UP_ROUNDS && answered < WARM_UP_CALLS; round++)
    answered += (await http1.load(subject.branchline.url, requests, options)).answered
}

async function measureRound(
  postgres: BenchPostgres,
  subject: Subject,
  { inFlight, requests }: Kind,
): Promise<Round> {
  const { branchline } = subject
  const asked = requests(subject)
  const [request] = asked
  assert(request)
  const { status, body } = await http1.ask(branchline.url, request)
  assert.equal(status, 200, body.toString())
  const cpuMs = () => [branchline.cpuMs() ?? Number.NaN, postgres.cpuMs() ?? Number.NaN] as const
  const before = cpuMs()
  const load = await awake(() =>
    http1.load(branchline.url, asked, { inFlight, durationMs: DURATION_MS }),
  )
  const after = cpuMs()
  return {
    perSecond: (load.answered * 1000) / load.elapsedMs,
    serverMicros: ((after[0] - before[0]) * 1000) / load.answered,
    postgresMicros: ((after[1] - before[1]) * 1000) / load.answered,
  }
}

/** Returns how often PostgreSQL flushes its log for an update. Group commit needs less than one. */
async function flushesOf(
  postgres: BenchPostgres,
  subject: Subject,
  inFlight: number,
): Promise<string> {
  const flushes = async () => {
    const [row] = await postgres.query('one', 'select wal_sync from pg_stat_wal')
    return Number(row?.wal_sync)
  }
  const before = await flushes()
  const requests = updateUser(inFlight).requests(subject)
  const options = { inFlight, durationMs: DURATION_MS * 2 }
  const { answered } = await awake(() => http1.load(subject.branchline.url, requests, options))
  return `${(((await flushes()) - before) / answered).toFixed(2)} with ${inFlight} at a time`
}

/** Merges pull requests one after the other, alternately on each server. */
async function compareMerges(subjects: readonly Subject[], folder: string): Promise<string> {
  process.stderr.write('scaling: merges …\n')
  const clones = join(folder, 'clones')
  await mkdir(clones)
  const sources = []
  for (const [i, subject] of subjects.entries()) {
    const sizes = { files: 200, branches: MERGES }
    const source = await prepareMerges(subject, clones, `merges-${i}`, sizes)
    for (let index = 0; index < MERGES; index++) await openPull(subject, source, index)
    sources.push({ subject, source, timesMs: [] as number[] })
  }
  for (let index = 0; index < MERGES; index++) {
    for (const { subject, source, timesMs } of sources) {
      const startedMs = performance.now()
      await mergePull(subject, source, index)
      timesMs.push(performance.now() - startedMs)
    }
  }
  const [first] = sources
  const rows = sources.map(({ subject: { name }, timesMs }) => [
    name,
    median(timesMs).toFixed(1),
    median(timesMs.map((timeMs, i) => timeMs / (first?.timesMs[i] ?? 0))).toFixed(2),
  ])
  return table(['One merge', 'ms', 'times SQLite'], rows)
}
