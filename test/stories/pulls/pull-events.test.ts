import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { RepositoryEvent_Type } from '#gen/branchline/v1/repository_event_pb.ts'
import type { WatchRepositoryResponse } from '#gen/branchline/v1/repository_event_service_pb.ts'
import { finishScheduledMerges } from '../../../src/forge/pulls/merging/scheduled-merge-worker.ts'
import { tokenOf } from '../../support/callers.ts'
import { createPullTestUsers, type PullTestUsers, refusalOf } from '../../support/pull-forge.ts'
import { type ReviewedPull, reviewForge } from '../../support/review-forge.ts'
import { type Actor, startTestServer, type TestServer } from '../../support/server.ts'
import { type Watcher, watchRepository } from '../../support/watch.ts'

let server: TestServer
let users: PullTestUsers
let forge: ReturnType<typeof reviewForge>
const watchers: Watcher<WatchRepositoryResponse>[] = []

beforeAll(async () => {
  server = await startTestServer()
  users = await createPullTestUsers(server.url)
  forge = reviewForge(server, users)
})
afterEach(() => {
  for (const watcher of watchers.splice(0)) watcher.leave()
})
afterAll(() => server.stop())

const { MERGEABILITY_CHECKED } = RepositoryEvent_Type

type Event = NonNullable<WatchRepositoryResponse['event']>

/** Begins to watch a repository of bob's over gRPC. */
async function watch(who: Pick<Actor, 'authorization'> | undefined, repo: string) {
  const watcher = watchRepository(server.url, 'gRPC', who?.authorization, { owner: 'bob', repo })
  watchers.push(watcher)
  await watcher.next()
  return {
    /**
     * All that is sent until the repository has another description, which it gets now. Checks of
     * mergeability run beside, and have a test of their own.
     */
    async events(): Promise<Event[]> {
      await forge.ask(users.bob, 'PATCH', `/repos/bob/${repo}`, {
        description: String(Math.random()),
      })
      const events: Event[] = []
      for (;;) {
        const { event } = await watcher.next()
        if (event?.type === RepositoryEvent_Type.REPOSITORY_EDITED) return events
        if (event && event.type !== MERGEABILITY_CHECKED) events.push(event)
      }
    },
  }
}

/** Types of the events about pull requests, and who did it. */
const summary = (events: readonly Event[]) =>
  events.flatMap(({ type, actor, subject }) =>
    subject.case === 'pullRequest'
      ? `${RepositoryEvent_Type[type]?.replace('PULL_REQUEST_', '')} ${actor?.login ?? 'nobody'}`
      : [],
  )

/**
 * What is told of a change to a pull request of carol's, bob's repository being watched by a
 * passer-by.
 */
async function toldOf(
  name: string,
  change: (pull: ReviewedPull) => Promise<unknown>,
  fields: object = {},
) {
  const pull = await forge.pull(name, fields)
  const watcher = await watch(undefined, name)
  await change(pull)
  return summary(await watcher.events())
}

const comment = { path: 'topic.txt', new_position: 1, body: 'Why?' }

