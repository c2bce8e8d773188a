import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { JsonObject } from '@bufbuild/protobuf'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { NO_DELETION } from '../../../src/forge/pulls/merging/merge-checks.ts'
import { transaction } from '../../../src/platform/database/database.ts'
import { repositoryPath } from '../../../src/platform/git/repositories/repositories.ts'
import { type GitClient, openGitClient, remoteOf } from '../../support/git-client.ts'
import { createPullTestUsers, type PullTestUsers, pullForge } from '../../support/pull-forge.ts'
import { pullMerges } from '../../support/pull-merges.ts'
import { PASSWORD, startTestServer, type TestServer } from '../../support/server.ts'

let server: TestServer
let users: PullTestUsers
let forge: ReturnType<typeof pullForge>
let merges: ReturnType<typeof pullMerges>
let client: GitClient
/** Unix milliseconds; the server's clock. */
const now = Date.UTC(2026, 4, 1, 10)

beforeAll(async () => {
  server = await startTestServer({ clock: { now: () => now }, settings: { gitHooks: true } })
  users = await createPullTestUsers(server.url)
  forge = pullForge(server)
  merges = pullMerges(server)
  client = await openGitClient()
})
afterAll(async () => {
  for (const { id } of await server.app.db.selectFrom('repositories').select('id').execute()) {
    await client.git('.', '-C', repositoryPath(server.app.git, id), 'fsck', '--full', '--strict')
  }
  await server.stop()
  await client.remove()
})

let names = 0

/**
 * Bob's repository, to which eve proposes two commits of her own and one of dora's from her fork,
 * while the base goes on; and a clone of it.
 */
async function proposed(fields: object = {}) {
  names += 1
  const name = `merge${names}`
  const { id, path, pulls } = await forge.repository(users.bob, name)
  await forge.ask(users.bob, 'PATCH', path, { allow_manual_merge: true, ...fields })
  await forge.ask(users.bob, 'PUT', `${path}/collaborators/carol`, { permission: 'write' })
  const fork = await forge.fork(users.eve, path)
  await client.git('.', 'clone', '-q', remoteOf(server.url, `bob/${name}`, 'bob', PASSWORD), name)
  const git = (...args: string[]) => client.git(name, ...args)
  await git('checkout', '-q', '-b', 'topic')
  for (const [file, author] of [
    ['a', 'Eve <eve@example.org>'],
    ['b', 'Dora <dora@example.org>'],
    ['c', 'Eve <eve@example.org>'],
  ] as const) {
    await writeFile(join(client.home, name, file), file)
    await git('add', file)
    await git('commit', '-q', '-m', `Add ${file}`, `--author=${author}`)
  }
  const head = await git('rev-parse', 'HEAD')
  await git('push', '-q', remoteOf(server.url, `eve/${name}`, 'eve', PASSWORD), 'topic')
  const mergeBase = await git('rev-parse', 'main')
  const base = await forge.change(users.bob, path, 'main', 'main', 'base.txt')
  const { id: pullId } = await forge.ask(users.eve, 'POST', pulls, {
    head: 'eve:topic',
    base: 'main',
    title: 'Letters',
  })
  const tip = async (branch = 'main') =>
    (await forge.rest(users.bob, 'GET', `${path}/branches/${branch}`)).body.commit?.id
  return {
    id,
    name,
    path,
    pulls,
    fork,
    pull: `${pulls}/1`,
    pullId,
    git,
    head,
    mergeBase,
    base,
    tip,
  }
}

/** Commits from one to another, newest first, each in a form that says everything about them. */
const logOf = async (git: GitClient['git'], folder: string, range: string) =>
  (await git(folder, 'log', '--topo-order', '--format=%an <%ae>|%cn <%ce>|%P|%s', range)).split(
    '\n',
  )

const BOB = 'bob <bob@example.org>'
const EVE = 'eve <eve@example.org>'

