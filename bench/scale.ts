import assert from 'node:assert/strict'
import { cp, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Credentials, makeAdministrator, makeUser } from './accounts.ts'
import { createRepository } from './git.ts'
import { http1 } from './http1-load.ts'
import { type Case, checkAnswers, type Group, measureGroup } from './measure.ts'
import { type BenchPostgres, startBenchPostgres } from './postgres.ts'
import type { ServerProcess } from './processes.ts'
import { printSection, table } from './report.ts'
import { get, postJson, type Request } from './requests.ts'
import {
  filledUsername,
  fillPostgres,
  fillSqlite,
  LARGE,
  OFTEN,
  type ScaleCounts,
  SELDOM,
} from './scale-rows.ts'
import { isCheck, sized } from './sizes.ts'

const FEW: ScaleCounts = {
  accounts: 1_000,
  repositories: 1_000,
  issues: 1_000,
  commentsOfIssue: 10,
}

/** A tenth of a large instance, which is built in minutes, and the whole (`--full`). */
const MANY = sized<ScaleCounts>(
  { accounts: 100_000, repositories: 10_000, issues: 100_000, commentsOfIssue: 10 },
  { ...FEW, accounts: 1_200 },
)
const FULL: ScaleCounts = {
  accounts: 1_000_000,
  repositories: 100_000,
  issues: 1_000_000,
  commentsOfIssue: 10,
}

/** Filled SQLite databases stay here, since to fill one takes minutes. */
const CACHE = join(tmpdir(), 'branchline-bench-scale')

/** Starts a Branchline with some arguments, which ends with the bench. */
type Start = (...args: readonly string[]) => Promise<ServerProcess>

/** A filled instance. */
interface Instance {
  readonly name: string
  readonly server: ServerProcess
  readonly administrator: Credentials
  /** Personal access token of a user without rights. */
  readonly user: string
  /** Time from the start of the process until it listens. */
  readonly startMs: number
}

/** How an instance is filled. */
interface Place {
  readonly name: string
  readonly args: readonly string[]
  fill(): Promise<void>
}

/**
 * Compares lists, searches and writes of a large instance with those of a small one, on both
 * databases.
 *
 * @param folder for the data folders.
 */
export async function measureScale(start: Start, folder: string, isFull: boolean): Promise<string> {
  await mkdir(folder)
  const many = isFull ? FULL : MANY
  const sections = [await compareSqlite(start, folder, many)]
  const postgres = await startBenchPostgres()
  try {
    if (postgres) sections.push(await comparePostgres(start, folder, postgres, many))
  } finally {
    await postgres?.stop()
  }
  return sections.join('\n\n')
}

async function compareSqlite(start: Start, folder: string, many: ScaleCounts): Promise<string> {
  const open = async (name: string, counts: ScaleCounts) => {
    const data = join(folder, name)
    const fill = async () => fillSqlite(join(data, 'branchline.db'), counts)
    return openCached(start, { name, args: ['--data', data], fill }, { data, counts })
  }
  return compare('SQLite', await open('few', FEW), await open('many', many))
}

async function comparePostgres(
  start: Start,
  folder: string,
  postgres: BenchPostgres,
  many: ScaleCounts,
): Promise<string> {
  const open = async (name: string, counts: ScaleCounts) => {
    const data = join(folder, `postgres-${name}`)
    const args = ['--data', data, ...(await postgres.createDatabase(name))]
    return openNew(start, { name, args, fill: () => fillPostgres(postgres, name, counts) })
  }
  return compare('PostgreSQL', await open('few', FEW), await open('many', many))
}

/** Opens an instance of an earlier bench, or builds one and keeps a copy. */
async function openCached(
  start: Start,
  place: Place,
  { data, counts }: { readonly data: string; readonly counts: ScaleCounts },
): Promise<Instance> {
  if (isCheck) return openNew(start, place)
  // The server brings an earlier one up to date.
  const kept = join(CACHE, Object.values(counts).join('-'))
  const secrets = join(data, 'bench-credentials.json')
  const found = await cp(kept, data, { recursive: true }).then(
    () => readFile(secrets, 'utf8'),
    () => undefined,
  )
  if (found !== undefined) return startFilled(start, place, JSON.parse(found))
  process.stderr.write(`scale: filling ${place.name} …\n`)
  const signedIn = await fill(start, place)
  await writeFile(secrets, JSON.stringify(signedIn))
  await mkdir(CACHE, { recursive: true })
  const draft = `${kept}.draft`
  await rm(draft, { recursive: true, force: true })
  await cp(data, draft, { recursive: true })
  await rm(kept, { recursive: true, force: true })
  await rename(draft, kept)
  return startFilled(start, place, signedIn)
}