describe('events of pull requests', () => {
  it('have the subject as of then, and the user', async () => {
    const { path } = await forge.repository(users.bob, 'facts')
    await forge.ask(users.bob, 'PUT', `${path}/collaborators/carol`, { permission: 'write' })
    const watcher = await watch(undefined, 'facts')
    const head = await forge.change(users.carol, path, 'topic')
    const draft = { head: 'topic', base: 'main', title: 'A change' }
    const { id } = await forge.ask(users.carol, 'POST', `${path}/pulls`, draft)
    const after = await forge.change(users.carol, path, 'topic', 'main', 'more.txt')
    await forge.ask(users.bob, 'POST', `${path}/branches`, {
      new_branch_name: 'other',
      old_ref_name: 'main',
    })
    await forge.ask(users.bob, 'PATCH', `${path}/pulls/1`, { base: 'other' })
    const events = (await watcher.events()).filter(({ subject }) => subject.case === 'pullRequest')
    expect(summary(events)).toEqual(['OPENED carol', 'HEAD_MOVED carol', 'RETARGETED bob'])
    expect(events.map(({ subject }) => subject.value)).toMatchObject([
      { id: BigInt(id), number: 1n, base: 'main', headSha: head },
      { id: BigInt(id), number: 1n, base: 'main', headSha: after },
      { id: BigInt(id), number: 1n, base: 'other', headSha: after },
    ])
  })

  it('have the end of each check of other commits, once', async () => {
    const { path } = await forge.repository(users.bob, 'checks')
    const watcher = watchRepository(server.url, 'gRPC', undefined, {
      owner: 'bob',
      repo: 'checks',
      types: [MERGEABILITY_CHECKED],
    })
    watchers.push(watcher)
    await watcher.next()
    const ended = async () => {
      const { event } = await watcher.next()
      expect([event?.actor, event?.subject.case]).toEqual([undefined, 'pullRequest'])
      return event?.subject.case === 'pullRequest' && event.subject.value.headSha
    }
    const head = await forge.change(users.bob, path, 'topic')
    const draft = { head: 'topic', base: 'main', title: 'A change' }
    await forge.ask(users.bob, 'POST', `${path}/pulls`, draft)
    expect(await ended()).toBe(head)
    for (let i = 0; i < 3; i++) await forge.ask(users.carol, 'GET', `${path}/pulls/1`)
    const after = await forge.change(users.bob, path, 'topic', 'main', 'more.txt')
    await forge.ask(users.carol, 'GET', `${path}/pulls/1`)
    // The readers in between found the result, so that nothing was checked again.
    expect(await ended()).toBe(after)
  })

  it.each<[name: string, change: (pull: ReviewedPull) => Promise<unknown>, told: string[]]>([
    [
      'edit',
      ({ pull }) => forge.ask(users.carol, 'PATCH', pull, { title: 'Two', body: 'B' }),
      ['EDITED carol'],
    ],
    ['nothing', ({ pull }) => forge.ask(users.carol, 'PATCH', pull, { title: 'A change' }), []],
    [
      'close and reopen',
      async ({ pull }) => {
        await forge.ask(users.carol, 'PATCH', pull, { state: 'closed', title: 'Closed' })
        await forge.ask(users.carol, 'PATCH', pull, { state: 'closed' })
        await forge.ask(users.bob, 'PATCH', pull, { state: 'open' })
      },
      ['CLOSED carol', 'REOPENED bob'],
    ],
    [
      'merge',
      async ({ pull }) => {
        await expect
          .poll(async () => (await forge.ask(users.bob, 'GET', pull)).mergeable)
          .toBe(true)
        await forge.ask(users.bob, 'POST', `${pull}/merge`, {
          Do: 'squash',
          delete_branch_after_merge: true,
        })
      },
      ['MERGED bob'],
    ],
    [
      'comment',
      async ({ path }) => {
        const { id } = await forge.ask(users.eve, 'POST', `${path}/issues/1/comments`, {
          body: 'Hm.',
        })
        await forge.ask(users.eve, 'PATCH', `${path}/issues/comments/${id}`, { body: 'Hm?' })
        await forge.ask(users.eve, 'PATCH', `${path}/issues/comments/${id}`, { body: 'Hm?' })
        await forge.ask(users.bob, 'DELETE', `${path}/issues/comments/${id}`)
      },
      ['COMMENTED eve', 'COMMENTED eve', 'COMMENTED bob'],
    ],
    [
      'reviews',
      async (pull) => {
        const { id } = await forge.review(users.bob, pull, 'APPROVED')
        await forge.ask(users.bob, 'POST', `${pull.reviews}/${id}/dismissals`, { message: 'No.' })
        await forge.ask(users.bob, 'POST', `${pull.reviews}/${id}/undismissals`)
        await forge.ask(users.bob, 'DELETE', `${pull.reviews}/${id}`)
      },
      ['REVIEWED bob', 'REVIEWED bob', 'REVIEWED bob', 'REVIEWED bob'],
    ],
    [
      'pending',
      async (pull) => {
        const { id } = await forge.review(users.eve, pull, 'PENDING', 'Wait.', {
          comments: [comment],
        })
        await forge.ask(users.eve, 'POST', `${pull.reviews}/${id}/comments`, comment)
        const [{ id: line }] = await forge.ask(users.eve, 'GET', `${pull.reviews}/${id}/comments`)
        await forge.ask(users.eve, 'DELETE', `${pull.reviews}/${id}/comments/${line}`)
        await forge.ask(users.eve, 'DELETE', `${pull.reviews}/${id}`)
      },
      [],
    ],
    [
      'submit',
      async (pull) => {
        const { id } = await forge.review(users.eve, pull, 'PENDING', 'Wait.', {
          comments: [comment],
        })
        await forge.ask(users.eve, 'POST', `${pull.reviews}/${id}`, {
          event: 'COMMENT',
          body: 'Now.',
        })
        const [{ id: line }] = await forge.ask(users.eve, 'GET', `${pull.reviews}/${id}/comments`)
        await forge.ask(users.eve, 'DELETE', `${pull.reviews}/${id}/comments/${line}`)
      },
      ['REVIEWED eve', 'COMMENTED eve'],
    ],
    [
      'requests',
      async ({ requested }) => {
        await forge.ask(users.carol, 'POST', requested, { reviewers: ['eve', 'bob'] })
        await forge.ask(users.eve, 'DELETE', requested, { reviewers: ['eve'] })
      },
      ['REVIEW_REQUESTED carol', 'REVIEW_REQUESTED eve'],
    ],
    [
      'head deleted',
      ({ path }) => forge.ask(users.bob, 'DELETE', `${path}/branches/topic`),
      ['CLOSED bob'],
    ],
    [
      'base renamed',
      async ({ path, pull }) => {
        await forge.ask(users.bob, 'POST', `${path}/branches`, {
          new_branch_name: 'other',
          old_ref_name: 'main',
        })
        await forge.ask(users.carol, 'PATCH', pull, { base: 'other' })
        await forge.ask(users.bob, 'PATCH', `${path}/branches/other`, { name: 'another' })
      },
      ['RETARGETED carol', 'RETARGETED nobody'],
    ],
    [
      'ordered',
      async ({ path, pull }) => {
        const rule = { rule_name: 'main', enable_status_check: true, status_check_contexts: ['ci'] }
        await forge.ask(users.bob, 'POST', `${path}/branch_protections`, rule)
        await expect
          .poll(async () => (await forge.ask(users.bob, 'GET', pull)).mergeable)
          .toBe(true)
        const order = { Do: 'merge', merge_when_checks_succeed: true }
        await forge.ask(users.bob, 'POST', `${pull}/merge`, order)
        await forge.ask(users.bob, 'DELETE', `${pull}/merge`)
        await forge.ask(users.bob, 'POST', `${pull}/merge`, order)
        const { head } = await forge.ask(users.bob, 'GET', pull)
        await forge.ask(users.bob, 'POST', `${path}/statuses/${head.sha}`, {
          state: 'success',
          context: 'ci',
        })
        await finishScheduledMerges(server.app)
        await expect.poll(async () => (await forge.ask(users.bob, 'GET', pull)).merged).toBe(true)
      },
      [
        'AUTO_MERGE_SCHEDULED bob',
        'AUTO_MERGE_CANCELLED bob',
        'AUTO_MERGE_SCHEDULED bob',
        'MERGED bob',
      ],
    ],
  ])('occur once for each change: %s', async (name, change, told) => {
    expect(await toldOf(name.replaceAll(' ', '-'), change)).toEqual(told)
  })

  it('are visible only to readers of pull requests', async () => {
    await forge.pull('private', { private: true })
    for (const who of [
      users.eve,
      undefined,
      await tokenOf(server.url, users.bob, ['all', 'public-only']),
    ]) {
      const { reason } = await refusalOf(watch(who, 'private'))
      expect(reason).toBe('REPOSITORY_NOT_FOUND')
    }
    const member = await watch(users.carol, 'private')
    await forge.ask(users.bob, 'PATCH', '/repos/bob/private/pulls/1', { title: 'Inside' })
    expect(summary(await member.events())).toEqual(['EDITED bob'])
  })

  it('are left out while pull requests are disabled', async () => {
    await forge.pull('off')
    const watcher = await watch(users.carol, 'off')
    await forge.ask(users.carol, 'PATCH', '/repos/bob/off/pulls/1', { title: 'Before' })
    expect(summary(await watcher.events())).toEqual(['EDITED carol'])
    await forge.ask(users.carol, 'PATCH', '/repos/bob/off/pulls/1', { title: 'Unseen' })
    const late = await watch(users.carol, 'off')
    await forge.ask(users.bob, 'PATCH', '/repos/bob/off', { has_pull_requests: false })
    // What moves the head is told of, as a push of somebody who reads the code.
    await forge.change(users.carol, '/repos/bob/off', 'topic', 'main', 'more.txt')
    expect(summary(await late.events())).toEqual([])
  })
})