describe('a pull request is merged by', () => {
  it.each<[style: string, body: JsonObject, parents: 'both' | 'base' | 'rebased' | 'head']>([
    ['nothing said', {}, 'both'],
    ['merge', { Do: 'merge' }, 'both'],
    ['squash', { Do: 'squash' }, 'base'],
    ['rebase', { Do: 'rebase' }, 'rebased'],
    ['rebase-merge', { Do: 'rebase-merge' }, 'rebased'],
  ])('%s, with the result of git', async (_, body, kind) => {
    const { git, name, pull, head, base, mergeBase, tip } = await proposed()
    const title = `Merge pull request 'Letters' (#1) from eve/${name}:topic into main`
    expect(await merges.merge(users.bob, pull, body)).toMatchObject({ status: 200, body: {} })
    await git('fetch', '-q', 'origin')
    const merged = await git('rev-parse', 'origin/main')
    expect(await tip()).toBe(merged)
    const log = await logOf(client.git, name, `${base}..${merged}`)
    if (kind === 'both') expect(log[0]).toBe(`${BOB}|${BOB}|${base} ${head}|${title}`)
    if (kind === 'base') expect(log).toEqual([`${EVE}|${BOB}|${base}|Letters (#1)`])
    if (kind === 'rebased') {
      const replayed = log.filter((line) => line.includes('|Add '))
      const by = (author: string, letter: string) =>
        expect.stringMatching(`^${author}\\|${BOB}\\|.{40}\\|Add ${letter}$`)
      expect(replayed).toEqual([
        by('Eve <eve@example.org>', 'c'),
        by('Dora <dora@example.org>', 'b'),
        by('Eve <eve@example.org>', 'a'),
      ])
      expect(log).toHaveLength(body.Do === 'rebase' ? 3 : 4)
      if (body.Do === 'rebase-merge') expect(log[0]).toMatch(`${BOB}|${BOB}|${base} `)
    }
    // The same tree as by Git itself.
    await git('checkout', '-q', '--detach', base)
    await git('merge', '-q', '--no-edit', head)
    expect(await git('rev-parse', `${merged}^{tree}`)).toBe(await git('rev-parse', 'HEAD^{tree}'))
    expect(await forge.ask(users.eve, 'GET', pull)).toMatchObject({
      state: 'closed',
      merged: true,
      merged_at: '2026-05-01T10:00:00Z',
      closed_at: '2026-05-01T10:00:00Z',
      merged_by: { login: 'bob' },
      merge_commit_sha: merged,
      merge_base: mergeBase,
      head: { sha: head },
    })
    expect((await forge.rest(undefined, 'GET', `${pull}/merge`)).status).toBe(204)
    expect(await git('ls-remote', 'origin', 'refs/pull/1/head')).toBe(`${head}\trefs/pull/1/head`)
    const commits = await forge.ask(users.eve, 'GET', `${pull}/commits`)
    expect(commits.map(({ sha }: { sha: string }) => sha)).toContain(head)
    expect(commits).toHaveLength(3)
  })

  it('fast-forward-only, without a new commit', async () => {
    const { git, pull, head, base, tip, name, fork } = await proposed()
    await git('fetch', '-q', 'origin')
    await git('rebase', '-q', base, 'topic')
    await git('push', '-q', '-f', remoteOf(server.url, `eve/${name}`, 'eve', PASSWORD), 'topic')
    const rebased = await git('rev-parse', 'topic')
    expect(rebased).not.toBe(head)
    expect((await forge.ask(users.eve, 'GET', `${fork.path}/branches/topic`)).commit.id).toBe(
      rebased,
    )
    expect(await merges.mergeByGrpc(users.carol, pull, { do: 'fast-forward-only' })).toMatchObject({
      scheduled: false,
    })
    expect(await tip()).toBe(rebased)
    expect(await forge.ask(users.eve, 'GET', pull)).toMatchObject({
      merged: true,
      merge_commit_sha: rebased,
      merge_base: base,
      merged_by: { login: 'carol' },
    })
  })

  it('rebase of commits that the base already has, without a change', async () => {
    const { git, name, pull, path, tip } = await proposed()
    await git('fetch', '-q', 'origin')
    await git('checkout', '-q', '-B', 'main', 'origin/main')
    await git('cherry-pick', 'topic~3..topic')
    await git('push', '-q', 'origin', 'main')
    const base = await tip()
    expect((await merges.merge(users.bob, pull, { Do: 'rebase' })).status).toBe(200)
    expect(await tip()).toBe(base)
    expect(await forge.ask(users.eve, 'GET', pull)).toMatchObject({
      merged: true,
      merge_commit_sha: base,
    })
    expect((await forge.ask(users.bob, 'GET', path)).name).toBe(name)
  })

  it('a user who states the commit that merged it in Git', async () => {
    const { git, pull, head, mergeBase, tip } = await proposed()
    await git('fetch', '-q', 'origin')
    await git('checkout', '-q', '-B', 'main', 'origin/main')
    await git('merge', '-q', '--no-edit', head)
    await git('push', '-q', 'origin', 'main')
    const merged = await git('rev-parse', 'main')
    const order = { Do: 'manually-merged', MergeCommitID: merged.toUpperCase() }
    expect((await merges.merge(users.carol, pull, order)).status).toBe(200)
    expect(await tip()).toBe(merged)
    expect(await forge.ask(users.eve, 'GET', pull)).toMatchObject({
      merged: true,
      merge_commit_sha: merged,
      merge_base: mergeBase,
      merged_by: { login: 'carol' },
    })
    expect(await forge.ask(users.eve, 'GET', `${pull}/commits`)).toHaveLength(3)
  })
})

