import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { parseArgs } from 'node:util'
import { insertAccounts, makeAdministrator } from './accounts.ts'
import { branchLists } from './branches.ts'
import { measureCodeSearch } from './code-search.ts'
import { measureContention } from './contention.ts'
import { measureFetches } from './fetches.ts'
import { type GitServers, measureGit } from './git.ts'
import { groupsOf, restBatchGetUsers, restGetUser, type Servers } from './groups.ts'
import { measureHistories } from './histories.ts'
import { http1 } from './http1-load.ts'
import { issueLists } from './issue-lists.ts'
import { measureLfs } from './lfs.ts'
import { measureMaintainedPushes } from './maintained-pushes.ts'
import { measureMaintenance } from './maintenance.ts'
import { checkAnswers, type Group, measureGroup } from './measure.ts'
import { insertFewMemos, insertManyMemos } from './memos.ts'
import { measureMerges } from './merges.ts'
import { pages } from './pages.ts'
import { connectGoProgram, type Peers, peerCalls, peerStreams } from './peers.ts'
import { type ServerProcess, startProgram, startServer } from './processes.ts'
import { pullFileLists } from './pull-files.ts'
import { pullLists } from './pull-lists.ts'
import { measurePushes } from './pushes.ts'
import { measureColdReads, warmReads } from './reads.ts'
import { releaseLists } from './releases.ts'
import {
  type MemoryReading,
  originLine,
  printMemory,
  printPart,
  printSection,
  withParts,
} from './report.ts'
import { get, type Request } from './requests.ts'
import { measureScale } from './scale.ts'
import { measureScaling } from './scaling.ts'
import { sized } from './sizes.ts'
import { measureSlowWebPages } from './slow-web-pages.ts'
import { measureSsh } from './ssh.ts'
import { topicSearches } from './topics.ts'
import { measureWebPages } from './web-pages.ts'

/**
 * The bench. scripts/bench.mjs builds everything and passes, before the arguments of the user, the
 * bundles of the server and of the bare servers, and the document to write to.
 */
const [server = '', baseline = '', gitBaseline = '', document = '', ...args] = process.argv.slice(2)
const { values: flags, positionals: selection } = parseArgs({
  args,
  allowPositionals: true,
  options: {
    write: { type: 'boolean', default: false },
    check: { type: 'boolean', default: false },
    full: { type: 'boolean', default: false },
    except: { type: 'string', multiple: true, default: [] },
  },
})
if (flags.write && flags.check) throw new Error('the figures of a check mean nothing')

const ACCOUNTS = sized(100_000, 200)
const FEW_ACCOUNTS = 10

/** Number of rows before a deep page. */
const DEEP = sized(90_000, 100)

/** The maximum page size, to reach the deep page. */
const STRIDE = sized(1000, 100)

/** Time after which an idle server has released memory. */
const REST_MS = sized(3000, 0)

const folder = await mkdtemp(join(tmpdir(), 'branchline-bench-'))
/** The databases of the servers with many accounts and with few. */
const databases = {
  many: join(folder, 'many', 'branchline.db'),
  few: join(folder, 'few', 'branchline.db'),
}
const running: ServerProcess[] = []
try {
  await bench()
} finally {
  await Promise.all(running.map((process) => process.stop()))
  await rm(folder, { recursive: true })
}

