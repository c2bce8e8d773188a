import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { parseAllowedHosts } from '../../../src/platform/outbound/allowed-hosts.ts'
import { type GitClient, openGitClient, remoteOf } from '../../support/git-client.ts'
import { createPullTestUsers, type PullTestUsers, pullForge } from '../../support/pull-forge.ts'
import { startReceiver } from '../../support/receiver.ts'
import { type Actor, PASSWORD, startTestServer, type TestServer } from '../../support/server.ts'

let server: TestServer
let users: PullTestUsers
let forge: ReturnType<typeof pullForge>
let client: GitClient

/** bob owns the repositories, carol may write to them, eve has no role. */
beforeAll(async () => {
  server = await startTestServer({ webhookAllowedHosts: parseAllowedHosts('127.0.0.1') })
  users = await createPullTestUsers(server.url)
  forge = pullForge(server)
  client = await openGitClient()
})
afterAll(async () => {
  await server.stop()
  await client.remove()
})

/** Makes a repository of bob's, which carol may write to, with issues by bob. */
async function fresh(name: string, issues = 1): Promise<string> {
  const { path } = await forge.repository(users.bob, name)
  await forge.ask(users.bob, 'PUT', `${path}/collaborators/carol`, { permission: 'write' })
  for (let i = 0; i < issues; i++)
    await forge.ask(users.bob, 'POST', `${path}/issues`, { title: `issue ${i + 1}` })
  return path
}

/** Clones a repository as somebody. */
async function clone(who: Actor, path: string): Promise<string> {
  const folder = `${path.split('/').at(-1)}-${who.username}`
  const remote = remoteOf(server.url, path.replace('/repos/', ''), who.username, PASSWORD)
  await client.git('.', 'clone', '-q', remote, folder)
  return folder
}

/** Waits until everything that pushes and merges left is done. */
async function settled(): Promise<void> {
  await expect
    .poll(async () => server.app.db.selectFrom('reference_work').select('id').execute())
    .toEqual([])
}

/** Commits with messages, and pushes them to a branch. Returns the commits. */
async function push(folder: string, branch: string, ...messages: string[]): Promise<string[]> {
  const commits: string[] = []
  for (const message of messages) commits.push(await client.commit(folder, message))
  await client.git(folder, 'push', '-q', '-f', 'origin', `HEAD:refs/heads/${branch}`)
  await settled()
  return commits
}

// biome-ignore lint/suspicious/noExplicitAny: a test fails when a field is missing
type Entry = any

const stateOf = async (path: string, number = 1) =>
  (await forge.ask(users.bob, 'GET', `${path}/issues/${number}`)).state

/** The entries of an issue about commits and its state. */
async function entriesOf(path: string, number = 1): Promise<string[]> {
  const entries = await forge.ask(users.bob, 'GET', `${path}/issues/${number}/timeline`)
  return entries.map(({ type, user, ref_commit_sha }: Entry) =>
    `${type} by ${user.login} ${ref_commit_sha}`.trim(),
  )
}