describe('the merged state of a pull request', () => {
  it('is visible to its readers', async () => {
    const { pull, path } = await proposed()
    const grpc = merges.grpcAs(undefined)
    const index = { owner: 'bob', repo: path.split('/')[3] ?? '', index: 1n }
    expect((await forge.rest(undefined, 'GET', `${pull}/merge`)).status).toBe(404)
    expect(await grpc.checkPullRequestMerged(index).catch(String)).toContain('not found')
    expect((await forge.rest(undefined, 'GET', `${path}/pulls/2/merge`)).status).toBe(404)
    expect((await forge.rest(undefined, 'GET', `${path}/pulls/x/merge`)).status).toBe(404)
    await merges.merge(users.bob, pull)
    const told = await forge.rest(undefined, 'GET', `${pull}/merge`)
    expect([told.status, told.body]).toEqual([204, {}])
    expect(await grpc.checkPullRequestMerged(index)).toMatchObject({})
    await forge.ask(users.bob, 'PATCH', path, { private: true })
    expect((await forge.rest(users.eve, 'GET', `${pull}/merge`)).status).toBe(404)
  })
})

describe('a merge', () => {
  it('counts for its repository and its milestone, and is read by the user who merged', async () => {
    const { pull, path, pullId } = await proposed()
    const milestone = await forge.ask(users.bob, 'POST', `${path}/milestones`, { title: 'v1' })
    await forge.ask(users.bob, 'PATCH', pull, {
      milestone: milestone.id,
      assignees: ['bob', 'carol'],
    })
    const seen = async () =>
      new Map(
        (
          await server.app.db
            .selectFrom('issue_participants')
            .selectAll()
            .where('issue_id', '=', pullId)
            .execute()
        ).map(({ user_id, seen: count }) => [user_id, count]),
      )
    const idOf = async (who: PullTestUsers['bob']) => (await forge.ask(who, 'GET', '/user')).id
    const [bob, carol] = [await idOf(users.bob), await idOf(users.carol)]
    // Even one that is refused is a look.
    await merges.merge(users.carol, pull, { Do: 'nothing' })
    const before = await server.app.db
      .selectFrom('issues')
      .selectAll()
      .where('id', '=', pullId)
      .executeTakeFirst()
    expect((await seen()).get(carol)).toBe(before?.change_count)
    expect((await merges.merge(users.bob, pull)).status).toBe(200)
    const after = await server.app.db
      .selectFrom('issues')
      .selectAll()
      .where('id', '=', pullId)
      .executeTakeFirst()
    expect(after?.change_count).toBe((before?.change_count ?? 0) + 1)
    expect((await seen()).get(bob)).toBe(after?.change_count)
    expect((await seen()).get(carol)).toBe(before?.change_count)
    expect((await forge.ask(users.bob, 'GET', path)).open_pr_counter).toBe(0)
    expect(await forge.ask(users.bob, 'GET', `${path}/milestones/${milestone.id}`)).toMatchObject({
      open_issues: 0,
      closed_issues: 1,
    })
  })

  it('cancels its scheduled merge', async () => {
    const { pull, path } = await proposed()
    await forge.ask(users.bob, 'POST', `${path}/branch_protections`, {
      rule_name: 'main',
      required_approvals: 1,
    })
    expect((await merges.merge(users.bob, pull, { MergeWhenChecksSucceed: true })).status).toBe(201)
    expect((await merges.merge(users.bob, pull, { force_merge: true })).status).toBe(200)
    expect(await server.app.db.selectFrom('auto_merges').selectAll().execute()).toEqual([])
    expect((await forge.rest(users.bob, 'DELETE', `${pull}/merge`)).status).toBe(404)
  })

  it('happens at once if it is scheduled and nothing is missing', async () => {
    const { pull } = await proposed()
    expect(
      await merges.mergeByGrpc(users.bob, pull, { merge_when_checks_succeed: true }),
    ).toMatchObject({
      scheduled: false,
    })
    expect((await forge.rest(undefined, 'GET', `${pull}/merge`)).status).toBe(204)
  })

  it('tells hooks who merges', async () => {
    const { pull, path, pullId } = await proposed()
    const content = '#!/bin/sh\nenv | grep -E "^GITEA_P" | sort\nexit 1\n'
    await forge.ask(users.ada, 'PATCH', `${path}/hooks/git/pre-receive`, { content })
    const { body } = await merges.merge(users.carol, pull)
    expect(body.message.split('\n')).toEqual(
      expect.arrayContaining([
        `PushRejected with remote message: GITEA_PR_ID=${pullId}`,
        'GITEA_PR_INDEX=1',
        'GITEA_PUSHER_NAME=carol',
        'GITEA_PUSH_TRIGGER=pr-merge-to-base',
      ]),
    )
  })

  it('is signed by the instance, and accepted by a branch that requires signatures', async () => {
    const { pull, path, tip } = await proposed()
    await forge.ask(users.bob, 'POST', `${path}/branch_protections`, {
      rule_name: 'main',
      require_signed_commits: true,
    })
    expect((await merges.merge(users.bob, pull, { Do: 'merge' })).body.message).toContain(
      'verified',
    )
    expect((await merges.merge(users.bob, pull, { Do: 'squash' })).status).toBe(200)
    const { commit } = await forge.ask(users.bob, 'GET', `${path}/git/commits/${await tip()}`)
    expect(commit.verification).toMatchObject({ verified: true })
  })
})