async function bench(): Promise<void> {
  const servers = await startServers()
  const memory: MemoryReading[] = [reading('started, idle', servers)]
  const user = await answerOf(servers, restGetUser)
  const groups = groupsOf(servers, user, await answerOf(servers, restBatchGetUsers))
  const origin = await originLine(dirname(document))
  const parts = new Map<string, string>()
  const pushes = { name: 'pushes', measure: () => measurePushes(servers, join(folder, 'pushes')) }
  const merges = { name: 'merges', measure: () => measureMerges(servers, join(folder, 'merges')) }
  const contention = {
    name: 'contention',
    measure: () => measureContention(servers, join(folder, 'contention')),
  }
  const subjects: Subject[] = [
    ...groups.map(requestsOf),
    ...besidePeers(servers, user),
    ...repositoriesOf(servers),
    pushes,
    merges,
    contention,
    {
      name: 'maintenance',
      measure: async () =>
        [
          await measureMaintenance(startBranchline, join(folder, 'maintenance')),
          await measureMaintainedPushes(startBranchline, join(folder, 'maintained-pushes')),
        ].join('\n\n'),
    },
    {
      name: 'ssh',
      measure: () =>
        measureSsh(
          { start: startBranchline, startBackend: (path) => start(gitBaseline, path) },
          join(folder, 'ssh'),
        ),
    },
    {
      name: 'histories',
      measure: () =>
        measureHistories(
          { start: startBranchline, startBackend: (path) => start(gitBaseline, path) },
          join(folder, 'histories'),
        ),
    },
    {
      name: 'code-search',
      measure: () => measureCodeSearch(startBranchline, join(folder, 'code-search')),
    },
    { name: 'lfs', measure: () => measureLfs(startBranchline, join(folder, 'lfs')) },
    { name: 'scaling', measure: () => measureScaling(startBranchline, join(folder, 'scaling')) },
    {
      name: 'scale',
      measure: () => measureScale(startBranchline, join(folder, 'scale'), flags.full),
    },
    { name: 'web', measure: () => measureWebPages(startBranchline, join(folder, 'web')) },
    {
      name: 'web-slow',
      measure: () => measureSlowWebPages(startBranchline, join(folder, 'web-slow')),
    },
    { name: 'cold-reads', measure: () => measureColdReads(servers, folder) },
    besideGit('fetches', servers, measureFetches),
    besideGit('git', servers, measureGit),
  ]
  for (const { name, measure } of selectSubjects(subjects)) {
    process.stderr.write(`${name} …\n`)
    parts.set(name, printPart(name, origin, await measure()))
  }
  memory.push(reading('after everything above', servers))
  await new Promise((resolve) => setTimeout(resolve, REST_MS))
  memory.push(reading(`${REST_MS / 1000} s later`, servers))
  if (selection.length === 0) parts.set('memory', printPart('memory', origin, printMemory(memory)))
  process.stdout.write(`\n${[...parts.values()].join('\n')}`)
  if (flags.check) process.stdout.write('\nOnly checked: the figures mean nothing.\n')
  if (flags.write) await writeFile(document, withParts(await readFile(document, 'utf8'), parts))
}

async function start(script: string, ...serverArgs: string[]): Promise<ServerProcess> {
  const started = await startServer(script, serverArgs)
  running.push(started)
  return started
}

function startBranchline(...options: readonly string[]): Promise<ServerProcess> {
  return start(server, 'serve', '--listen', '127.0.0.1:0', ...options)
}

async function startServers(): Promise<Servers> {
  const branchline = await startBranchline('--data', dirname(databases.many))
  const few = await startBranchline('--data', dirname(databases.few))
  const credentials = await makeAdministrator(branchline.url)
  const credentialsOfFew = await makeAdministrator(few.url)
  insertAccounts(databases.many, ACCOUNTS - 1)
  insertAccounts(databases.few, FEW_ACCOUNTS - 1)
  insertManyMemos(databases.many)
  insertFewMemos(databases.few)
  return {
    http: await start(baseline, 'http', databases.many, branchline.url.origin),
    http2: await start(baseline, 'http2', databases.many, branchline.url.origin),
    branchline,
    credentials,
    few,
    credentialsOfFew,
    deepPageToken: await pageTokenAfter(branchline, credentials.personalAccessToken, DEEP, STRIDE),
    fewPageToken: await pageTokenAfter(few, credentialsOfFew.personalAccessToken, 5, 5),
  }
}

/** Reads pages until the next one begins after `rows` rows. */
async function pageTokenAfter(
  process: ServerProcess,
  token: string,
  rows: number,
  pageSize: number,
): Promise<string> {
  let pageToken = ''
  for (let read = 0; read < rows; read += pageSize) {
    const query = new URLSearchParams({ pageSize: String(pageSize), pageToken })
    const { status, body } = await http1.ask(process.url, get(`/api/v1/users?${query}`, token))
    if (status !== 200) throw new Error(`a page is answered ${status}: ${body}`)
    pageToken = JSON.parse(body.toString()).nextPageToken
  }
  return pageToken
}