describe('a commit on the default branch', () => {
  it('closes and reopens issues by the right of the pusher', async () => {
    const path = await fresh('closes', 2)
    const folder = await clone(users.carol, path)
    const [first] = await push(folder, 'main', 'Fixes #1\n\nAnd see #2.')
    expect(await stateOf(path)).toBe('closed')
    expect(await entriesOf(path)).toEqual([
      `commit_ref by carol ${first}`,
      `close by carol ${first}`,
    ])
    expect(await entriesOf(path, 2)).toEqual([`commit_ref by carol ${first}`])
    const [second] = await push(folder, 'main', 'reopens #1')
    expect(await stateOf(path)).toBe('open')
    expect(await entriesOf(path)).toContain(`reopen by carol ${second}`)
    // The oldest commit comes first.
    await push(
      folder,
      'main',
      '1: closes #1',
      '2: reopens #1',
      '3: closes #1',
      'reopens #1, closes #2',
    )
    expect(await stateOf(path)).toBe('open')
    expect(await stateOf(path, 2)).toBe('closed')
    expect(await entriesOf(path)).toHaveLength(2 + 2 + 4 * 2)
  })

  it('tells webhooks of the commit and the pusher', async () => {
    const path = await fresh('webhook')
    const receiver = await startReceiver()
    const config = { url: receiver.url, content_type: 'json' }
    const hook = { type: 'gitea', config, events: ['issues_only'], active: true }
    await forge.ask(users.bob, 'POST', `${path}/hooks`, hook)
    const [commit] = await push(await clone(users.carol, path), 'main', 'closes #1')
    const { body } = await receiver.next()
    expect(JSON.parse(body)).toMatchObject({
      action: 'closed',
      number: 1,
      commit_id: commit,
      sender: { login: 'carol' },
      issue: { state: 'closed' },
    })
    await receiver.stop()
  })

  it('may be made by the API', async () => {
    const path = await fresh('api')
    const { commit } = await forge.ask(users.carol, 'POST', `${path}/contents/a.txt`, {
      content: '',
      message: 'Resolves: #1',
      branch: 'main',
    })
    await settled()
    expect(await entriesOf(path)).toContain(`close by carol ${commit.sha}`)
  })

  it('only refers to an issue that its pusher may not close', async () => {
    const other = await fresh('other')
    const mine = (await forge.repository(users.eve, 'mine')).path
    const folder = await clone(users.eve, mine)
    const [commit] = await push(folder, 'main', 'closes bob/other#1')
    expect(await entriesOf(other)).toEqual([`commit_ref by eve ${commit}`])
    expect(await stateOf(other)).toBe('open')
    // The poster may close it.
    await forge.ask(users.eve, 'POST', `${other}/issues`, { title: 'by eve' })
    await push(folder, 'main', 'closes bob/other#2')
    expect(await stateOf(other, 2)).toBe('closed')
    // A commit of a hidden repository is hidden.
    await forge.ask(users.eve, 'PATCH', mine, { private: true })
    expect(await entriesOf(other)).toEqual([])
  })

  it('leaves alone what has an open dependency, is a pull request, or is in the state already', async () => {
    const path = await fresh('stays', 2)
    const waits = { index: 2, owner: 'bob', repo: 'stays' }
    await forge.ask(users.bob, 'POST', `${path}/issues/1/dependencies`, waits)
    await forge.change(users.bob, path, 'f')
    await forge.ask(users.bob, 'POST', `${path}/pulls`, { title: 'f', head: 'f', base: 'main' })
    await push(await clone(users.bob, path), 'main', 'closes #1, reopens #2, closes #3')
    expect(await stateOf(path)).toBe('open')
    expect(await stateOf(path, 3)).toBe('open')
    for (const number of [1, 2, 3])
      expect(
        (await entriesOf(path, number)).filter((entry) => /^(close|reopen) /.test(entry)),
      ).toEqual([])
  })

  it('needs its word right before each reference', async () => {
    const path = await fresh('words', 4)
    const folder = await clone(users.bob, path)
    await push(folder, 'main', 'closes #1, #2\n\ncloses  #3, enclosed #4')
    for (const [number, state] of [
      [1, 'closed'],
      [2, 'open'],
      [3, 'open'],
      [4, 'open'],
    ] as const)
      expect(await stateOf(path, number)).toBe(state)
  })

  it('follows fifty references of a message, and names them once', async () => {
    const path = await fresh('fifty', 2)
    const unknown = Array.from({ length: 49 }, (_, i) => `#${i + 100}`).join(' ')
    await push(await clone(users.bob, path), 'main', `#1 #1 ${unknown} closes #2 closes #1`)
    expect(await stateOf(path)).toBe('closed')
    expect(await entriesOf(path)).toHaveLength(2)
    expect(await entriesOf(path, 2)).toEqual([])
  })

  it('does nothing for a repository that is archived', async () => {
    const there = await fresh('archived')
    const folder = await clone(users.bob, await fresh('not-archived'))
    await forge.ask(users.bob, 'PATCH', there, { archived: true })
    await push(folder, 'main', 'closes bob/archived#1')
    expect(await stateOf(there)).toBe('open')
  })

  it('that reverts another one does nothing but refer', async () => {
    const path = await fresh('reverts')
    await push(await clone(users.bob, path), 'main', 'Revert "fixes #1"\n\nThis closes #1.')
    expect(await stateOf(path)).toBe('open')
    expect(await entriesOf(path)).toHaveLength(1)
  })
})