describe('a merge that a failure has interrupted', () => {
  /**
   * What a merge writes down before Git is asked, as a failure leaves it. On PostgreSQL, a worker of
   * the server may read that at once, so that Git comes first here.
   */
  async function note(
    { id, pullId, head, mergeBase }: Awaited<ReturnType<typeof proposed>>,
    commit: string,
  ) {
    const [merger_id, time] = [(await forge.ask(users.bob, 'GET', '/user')).id, now / 1000]
    await transaction(server.app.db, async (tx) => {
      const { id: pending_update_id } = await tx
        .insertInto('pending_ref_updates')
        .values({ repository_id: id, create_time: time })
        .returning('id')
        .executeTakeFirstOrThrow()
      const attempt = {
        pull_request_id: pullId,
        pending_update_id,
        merger_id,
        base_branch: 'main',
        merge_base: mergeBase,
        head_commit: head,
        time,
      }
      await tx
        .insertInto('pull_merge_attempts')
        .values({ ...attempt, ...NO_DELETION, base_commit: null, merge_commit: commit })
        .execute()
    })
  }

  /** The commit of a merge, in the repository of the server. */
  async function mergeCommit({ id, base, head }: Awaited<ReturnType<typeof proposed>>) {
    const git = (...args: string[]) =>
      client.git('.', '-C', repositoryPath(server.app.git, id), ...args)
    const tree = await git('merge-tree', '--write-tree', base, head)
    return { git, commit: await git('commit-tree', tree, '-p', base, '-p', head, '-m', 'Merge') }
  }

  it('is complete for the next reader if Git has moved the branch', async () => {
    const made = await proposed()
    const { git, commit } = await mergeCommit(made)
    await git('update-ref', 'refs/heads/main', commit)
    await note(made, commit)
    expect(await forge.ask(users.eve, 'GET', made.pull)).toMatchObject({
      merged: true,
      merge_commit_sha: commit,
      merge_base: made.mergeBase,
      merged_by: { login: 'bob' },
    })
    expect(await made.tip()).toBe(commit)
  })

  it('is complete if another push has followed', async () => {
    const made = await proposed()
    const { git, commit } = await mergeCommit(made)
    const later = await git('commit-tree', `${commit}^{tree}`, '-p', commit, '-m', 'later')
    await git('update-ref', 'refs/heads/main', later)
    await note(made, commit)
    expect(await forge.ask(users.eve, 'GET', made.pull)).toMatchObject({
      merged: true,
      merge_commit_sha: commit,
    })
  })

  it('has not happened if Git has not moved the branch, and can be repeated', async () => {
    const made = await proposed()
    const { commit } = await mergeCommit(made)
    await note(made, commit)
    expect(await forge.ask(users.eve, 'GET', made.pull)).toMatchObject({
      state: 'open',
      merged: false,
    })
    expect((await merges.merge(users.bob, made.pull)).status).toBe(200)
    expect((await forge.ask(users.eve, 'GET', made.pull)).merge_commit_sha).not.toBe(commit)
  })

  it('has not happened if its commit is lost', async () => {
    const made = await proposed()
    await note(made, '1'.repeat(40))
    expect(await forge.ask(users.eve, 'GET', made.pull)).toMatchObject({
      state: 'open',
      merged: false,
    })
  })
})

