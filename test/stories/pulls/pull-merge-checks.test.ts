import type { JsonObject } from '@bufbuild/protobuf'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { checkMergeability } from '../../../src/forge/pulls/merging/mergeability.ts'
import { finishScheduledMerges } from '../../../src/forge/pulls/merging/scheduled-merge-worker.ts'
import { repositoryPath } from '../../../src/platform/git/repositories/repositories.ts'
import { tokenOf } from '../../support/callers.ts'
import { type GitClient, openGitClient, remoteOf } from '../../support/git-client.ts'
import { createPullTestUsers, type PullTestUsers, pullForge } from '../../support/pull-forge.ts'
import { pullMerges } from '../../support/pull-merges.ts'
import { type Actor, PASSWORD, startTestServer, type TestServer } from '../../support/server.ts'

let server: TestServer
let users: PullTestUsers
let forge: ReturnType<typeof pullForge>
let merges: ReturnType<typeof pullMerges>
let client: GitClient

beforeAll(async () => {
  server = await startTestServer({ settings: { gitHooks: true } })
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

/** A pull request of bob's from `topic` to `main`, to which carol may write, and eve may not. */
async function proposed(fields: object = {}) {
  names += 1
  const { id, path, pulls } = await forge.repository(users.bob, `gate${names}`, {})
  await forge.ask(users.bob, 'PATCH', path, fields)
  await forge.ask(users.bob, 'PUT', `${path}/collaborators/carol`, { permission: 'write' })
  const head = await forge.change(users.bob, path, 'topic')
  const open = (more: object = {}) =>
    forge.ask(users.bob, 'POST', pulls, { head: 'topic', base: 'main', title: 'Topic', ...more })
  const protect = (rule: object) =>
    forge.ask(users.bob, 'POST', `${path}/branch_protections`, { rule_name: 'main', ...rule })
  const tip = async (branch = 'main') =>
    (await forge.ask(users.bob, 'GET', `${path}/branches/${branch}`)).commit.id
  return { id, path, pulls, pull: `${pulls}/1`, head, open, protect, tip }
}

type Proposed = Awaited<ReturnType<typeof proposed>>

interface Gate {
  /** Makes it so, and says who merges, and how, if not bob with nothing to say. */
  readonly prepare: (proposed: Proposed) => Promise<{ who?: Actor; body?: JsonObject } | undefined>
  readonly settings?: object
  readonly refusal: readonly [status: number, message: string, code: string, reason: string]
}

const TRY_LATER = 'Please try again later'
const notReady = (message: string, reason: string) =>
  [405, message, 'FailedPrecondition', reason] as const

const GATES: Readonly<Record<string, Gate>> = {
  'one that is not there': {
    prepare: async () => undefined,
    refusal: [404, 'not found', 'NotFound', 'PULL_REQUEST_NOT_FOUND'],
  },
  'one that is merged': {
    async prepare({ open, pull }) {
      await open()
      expect((await merges.merge(users.bob, pull)).status).toBe(200)
      return undefined
    },
    refusal: notReady('The PR is already merged', 'PULL_REQUEST_MERGED'),
  },
  'one that is merged, before anything else is asked': {
    async prepare({ open, pull }) {
      await open()
      await merges.merge(users.bob, pull)
      return { who: users.eve, body: { do: 'nothing' } }
    },
    refusal: notReady('The PR is already merged', 'PULL_REQUEST_MERGED'),
  },
  'one that is closed': {
    async prepare({ open, pull }) {
      await open()
      await forge.ask(users.bob, 'PATCH', pull, { state: 'closed' })
      return { who: users.eve }
    },
    refusal: [404, 'not found', 'FailedPrecondition', 'PULL_REQUEST_CLOSED'],
  },
  'who may not write': {
    async prepare({ open }) {
      await open({ title: 'WIP: Topic' })
      return { who: users.eve }
    },
    refusal: [405, 'User not allowed to merge PR', 'PermissionDenied', 'MERGE_DENIED'],
  },
  'who may write and is not on the list': {
    async prepare({ open, protect }) {
      await protect({ enable_merge_whitelist: true, merge_whitelist_usernames: ['bob'] })
      await open()
      return { who: users.carol }
    },
    refusal: [405, 'User not allowed to merge PR', 'PermissionDenied', 'MERGE_DENIED'],
  },
  'work in progress': {
    async prepare({ open, protect }) {
      await protect({ required_approvals: 1 })
      await open({ title: '[wip] Topic' })
      return undefined
    },
    refusal: notReady('Work in progress PRs cannot be merged', 'PULL_REQUEST_WORK_IN_PROGRESS'),
  },
  'what is in its base already': {
    async prepare({ open, path, head }) {
      await open()
      await forge.ask(users.bob, 'PUT', `${path}/branches/main`, { new_commit_id: head })
      return undefined
    },
    refusal: notReady(TRY_LATER, 'PULL_REQUEST_NOT_MERGEABLE'),
  },
  'missing statuses': {
    async prepare({ open, protect }) {
      await protect({
        enable_status_check: true,
        status_check_contexts: ['ci/*'],
        required_approvals: 1,
      })
      await open()
      return undefined
    },
    refusal: notReady('Not all required status checks successful', 'STATUS_CHECKS_MISSING'),
  },
  'missing approvals': {
    async prepare({ open, protect }) {
      await protect({ required_approvals: 1, block_on_outdated_branch: true })
      await open()
      return undefined
    },
    refusal: notReady('Does not have enough approvals', 'APPROVALS_MISSING'),
  },
  'requested changes': {
    async prepare({ open, protect, pull }) {
      await protect({ block_on_rejected_reviews: true })
      await open()
      await forge.ask(users.carol, 'POST', `${pull}/reviews`, {
        event: 'REQUEST_CHANGES',
        body: 'No.',
      })
      return undefined
    },
    refusal: notReady('There are requested changes', 'CHANGES_REQUESTED'),
  },
  'requested reviews': {
    async prepare({ open, protect }) {
      await protect({ block_on_official_review_requests: true })
      await open({ reviewers: ['carol'] })
      return undefined
    },
    refusal: notReady('There are official review requests', 'REVIEWS_MISSING'),
  },
  'a head behind its base': {
    async prepare({ open, protect, path }) {
      await protect({
        block_on_outdated_branch: true,
        enable_push: true,
        protected_file_patterns: 'topic.*',
      })
      await open()
      await forge.change(users.bob, path, 'main', 'main', 'other.txt')
      return undefined
    },
    refusal: notReady('The head branch is behind the base branch', 'HEAD_BEHIND_BASE'),
  },
  'protected files': {
    async prepare({ open, protect }) {
      await protect({ protected_file_patterns: 'TOPIC.txt' })
      await open()
      return { body: { do: 'nothing' } }
    },
    refusal: notReady('Changed protected files', 'PROTECTED_FILES_CHANGED'),
  },
  'what is not ready, forced by who may not': {
    async prepare({ open, protect }) {
      await protect({ required_approvals: 1 })
      await open()
      return { who: users.carol, body: { force_merge: true } }
    },
    refusal: notReady('Does not have enough approvals', 'APPROVALS_MISSING'),
  },
  'what is not ready, forced by an administrator who may not either': {
    async prepare({ open, protect }) {
      await protect({ required_approvals: 1, block_admin_merge_override: true })
      await open()
      return { body: { ForceMerge: true } }
    },
    refusal: notReady('Does not have enough approvals', 'APPROVALS_MISSING'),
  },
  'commits without signatures': {
    async prepare({ open, protect }) {
      await protect({ require_signed_commits: true })
      await client.git(
        '.',
        'clone',
        '-q',
        remoteOf(server.url, `bob/gate${names}`, 'bob', PASSWORD),
        `gate${names}`,
      )
      await client.git(`gate${names}`, 'checkout', '-q', 'topic')
      await client.commit(`gate${names}`, 'not signed')
      await client.git(`gate${names}`, 'push', '-q', 'origin', 'topic')
      await open()
      return { body: { force_merge: true, head_commit_id: '0'.repeat(40) } }
    },
    refusal: notReady(
      'the branch requires signed commits but not all head commits are verified',
      'HEAD_COMMITS_UNVERIFIED',
    ),
  },
  'a style that the repository does not allow': {
    settings: { allow_squash_merge: false },
    async prepare({ open }) {
      await open()
      return { body: { Do: 'squash', HeadCommitID: '0'.repeat(40) } }
    },
    refusal: notReady(
      'squash is not allowed an allowed merge style for this repository',
      'MERGE_STYLE_NOT_ALLOWED',
    ),
  },
  'a style that nobody knows': {
    async prepare({ open }) {
      await open()
      return { body: { do: 'octopus' } }
    },
    refusal: notReady(
      'octopus is not allowed an allowed merge style for this repository',
      'MERGE_STYLE_NOT_ALLOWED',
    ),
  },
  'a head that is elsewhere': {
    async prepare({ open }) {
      await open()
      return { body: { head_commit_id: '0'.repeat(40) } }
    },
    refusal: [409, 'head out of date', 'Aborted', 'HEAD_COMMIT_DIFFERS'],
  },
  'a manual merge where that is not allowed': {
    async prepare({ open, tip }) {
      await open()
      return { body: { Do: 'manually-merged', MergeCommitID: await tip() } }
    },
    refusal: notReady(
      'manually-merged is not allowed an allowed merge style for this repository',
      'MERGE_STYLE_NOT_ALLOWED',
    ),
  },
  'a manual merge by a commit that the base has not': {
    settings: { allow_manual_merge: true },
    async prepare({ open, head }) {
      await open({ title: 'WIP: Topic' })
      return { body: { Do: 'manually-merged', MergeCommitID: head } }
    },
    refusal: [409, 'Wrong commit ID', 'FailedPrecondition', 'WRONG_MERGE_COMMIT'],
  },
  'a manual merge by a part of an id': {
    settings: { allow_manual_merge: true },
    async prepare({ open, tip }) {
      await open()
      return { body: { Do: 'manually-merged', MergeCommitID: (await tip()).slice(0, 12) } }
    },
    refusal: [409, 'Wrong commit ID', 'FailedPrecondition', 'WRONG_MERGE_COMMIT'],
  },
  'what a hook refuses, with its words': {
    async prepare({ open, path }) {
      await open()
      const content = '#!/bin/sh\necho "not on $GITEA_PUSH_TRIGGER of $GITEA_PR_INDEX"\nexit 1\n'
      await forge.ask(users.ada, 'PATCH', `${path}/hooks/git/pre-receive`, { content })
      return undefined
    },
    refusal: [
      409,
      'PushRejected with remote message: not on pr-merge-to-base of 1',
      'FailedPrecondition',
      'MERGE_PUSH_REFUSED',
    ],
  },
  'what a hook refuses without a word': {
    async prepare({ open, path }) {
      await open()
      await forge.ask(users.ada, 'PATCH', `${path}/hooks/git/update`, {
        content: '#!/bin/sh\nexit 1\n',
      })
      return undefined
    },
    refusal: [
      409,
      'PushRejected without remote error message',
      'FailedPrecondition',
      'MERGE_PUSH_REFUSED',
    ],
  },
  'an archived repository': {
    async prepare({ open, path }) {
      await open()
      await forge.ask(users.bob, 'PATCH', path, { archived: true })
      return { who: users.eve }
    },
    refusal: [423, 'repo is archived', 'FailedPrecondition', 'REPOSITORY_ARCHIVED'],
  },
  'what is scheduled already': {
    async prepare({ open, protect, pull }) {
      await protect({ required_approvals: 1 })
      const { id } = await open()
      const scheduled = await merges.merge(users.bob, pull, { merge_when_checks_succeed: true })
      expect([scheduled.status, scheduled.body]).toEqual([201, {}])
      ids.push(id)
      return { body: { merge_when_checks_succeed: true } }
    },
    refusal: [409, '', 'AlreadyExists', 'AUTO_MERGE_SCHEDULED'],
  },
}

/** Of the pull requests that are scheduled. */
const ids: number[] = []

describe('a merge is refused because of', () => {
  it.each(Object.entries(GATES))('%s', async (_, { prepare, settings, refusal }) => {
    const made = await proposed(settings)
    const { who = users.bob, body = {} } = (await prepare(made)) ?? {}
    const base = await made.tip()
    const [status, message, code, reason] = refusal
    const text =
      reason === 'AUTO_MERGE_SCHEDULED'
        ? `pull request is already scheduled to auto merge when checks succeed [pull_id: ${ids.at(-1)}]`
        : message
    expect(await merges.refusalOf(who, made.pull, body)).toEqual({
      status,
      message: text,
      code,
      reason,
    })
    expect(await made.tip()).toBe(base)
  })

  it('a base that moves at the same time', async () => {
    const { id, open, path, pull } = await proposed()
    await open()
    // It lets the merge go on as soon as that is too late.
    const content = `#!/bin/sh
read -r old new ref
while [ "$(git rev-parse "$ref")" = "$old" ]; do :; done
`
    await forge.ask(users.ada, 'PATCH', `${path}/hooks/git/pre-receive`, { content })
    const git = (...args: string[]) =>
      client.git('.', '-C', repositoryPath(server.app.git, id), ...args)
    let isRefused = false
    const refused = merges.refusalOf(users.bob, pull).finally(() => {
      isRefused = true
    })
    for (let i = 0; !isRefused; i++) {
      const commit = await git(
        'commit-tree',
        'refs/heads/main^{tree}',
        '-p',
        'refs/heads/main',
        '-m',
        `${i}`,
      )
      await git('update-ref', 'refs/heads/main', commit)
    }
    expect(await refused).toEqual({
      status: 409,
      message: 'merge push out of date',
      code: 'Aborted',
      reason: 'MERGE_OUT_OF_DATE',
    })
    expect(await forge.ask(users.bob, 'GET', pull)).toMatchObject({ state: 'open', merged: false })
  })

  it('a repository that does not exist or that a token may not see', async () => {
    const { path, open, pull } = await proposed()
    await open()
    await forge.ask(users.bob, 'PATCH', path, { private: true })
    const missing = {
      status: 404,
      message: 'not found',
      code: 'NotFound',
      reason: 'REPOSITORY_NOT_FOUND',
    }
    expect(await merges.refusalOf(users.eve, pull)).toEqual(missing)
    expect(
      await merges.refusalOf(await tokenOf(server.url, users.bob, ['all', 'public-only']), pull),
    ).toEqual(missing)
    expect(
      await merges.refusalOf(await tokenOf(server.url, users.bob, ['read:repository']), pull),
    ).toMatchObject({
      status: 403,
      reason: 'SCOPE_MISSING',
    })
    expect(await merges.refusalOf(undefined, pull)).toMatchObject({
      status: 401,
      reason: 'UNAUTHENTICATED',
    })
  })
})

describe('a merge that Git refuses reports', () => {
  const conflict = (style: string, more: object = {}) => ({
    Style: style,
    StdOut: expect.any(String),
    StdErr: expect.any(String),
    Err: {},
    message: expect.any(String),
    ...more,
  })

  it.each(['merge', 'squash'])('what Git says: %s', async (style) => {
    const { open, path, pull } = await proposed()
    await open()
    await forge.change(users.bob, path, 'main', 'main', 'topic.txt')
    const { status, body } = await merges.merge(users.bob, pull, { Do: style })
    expect([status, body]).toEqual([409, conflict(style)])
    expect(body.StdOut).toContain('topic.txt')
    expect(await merges.mergeByGrpc(users.bob, pull, { do: style }).catch(String)).toContain(
      'conflict',
    )
  })

  it.each(['merge', 'squash', 'rebase', 'rebase-merge', 'fast-forward-only'])(
    'the same before the check of the pull request and after it: %s',
    async (style) => {
      const { open, path, pull } = await proposed()
      const { id } = await open()
      await forge.change(users.bob, path, 'main', 'main', 'topic.txt')
      const before = [
        await merges.merge(users.bob, pull, { Do: style }),
        await merges.refusalOf(users.bob, pull, { Do: style }),
      ]
      await checkMergeability(server.app, id)
      const { mergeability } = await server.app.db
        .selectFrom('issues')
        .select('mergeability')
        .where('id', '=', id)
        .executeTakeFirstOrThrow()
      expect(mergeability).toBe('CONFLICT')
      const after = [
        await merges.merge(users.bob, pull, { Do: style }),
        await merges.refusalOf(users.bob, pull, { Do: style }),
      ]
      const told = (answers: typeof before) =>
        answers.map((answer) => ({ ...answer, headers: undefined }))
      expect(told(after)).toEqual(told(before))
      expect(after[0]?.status).toBe(409)
    },
  )

  it('the commit at which a rebase stops', async () => {
    const { open, path, pull, head } = await proposed()
    const { commit } = await forge.ask(users.bob, 'DELETE', `${path}/contents/topic.txt`, {
      sha: (await forge.ask(users.bob, 'GET', `${path}/contents/topic.txt?ref=topic`)).sha,
      branch: 'topic',
    })
    expect(commit.parents[0].sha).toBe(head)
    await open()
    await forge.ask(users.bob, 'POST', `${path}/contents/topic.txt`, {
      content: Buffer.from('other\n').toString('base64'),
      branch: 'main',
    })
    for (const style of ['rebase', 'rebase-merge']) {
      const { status, body } = await merges.merge(users.bob, pull, { Do: style })
      expect([status, body]).toEqual([409, conflict(style, { CommitSHA: head })])
    }
  })

  it('that a fast-forward would lose commits', async () => {
    const { open, path, pull } = await proposed()
    await open()
    await forge.change(users.bob, path, 'main', 'main', 'other.txt')
    const { status, body } = await merges.merge(users.bob, pull, { Do: 'fast-forward-only' })
    expect([status, body]).toEqual([409, conflict('fast-forward-only')])
  })

  it.each(['merge', 'squash', 'rebase', 'rebase-merge'])(
    'that histories are unrelated: %s',
    async (style) => {
      const { open, pull } = await proposed()
      await open()
      const folder = `unrelated-${names}`
      await client.git(
        '.',
        'clone',
        '-q',
        remoteOf(server.url, `bob/gate${names}`, 'bob', PASSWORD),
        folder,
      )
      await client.git(folder, 'checkout', '-q', '--orphan', 'anew')
      await client.commit(folder, 'anew')
      await client.git(folder, 'push', '-q', '-f', 'origin', 'anew:main')
      const { status, body } = await merges.merge(users.bob, pull, { Do: style })
      expect([status, body]).toEqual([
        409,
        conflict(style, { StdOut: 'refusing to merge unrelated histories' }),
      ])
    },
  )
})

describe('a merge of a pull request that is not ready can be forced', () => {
  it('by an administrator, if the user is on the list', async () => {
    const one = await proposed()
    await one.protect({
      required_approvals: 1,
      protected_file_patterns: '*.txt',
      enable_status_check: true,
    })
    await one.open()
    expect(await merges.merge(users.bob, one.pull, { force_merge: true })).toMatchObject({
      status: 200,
      body: {},
    })
    const two = await proposed()
    await two.protect({
      required_approvals: 1,
      enable_bypass_allowlist: true,
      bypass_allowlist_usernames: ['carol'],
    })
    await two.open()
    expect(await merges.mergeByGrpc(users.carol, two.pull, { force_merge: true })).toMatchObject({
      scheduled: false,
    })
    expect((await forge.ask(users.eve, 'GET', two.pull)).merged_by.login).toBe('carol')
  })
})

describe('a user with read access only', () => {
  it.each([
    ['a public repository', {}],
    ['a private repository', { private: true }],
  ])('may merge if a list contains the user, at once or scheduled: %s', async (_, fields) => {
    for (const [rule, body] of [
      [{}, { Do: 'squash', delete_branch_after_merge: true }],
      [
        { enable_status_check: true, status_check_contexts: ['ci'] },
        { Do: 'merge', merge_when_checks_succeed: true },
      ],
    ]) {
      const { open, protect, pull, path, head } = await proposed(fields)
      await forge.ask(users.bob, 'PUT', `${path}/collaborators/eve`, { permission: 'read' })
      await protect({ enable_merge_whitelist: true, merge_whitelist_usernames: ['eve'], ...rule })
      await open()
      const token = await tokenOf(server.url, users.eve, ['write:repository'])
      const { status, body: answer } = await merges.merge(token, pull, body as JsonObject)
      expect([status, answer]).toEqual([
        rule && 'enable_status_check' in rule ? 201 : 200,
        expect.anything(),
      ])
      if (status === 201)
        await forge.ask(users.bob, 'POST', `${path}/statuses/${head}`, {
          state: 'success',
          context: 'ci',
        })
      await finishScheduledMerges(server.app)
      const merger = async () => (await forge.ask(users.bob, 'GET', pull)).merged_by?.login
      await expect.poll(merger).toBe('eve')
      // To merge is all that the list lets them do.
      expect((await forge.rest(users.bob, 'GET', `${path}/branches/topic`)).status).toBe(200)
    }
  })
})

describe('a user who has lost write access', () => {
  it('may merge if a list contains the user', async () => {
    const { open, protect, pull, path } = await proposed()
    await forge.ask(users.bob, 'PUT', `${path}/collaborators/eve`, { permission: 'write' })
    await protect({ enable_merge_whitelist: true, merge_whitelist_usernames: ['eve'] })
    await open()
    await forge.ask(users.bob, 'PUT', `${path}/collaborators/eve`, { permission: 'read' })
    expect(await merges.merge(users.eve, pull)).toMatchObject({ status: 200, body: {} })
    expect(await forge.ask(users.bob, 'GET', pull)).toMatchObject({
      merged: true,
      merged_by: { login: 'eve' },
    })
  })
})

describe('an instance that does not sign', () => {
  it('merges only signed commits into a branch that requires signatures', async () => {
    const other = await startTestServer({ settings: { signing: false } })
    try {
      const { bob } = await createPullTestUsers(other.url)
      const unsigned = pullForge(other)
      const { path, pulls } = await unsigned.repository(bob, 'unsigned')
      await unsigned.change(bob, path, 'topic')
      await unsigned.ask(bob, 'POST', `${path}/branch_protections`, {
        rule_name: 'main',
        require_signed_commits: true,
      })
      await unsigned.ask(bob, 'POST', pulls, { head: 'topic', base: 'main', title: 'Topic' })
      for (const style of ['merge', 'squash', 'rebase', 'rebase-merge']) {
        expect(await pullMerges(other).refusalOf(bob, `${pulls}/1`, { do: style })).toEqual({
          status: 405,
          message: 'wont sign: nokey',
          code: 'FailedPrecondition',
          reason: 'MERGE_UNSIGNED',
        })
      }
      expect(
        await pullMerges(other).refusalOf(bob, `${pulls}/1`, { do: 'fast-forward-only' }),
      ).toMatchObject({
        status: 405,
        reason: 'HEAD_COMMITS_UNVERIFIED',
      })
    } finally {
      await other.stop()
    }
  })
})