describe('a commit on another branch', () => {
  it('refers once, and closes when a merge brings it to the default branch', async () => {
    const path = await fresh('branch')
    const [commit] = await push(await clone(users.carol, path), 'f', 'fixes #1')
    expect(await entriesOf(path)).toEqual([`commit_ref by carol ${commit}`])
    const pull = { title: 'F', head: 'f', base: 'main' }
    const { number } = await forge.ask(users.carol, 'POST', `${path}/pulls`, pull)
    await forge.ask(users.bob, 'POST', `${path}/pulls/${number}/merge`, { Do: 'merge' })
    // The merge has answered: nothing is left.
    expect(await stateOf(path)).toBe('closed')
    expect((await entriesOf(path)).toSorted()).toEqual([
      `close by bob ${commit}`,
      `commit_ref by carol ${commit}`,
    ])
    // The message of the merge names the pull request.
    expect((await entriesOf(path, number)).filter((entry) => entry.includes('_ref'))).toEqual([])
  })

  it('closes an issue that is about the branch, and then no other branch does', async () => {
    const path = await fresh('ref')
    await forge.ask(users.bob, 'PATCH', `${path}/issues/1`, { ref: 'refs/heads/f' })
    const folder = await clone(users.bob, path)
    await push(folder, 'main', 'closes #1')
    expect(await stateOf(path)).toBe('open')
    await push(folder, 'f', 'closes #1 too')
    expect(await stateOf(path)).toBe('closed')
  })

  it('is one entry with its latest id after a rebase', async () => {
    const path = await fresh('rebase')
    const folder = await clone(users.bob, path)
    await push(folder, 'f', 'See #1')
    await client.git(folder, 'reset', '-q', '--hard', 'HEAD~')
    await push(folder, 'main', 'base')
    await client.git(folder, 'cherry-pick', '--allow-empty', 'origin/f')
    await push(folder, 'f')
    const id = await client.git(folder, 'rev-parse', 'HEAD')
    expect(await entriesOf(path)).toEqual([`commit_ref by bob ${id}`])
  })

  it('brings nothing when the branch gets another name', async () => {
    const path = await fresh('rename')
    await push(await clone(users.bob, path), 'main', 'closes #1')
    await forge.ask(users.bob, 'PATCH', `${path}/issues/1`, { state: 'open' })
    await forge.ask(users.bob, 'PATCH', `${path}/branches/main`, { name: 'trunk' })
    await settled()
    expect(await stateOf(path)).toBe('open')
  })
})