describe('the head branch of a merged pull request', () => {
  /** One in the same repository. */
  async function own(fields: object = {}, branch = 'topic') {
    names += 1
    const { path, pulls } = await forge.repository(users.bob, `merge${names}`)
    await forge.ask(users.bob, 'PATCH', path, fields)
    await forge.ask(users.bob, 'PUT', `${path}/collaborators/carol`, { permission: 'write' })
    await forge.change(users.bob, path, branch)
    await forge.ask(users.bob, 'POST', pulls, { head: branch, base: 'main', title: 'Topic' })
    const isThere = async (name = branch) =>
      (await forge.rest(users.bob, 'GET', `${path}/branches/${name}`)).status === 200
    return { path, pulls, pull: `${pulls}/1`, isThere }
  }
  const deletes = { default_delete_branch_after_merge: true }

  it.each<[what: string, fields: object, body: JsonObject, isThere: boolean]>([
    ['stays unless somebody says otherwise', {}, {}, true],
    ['goes where the merge says so', {}, { delete_branch_after_merge: true }, false],
    ['goes where the repository says so', deletes, {}, false],
    ['stays where the merge says so', deletes, { DeleteBranchAfterMerge: false }, true],
    [
      'goes as the repository says where the merge says nothing',
      deletes,
      { delete_branch_after_merge: null },
      false,
    ],
  ])('%s', async (_, fields, body, expected) => {
    const { pull, isThere } = await own(fields)
    expect((await merges.merge(users.bob, pull, body)).status).toBe(200)
    expect(await isThere()).toBe(expected)
    expect((await forge.ask(users.bob, 'GET', pull)).head.sha).toMatch(/^[0-9a-f]{40}$/)
  })

  it('stays while other pull requests need it', async () => {
    const order = { delete_branch_after_merge: true }
    const twice = await own()
    await forge.change(users.bob, twice.path, 'second')
    await forge.ask(users.bob, 'POST', twice.pulls, {
      head: 'topic',
      base: 'second',
      title: 'Again',
    })
    expect((await merges.merge(users.bob, twice.pull, order)).status).toBe(200)
    expect(await twice.isThere()).toBe(true)

    const kept = await own()
    await forge.ask(users.bob, 'POST', `${kept.path}/branch_protections`, { rule_name: 'topic' })
    expect((await merges.merge(users.bob, kept.pull, order)).status).toBe(200)
    expect(await kept.isThere()).toBe(true)

    const target = await own()
    await forge.ask(users.bob, 'PATCH', target.path, { default_target_branch: 'topic' })
    expect((await merges.merge(users.bob, target.pull, order)).status).toBe(200)
    expect(await target.isThere()).toBe(true)

    const isDefault = await own()
    await forge.ask(users.bob, 'PATCH', isDefault.path, { default_branch: 'topic' })
    expect((await merges.merge(users.bob, isDefault.pull, order)).status).toBe(200)
    expect(await isDefault.isThere()).toBe(true)
  })

  it('stays in a fork that the merger may not write to, and is deleted where they may', async () => {
    const { pull, fork } = await proposed()
    expect((await merges.merge(users.bob, pull, { delete_branch_after_merge: true })).status).toBe(
      200,
    )
    expect((await forge.rest(users.eve, 'GET', `${fork.path}/branches/topic`)).status).toBe(200)
    const other = await proposed()
    await forge.ask(users.eve, 'PUT', `${other.fork.path}/collaborators/bob`, {
      permission: 'write',
    })
    expect(
      (await merges.merge(users.bob, other.pull, { delete_branch_after_merge: true })).status,
    ).toBe(200)
    expect((await forge.rest(users.eve, 'GET', `${other.fork.path}/branches/topic`)).status).toBe(
      404,
    )
    expect((await forge.ask(users.bob, 'GET', other.pull)).head).toMatchObject({
      ref: 'refs/pull/1/head',
    })
  })

  it('is replaced by the base of the merge in pull requests that go to it', async () => {
    const { path, pulls, pull, isThere } = await own()
    await forge.change(users.bob, path, 'release')
    await forge.ask(users.bob, 'PATCH', pull, { base: 'release' })
    await forge.change(users.bob, path, 'child', 'topic')
    await forge.ask(users.bob, 'POST', pulls, { head: 'child', base: 'topic', title: 'Child' })
    expect((await merges.merge(users.bob, pull, { delete_branch_after_merge: true })).status).toBe(
      200,
    )
    expect(await isThere()).toBe(false)
    expect(await forge.ask(users.bob, 'GET', `${pulls}/2`)).toMatchObject({
      state: 'open',
      base: { ref: 'release' },
    })
  })

  it('stays when a hook refuses its deletion, and the merge succeeds', async () => {
    const { path, pull, isThere } = await own()
    const content = '#!/bin/sh\n[ "$3" != 0000000000000000000000000000000000000000 ]\n'
    await forge.ask(users.ada, 'PATCH', `${path}/hooks/git/update`, { content })
    expect(await merges.merge(users.bob, pull, { delete_branch_after_merge: true })).toMatchObject({
      status: 200,
    })
    expect(await isThere()).toBe(true)
  })
})

