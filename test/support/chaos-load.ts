import { setTimeout as sleep } from 'node:timers/promises'
import type { Random } from '../platform/rpc/rest/random.ts'
import { type GitClient, remoteOf } from './git-client.ts'
import { type Actor, PASSWORD, type TestUsers } from './server.ts'
import { watchRepository } from './watch.ts'

/** After this time, a client gives up a call to a server that does not answer. */
const CLIENT_TIMEOUT_MS = 90_000

/** The pause after a call that failed, as a client makes it. */
const RETRY_MS = 50

/** A server of a story that kills servers. */
export interface TargetServer {
  readonly url: string
  /** Differs before and after a failure of the server that the story causes. */
  readonly life: number
}

/** What servers have acknowledged, and what clients have seen. */
export interface Acknowledged {
  /** Files on the branch `main`. */
  readonly files: string[]
  /** Commits of pushes to the branch `pushed`. */
  readonly commits: string[]
  /** Numbers of pull requests that are merged. */
  readonly merges: number[]
  readonly memos: string[]
  readonly accounts: string[]
}

/** Moves of one ref, as a watcher sees them. */
export interface SeenMove {
  readonly ref: string
  readonly oldId: string
  readonly newId: string
}

/** How long a call has taken. */
export interface LongCall {
  readonly call: string
  readonly ms: number
}

/** Clients that write until they are stopped. */
export interface ChaosLoad {
  readonly acknowledged: Acknowledged
  readonly moves: readonly SeenMove[]
  /** Answers that no client should get. */
  readonly faults: readonly string[]
  /** Returns the longest call since the last question to a server that did not fail meanwhile. */
  takeLongest(): LongCall
  /** Returns the number of acknowledged writes. */
  count(): number
  stop(): Promise<void>
}

/** What the clients need. */
export interface LoadOptions {
  readonly users: TestUsers
  readonly client: GitClient
  readonly random: Random
  /** Returns the present servers. */
  servers(): readonly [TargetServer, ...TargetServer[]]
}

/** A repository of bob's that the clients use. */
export const CHAOS_REPOSITORY = 'chaos'

