import { finishMergeQueues } from '../../src/forge/pulls/queue/queue-worker.ts'
import type { PullTestUsers, pullForge } from './pull-forge.ts'
import type { Actor, TestServer } from './server.ts'

/** A rule with a queue for `main`. Tests let the time pass by hand. */
export const QUEUE_RULE = {
  rule_name: 'main',
  enable_push: true,
  enable_status_check: true,
  status_check_contexts: ['ci'],
  enable_merge_queue: true,
  merge_queue_only_contexts: ['ci'],
  // The clock stands, so groups are made when a test lets the time pass.
  merge_queue_wait_seconds: 1,
  merge_queue_parallel: 1,
}

/** Returns the groups of a queue as texts such as `1,2 BUILDING`. */
export const groupsOf = ({ groups }: { groups: { entries: number[]; state: string }[] }) =>
  groups.map(({ entries, state }) => `${entries} ${state}`)

interface QueueStory {
  readonly server: TestServer
  readonly users: PullTestUsers
  readonly forge: ReturnType<typeof pullForge>
  /** Lets time pass. */
  pass(ms: number): void
}

/** Makes a repository of bob's with a queue, where carol may write. */
export async function openMergeQueue(
  { server, users, forge, pass }: QueueStory,
  name: string,
  rule: object = {},
) {
  const { path, pulls } = await forge.repository(users.bob, name)
  await forge.ask(users.bob, 'PUT', `${path}/collaborators/carol`, { permission: 'write' })
  await forge.ask(users.bob, 'POST', `${path}/branch_protections`, { ...QUEUE_RULE, ...rule })
  const settle = () => {
    pass(1_000)
    return finishMergeQueues(server.app)
  }
  const get = (what: string) => forge.ask(users.bob, 'GET', `${path}${what}`)
  const shown = () => get('/merge_queue/main')
  const status = (sha: string, state: string, context = 'ci') =>
    forge.ask(users.bob, 'POST', `${path}/statuses/${sha}`, { state, context })
  return {
    path,
    pulls,
    settle,
    get,
    shown,
    status,
    /** Opens pull requests of carol's, each with a file of its own. */
    async open(...names: string[]) {
      for (const branch of names) {
        await forge.change(users.carol, path, branch)
        await forge.ask(users.carol, 'POST', pulls, { head: branch, base: 'main', title: branch })
      }
    },
    /** Opens a pull request of carol's that adds a line to a file that others add, too. */
    async openClashing(branch: string, text: string) {
      const content = Buffer.from(text).toString('base64')
      const change = { content, branch: 'main', new_branch: branch }
      await forge.ask(users.carol, 'POST', `${path}/contents/same.txt`, change)
      await forge.ask(users.carol, 'POST', pulls, { head: branch, base: 'main', title: branch })
    },
    enter: (number: number, fields: object = {}, who: Actor = users.carol) =>
      forge.rest(who, 'POST', `${pulls}/${number}/merge_queue`, fields),
    entry: (number: number) => get(`/pulls/${number}/merge_queue`),
    /** Answers for the first group, and lets the queue go on. */
    async answer(state: string) {
      const { groups } = await shown()
      await status(groups[0].head_sha, state)
      await settle()
    },
    tip: async () => (await get('/branches/main')).commit.id as string,
    merged: async (number: number) =>
      (await forge.rest(users.bob, 'GET', `${pulls}/${number}/merge`)).status === 204,
  }
}