describe('a push that merges pull requests', () => {
  it.each([
    ['a merge', ['merge', '-q', '--no-ff', '--no-edit', 'topic']],
    ['a fast-forward', ['merge', '-q', '--ff-only', 'topic']],
  ])('marks them as merged where the repository is configured so: %s', async (kind, command) => {
    const { git, pull, path, pulls, head, base, mergeBase, name } = await proposed({
      autodetect_manual_merge: true,
    })
    await git('fetch', '-q', 'origin')
    const isForward = kind === 'a fast-forward'
    await git('checkout', '-q', '-B', 'main', isForward ? mergeBase : base)
    await git(...command)
    const by = await git('rev-parse', 'HEAD')
    // What comes behind it is not what merged it.
    await client.commit(name, 'more')
    // Another one, which has nothing to do with that.
    await forge.change(users.bob, path, 'other')
    await forge.ask(users.bob, 'POST', pulls, { head: 'other', base: 'main', title: 'Other' })
    await git('push', '-q', '-f', 'origin', 'main')
    expect(await forge.ask(users.eve, 'GET', pull)).toMatchObject({
      merged: true,
      merge_commit_sha: by,
      merged_by: { login: 'bob' },
      merge_base: mergeBase,
      head: { sha: head },
    })
    expect((await forge.rest(users.bob, 'GET', `${pulls}/2/merge`)).status).toBe(404)
  })

  it('has no effect on them where the repository is not', async () => {
    const { git, pull, base } = await proposed()
    await git('fetch', '-q', 'origin')
    await git('checkout', '-q', '-B', 'main', base)
    await git('merge', '-q', '--no-edit', 'topic')
    await git('push', '-q', 'origin', 'main')
    expect((await forge.rest(undefined, 'GET', `${pull}/merge`)).status).toBe(404)
    expect(await forge.ask(users.eve, 'GET', pull)).toMatchObject({ state: 'open', merged: false })
  })
})