/** Returns the response of the bare server, which the other servers must match. */
async function answerOf({ http }: Servers, requests: readonly Request[]): Promise<string> {
  const [first] = requests
  if (first === undefined) throw new Error('no request')
  return (await http1.ask(http.url, first)).body.toString()
}

/** A subject that can be selected on the command line. */
interface Subject {
  readonly name: string
  /** Returns the figures as Markdown. */
  measure(): Promise<string>
}

function requestsOf(group: Group): Subject {
  return {
    name: group.name,
    async measure() {
      await checkAnswers(group)
      return printSection({ group, results: await measureGroup(group) })
    },
  }
}

/** Creating their repositories takes time, so they are created only when selected. */
function repositoriesOf(servers: Servers): Subject[] {
  const subject = (name: string, prepare: () => Group | Promise<Group>): Subject => ({
    name,
    measure: async () => requestsOf(await prepare()).measure(),
  })
  return [
    subject('pages', () => pages(servers, databases.many)),
    subject('branches', () => branchLists(servers, folder)),
    subject('reads', () => warmReads(servers, folder)),
    subject('releases', () => releaseLists(servers, databases.many)),
    subject('topics', () => topicSearches(servers, databases)),
    subject('issue-lists', () => issueLists(servers, databases.many)),
    subject('pull-lists', () => pullLists(servers, databases.many)),
    subject('pull-files', () => pullFileLists(servers, folder)),
  ]
}

/** Returns the subjects that compare libraries. Their servers are started only when selected. */
function besidePeers(servers: Servers, user: string): Subject[] {
  const subject = (name: string, groupOf: (peers: Peers) => Group): Subject => ({
    name,
    measure: async () => requestsOf(groupOf(await startPeers(servers))).measure(),
  })
  return [
    subject('peers', (peers) => peerCalls(servers, peers, user)),
    subject('streams', peerStreams),
  ]
}

async function startPeers({ branchline }: Servers): Promise<Peers> {
  const scripts = dirname(baseline)
  const { origin } = branchline.url
  const peer = (kind: string) =>
    start(join(scripts, 'peer-server.js'), kind, databases.many, origin)
  const go = connectGoProgram(scripts)
  const connectGo = existsSync(go) ? await startProgram(go, []) : undefined
  if (connectGo) running.push(connectGo)
  return {
    grpcJs: await peer('grpc-js'),
    connectNode: await peer('connect-node http'),
    connectNodeHttp2: await peer('connect-node http2'),
    rpc: await peer('rpc http2'),
    connectGo,
  }
}

/** Returns a subject that compares the server with `git http-backend`. */
function besideGit(
  name: string,
  { branchline, credentials }: Servers,
  measure: (servers: GitServers) => Promise<string>,
): Subject {
  return {
    name,
    async measure() {
      const backendFolder = join(folder, `backend-of-${name}`)
      const workFolder = join(folder, `clones-of-${name}`)
      for (const path of [backendFolder, workFolder]) await mkdir(path)
      const backend = await start(gitBaseline, backendFolder)
      const token = credentials.personalAccessToken
      return measure({ branchline, token, backend, backendFolder, workFolder })
    },
  }
}

function selectSubjects(subjects: readonly Subject[]): readonly Subject[] {
  const known = subjects.map(({ name }) => name)
  const unknown = [...selection, ...flags.except].find((name) => !known.includes(name))
  if (unknown !== undefined)
    throw new Error(`there is no "${unknown}": choose from ${known.join(', ')}`)
  const isSelected = (name: string) => selection.length === 0 || selection.includes(name)
  return subjects.filter(({ name }) => isSelected(name) && !flags.except.includes(name))
}

function reading(moment: string, { branchline }: Servers): MemoryReading {
  return { moment, residentBytes: branchline.residentBytes() }
}