describe('a pull request whose text closes an issue', () => {
  /** Opens a pull request of carol's with a new file. */
  async function propose(path: string, branch: string, fields: object): Promise<string> {
    await forge.change(users.carol, path, branch, 'main', `${branch}.txt`)
    const draft = { title: branch, head: branch, base: 'main', ...fields }
    const { number } = await forge.ask(users.carol, 'POST', `${path}/pulls`, draft)
    return `${path}/pulls/${number}`
  }
  const merge = (who: Actor, pull: string) =>
    forge.ask(who, 'POST', `${pull}/merge`, {
      Do: 'squash',
      MergeTitleField: 'x',
      MergeMessageField: 'y',
    })

  it('closes it when it is merged, and not when it is closed', async () => {
    const path = await fresh('texts', 4)
    const pull = await propose(path, 'f', { title: 'Fixes #1', body: 'Closes #2 and `closes #4`.' })
    const number = pull.split('/').at(-1)
    const body = 'Resolves #3. Reopens #2'
    await forge.ask(users.carol, 'POST', `${path}/issues/${number}/comments`, { body })
    await forge.ask(users.carol, 'PATCH', pull, { state: 'closed' })
    expect(await stateOf(path)).toBe('open')
    await forge.ask(users.carol, 'PATCH', pull, { state: 'open' })
    await merge(users.bob, pull)
    const { merge_commit_sha } = await forge.ask(users.bob, 'GET', pull)
    // The last word about an issue counts.
    expect(await Promise.all([1, 2, 3, 4].map((issue) => stateOf(path, issue)))).toEqual([
      'closed',
      'open',
      'closed',
      'open',
    ])
    expect(await entriesOf(path)).toContain(`close by bob ${merge_commit_sha}`)
  })

  it('needs the right of who merges or of who wrote the text', async () => {
    const [path, there] = [await fresh('rights'), (await forge.repository(users.eve, 'there')).path]
    for (const who of [users.eve, users.carol])
      await forge.ask(who, 'POST', `${there}/issues`, { title: 'target' })
    const body = 'resolves eve/there#1, resolves eve/there#2'
    await merge(users.bob, await propose(path, 'f', { body }))
    // carol, who wrote the text, is the poster of the second one.
    expect(await stateOf(there, 1)).toBe('open')
    expect(await stateOf(there, 2)).toBe('closed')
    await forge.ask(users.eve, 'PUT', `${there}/collaborators/bob`, { permission: 'write' })
    await merge(users.bob, await propose(path, 'g', { body }))
    expect(await stateOf(there, 1)).toBe('closed')
  })

  it('closes it only on the branches that matter', async () => {
    const path = await fresh('bases')
    await forge.change(users.bob, path, 'next')
    const propositions = [
      await propose(path, 'f', { title: 'fixes #1', base: 'next' }),
      await propose(path, 'g', { title: 'fixes #1', base: 'next' }),
    ] as const
    await merge(users.bob, propositions[0])
    await settled()
    expect(await stateOf(path)).toBe('open')
    await forge.ask(users.bob, 'PATCH', path, { default_target_branch: 'next' })
    await merge(users.bob, propositions[1])
    expect(await stateOf(path)).toBe('closed')
  })
})

describe('a repository in which all branches close issues', () => {
  it('has commits and merges act in all of them', async () => {
    const path = await fresh('all-branches', 3)
    const setting = { close_issues_via_commit_in_any_branch: true }
    expect(await forge.ask(users.bob, 'GET', path)).toMatchObject({
      close_issues_via_commit_in_any_branch: false,
    })
    expect(await forge.ask(users.bob, 'PATCH', path, setting)).toMatchObject(setting)
    await forge.ask(users.bob, 'PATCH', `${path}/issues/2`, { ref: 'main' })
    await push(await clone(users.carol, path), 'f', 'fixes #1, fixes #2')
    expect([await stateOf(path, 1), await stateOf(path, 2)]).toEqual(['closed', 'closed'])
    await forge.change(users.bob, path, 'next')
    await forge.change(users.bob, path, 'g', 'next')
    const draft = { title: 'closes #3', head: 'g', base: 'next' }
    const { number } = await forge.ask(users.bob, 'POST', `${path}/pulls`, draft)
    const merge = { Do: 'merge', MergeTitleField: 'x' }
    await forge.ask(users.bob, 'POST', `${path}/pulls/${number}/merge`, merge)
    expect(await stateOf(path, 3)).toBe('closed')
  })
})