/** Starts clients that push, merge, and write files, memos and accounts, each to any server. */
export async function startChaosLoad(options: LoadOptions): Promise<ChaosLoad> {
  const { users, client, random, servers } = options
  const acknowledged: Acknowledged = { files: [], commits: [], merges: [], memos: [], accounts: [] }
  const moves: SeenMove[] = []
  const faults: string[] = []
  let longest: LongCall = { call: '', ms: 0 }
  let isOver = false
  const path = `/repos/bob/${CHAOS_REPOSITORY}`
  const target = () => random.pick(servers())

  /** Measures a call, unless its server fails meanwhile. */
  const measured = async <T>(
    { url, life }: TargetServer,
    call: string,
    work: () => Promise<T>,
  ): Promise<T> => {
    const startMs = performance.now()
    try {
      return await work()
    } finally {
      const isSame = servers().some((server) => server.url === url && server.life === life)
      const ms = Math.round(performance.now() - startMs)
      if (isSame && ms > longest.ms) longest = { call, ms }
    }
  }

  /** Sends a call to any server. Returns undefined without an answer. */
  const send = async (who: Actor, method: string, place: string, body?: object) => {
    const server = target()
    try {
      return await measured(server, `${method} ${place}`, async () => {
        const response = await fetch(`${server.url}/api/v1${place}`, {
          method,
          headers: { authorization: who.authorization, 'content-type': 'application/json' },
          signal: AbortSignal.timeout(CLIENT_TIMEOUT_MS),
          ...(body && { body: JSON.stringify(body) }),
        })
        const text = await response.text()
        const { status } = response
        const isUnavailable = status === 503 && response.headers.get('retry-after') !== null
        const isFault = (status >= 500 && !isUnavailable) || status === 401 || status === 403
        if (isFault) faults.push(`${method} ${place}: ${status} ${text}`)
        return { status, body: text === '' ? {} : JSON.parse(text) }
      })
    } catch {
      // The server was killed.
      await sleep(RETRY_MS)
      return undefined
    }
  }

  const writers: Record<keyof Acknowledged, (number: number) => Promise<void>> = {
    async files(number) {
      const file = `file-${number}`
      const content = Buffer.from(file).toString('base64')
      const place = `${path}/contents/${file}`
      const answer = await send(users.bob, 'POST', place, { content, branch: 'main' })
      if (answer?.status === 201) acknowledged.files.push(file)
    },
    async commits(number) {
      const commit = await client.commit('pushed', `commit ${number}`)
      const server = target()
      const remote = remoteOf(server.url, `bob/${CHAOS_REPOSITORY}`, 'bob', PASSWORD)
      const isPushed = await measured(server, 'git push', () =>
        client.git('pushed', 'push', '-q', remote, 'HEAD:refs/heads/pushed').then(
          () => true,
          () => false,
        ),
      )
      if (isPushed) acknowledged.commits.push(commit)
      else await sleep(RETRY_MS)
    },
    async merges(number) {
      const head = `topic-${number}`
      const content = Buffer.from(head).toString('base64')
      const change = { content, branch: 'main', new_branch: head }
      const changed = await send(users.bob, 'POST', `${path}/contents/${head}`, change)
      if (changed?.status !== 201) return
      const pull = { title: head, head, base: 'main' }
      const proposed = await send(users.bob, 'POST', `${path}/pulls`, pull)
      if (proposed?.status !== 201) return
      const place = `${path}/pulls/${proposed.body.number}`
      for (;;) {
        const merged = await send(users.bob, 'POST', `${place}/merge`, { Do: 'merge' })
        if (merged?.status === 200) break
        // The server was killed during the merge, or the branch has moved.
        const present = await send(users.bob, 'GET', place)
        if (present?.body.merged) break
        if (isOver) return
      }
      acknowledged.merges.push(proposed.body.number)
    },
    async memos(number) {
      const answer = await send(users.bob, 'POST', '/memos', { content: `memo ${number}` })
      if (answer?.status === 200) acknowledged.memos.push(answer.body.name)
      await sleep(RETRY_MS)
    },
    async accounts(number) {
      const username = `account${number}`
      const email = `${username}@example.org`
      const account = { username, email, password: PASSWORD }
      const answer = await send(users.ada, 'POST', '/admin/users', account)
      if (answer?.status === 201) acknowledged.accounts.push(username)
      await sleep(RETRY_MS)
    },
  }

  let leave = () => {}
  const watch = async () => {
    let cursor = ''
    while (!isOver) {
      const request = { owner: 'bob', repo: CHAOS_REPOSITORY, cursor }
      const watcher = watchRepository(target().url, 'REST', users.bob.authorization, request)
      leave = () => watcher.leave()
      try {
        for (;;) {
          const answer = await watcher.next()
          cursor = answer.cursor
          if (answer.event?.subject.case === 'refs') moves.push(...answer.event.subject.value.refs)
        }
      } catch {
        // Another server goes on from the cursor.
        await sleep(RETRY_MS)
      }
    }
  }

  const first = target().url
  await send(users.bob, 'POST', '/user/repos', { name: CHAOS_REPOSITORY, auto_init: true })
  const remote = remoteOf(first, `bob/${CHAOS_REPOSITORY}`, 'bob', PASSWORD)
  await client.git('.', 'clone', '-q', remote, 'pushed')
  const write = async (work: (number: number) => Promise<void>) => {
    for (let number = 0; !isOver; number++) await work(number)
  }
  const running = Object.values(writers).map(write)
  const watching = watch()
  return {
    acknowledged,
    moves,
    faults,
    takeLongest() {
      const taken = longest
      longest = { call: '', ms: 0 }
      return taken
    },
    count: () => Object.values(acknowledged).reduce((sum, writes) => sum + writes.length, 0),
    async stop() {
      isOver = true
      await Promise.all(running)
      leave()
      await watching
    },
  }
}