async function openNew(start: Start, place: Place): Promise<Instance> {
  process.stderr.write(`scale: filling ${place.name} …\n`)
  return startFilled(start, place, await fill(start, place))
}

type SignedIn = Pick<Instance, 'administrator' | 'user'>

/** Fills the database of a new instance. */
async function fill(start: Start, { args, fill }: Place): Promise<SignedIn> {
  const server = await start(...args)
  const administrator = await makeAdministrator(server.url)
  const { personalAccessToken: user } = await makeUser(server.url, administrator)
  await createRepository(server, administrator.personalAccessToken, LARGE)
  await server.stop()
  await fill()
  return { administrator, user }
}

async function startFilled(
  start: Start,
  { name, args }: Place,
  signedIn: SignedIn,
): Promise<Instance> {
  const beginMs = performance.now()
  const server = await start(...args)
  return { ...signedIn, name, server, startMs: performance.now() - beginMs }
}

async function compare(database: string, few: Instance, many: Instance): Promise<string> {
  const cases = kindsOf().flatMap(({ name, requests }): Case[] => {
    const caseOf = (instance: Instance): Case => ({
      name: `${name}, ${instance.name}`,
      client: http1,
      server: instance.server,
      requests: requests(instance),
      check: ({ status, body }) => assert.ok(status < 300, body.toString()),
    })
    return [caseOf(few), { ...caseOf(many), baseline: `${name}, few` }]
  })
  const group: Group = {
    name: 'scale',
    title: `Calls on ${database}`,
    rounds: 3,
    durationMs: 400,
    inFlight: 4,
    cases,
  }
  await checkAnswers(group)
  const results = await measureGroup(group)
  const starts = [few, many].map(({ name, startMs }) => [name, startMs.toFixed(0)])
  for (const { server } of [few, many]) await server.stop()
  return `${printSection({ group, results })}\n\n${table([`Start on ${database}`, 'ms'], starts)}`
}

/** A kind of call. */
interface Kind {
  readonly name: string
  requests(instance: Instance): readonly Request[]
}

function kindsOf(): readonly Kind[] {
  const large = `repos/ada/${LARGE}`
  const reads: readonly (readonly [string, string])[] = [
    ['GetUser', `users/${filledUsername(5)}`],
    ['a search for users', 'users/search?limit=30'],
    ['a search for a seldom name', `users/search?limit=30&q=${filledUsername(5).slice(2)}`],
    ['followers', 'users/ada/followers?limit=30'],
    ['a repository', large],
    ['repositories', 'repos/search?limit=30'],
    ['repositories by stars', 'repos/search?sort=stars&order=desc&limit=30'],
    ['stargazers', `${large}/stargazers?limit=30`],
    ['watchers', `${large}/subscribers?limit=30`],
    ['issues', `${large}/issues?limit=30`],
    ['closed issues by update', `${large}/issues?limit=30&state=closed&sort=recentupdate`],
    ['issues of a seldom label', `${large}/issues?limit=30&labels=${SELDOM}`],
    ['issues of a usual label', `${large}/issues?limit=30&labels=${OFTEN}`],
    ['pull requests', `${large}/pulls?limit=30&state=all`],
    ['pull requests by update', `${large}/pulls?limit=30&state=all&sort=recentupdate`],
    ['pull requests into main', `${large}/pulls?limit=30&base_branch=main`],
    ['a pull request', `${large}/pulls/2`],
    ['comments of an issue', `${large}/issues/1/comments`],
    ['comments of a repository', `${large}/issues/comments?limit=30`],
    ['a timeline', `${large}/issues/1/timeline`],
    ['notifications', 'notifications'],
  ]
  const writes: Kind = {
    name: 'an edit of an account',
    requests: ({ administrator }) => {
      const headers = { authorization: `Bearer ${administrator.personalAccessToken}` }
      return [0, 1].map((i) => {
        const user = { name: `users/${filledUsername(7)}`, displayName: `Somebody ${i}` }
        const path = '/branchline.v1.UserService/UpdateUser'
        return postJson(path, { user, updateMask: 'displayName' }, headers)
      })
    },
  }
  const administrators: Kind = {
    name: 'accounts for administrators',
    requests: ({ administrator }) => [
      get('/api/v1/admin/users?limit=30', administrator.personalAccessToken),
    ],
  }
  return [
    ...reads.map(([name, path]) => ({
      name,
      requests: ({ user }: Instance) => [get(`/api/v1/${path}`, user)],
    })),
    administrators,
    writes,
  ]
}
