import { Code } from '@connectrpc/connect'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { RepositoryEvent_Type } from '#gen/branchline/v1/repository_event_pb.ts'
import type { WatchRepositoryResponse } from '#gen/branchline/v1/repository_event_service_pb.ts'
import { MAX_STREAMS_PER_PEER } from '../../src/forge/repositories/activity/repository-events.ts'
import { restAt, type SendRest } from '../support/rest.ts'
import {
  createTestUsers,
  startTestServer,
  type TestServer,
  type TestUsers,
} from '../support/server.ts'
import { WATCH_PROTOCOLS, type Watcher, watchRepository } from '../support/watch.ts'

const { REFS_UPDATED, REPOSITORY_EDITED } = RepositoryEvent_Type

describe.each(WATCH_PROTOCOLS)('events of a repository by %s', (protocol) => {
  let server: TestServer
  let users: TestUsers
  let rest: SendRest
  const watchers: Watcher<WatchRepositoryResponse>[] = []

  beforeAll(async () => {
    server = await startTestServer()
    users = await createTestUsers(server.url)
    rest = restAt(server.url)
    for (const name of ['garden', 'field'])
      await rest(users.bob, 'POST', '/user/repos', { name, auto_init: true })
  })
  afterEach(() => {
    for (const watcher of watchers.splice(0)) watcher.leave()
  })
  afterAll(() => server.stop())

  type More = { repo?: string; cursor?: string; types?: RepositoryEvent_Type[] }
  const watch = (who: keyof TestUsers | 'nobody', more: More = {}) => {
    const authorization = who === 'nobody' ? undefined : users[who].authorization
    const watcher = watchRepository(server.url, protocol, authorization, {
      owner: 'bob',
      repo: 'garden',
      ...more,
    })
    watchers.push(watcher)
    return watcher
  }
  const edit = (changes: object) => rest(users.bob, 'PATCH', '/repos/bob/garden', changes)
  const branch = (name: string) =>
    rest(users.bob, 'POST', '/repos/bob/garden/branches', {
      new_branch_name: name,
      old_ref_name: 'main',
    })

  it('begin with a cursor, arrive as they happen, and continue after a cursor', async () => {
    const first = watch('carol')
    expect((await first.next()).event).toBeUndefined()
    await branch('a')
    await branch('b')
    const { cursor, event } = await first.next()
    expect(event).toMatchObject({
      type: REFS_UPDATED,
      actor: { login: 'bob' },
      subject: { case: 'refs' },
    })
    expect(event?.subject.value).toMatchObject({
      count: 1,
      refs: [{ ref: 'refs/heads/a', oldId: '' }],
    })
    const second = watch('carol', { cursor })
    expect(await second.next()).toMatchObject({ cursor })
    expect((await second.next()).event?.subject.value).toMatchObject({
      refs: [{ ref: 'refs/heads/b' }],
    })
  })

  it('have the requested types', async () => {
    const watcher = watch('nobody', { types: [REPOSITORY_EDITED] })
    await watcher.next()
    await branch('c')
    await edit({ description: 'green' })
    const { event } = await watcher.next()
    expect(event).toMatchObject({
      type: REPOSITORY_EDITED,
      subject: { value: { owner: 'bob', name: 'garden' } },
    })
  })

  it('are rejected with the status of the reason before the first response', async () => {
    await expect(watch('bob', { cursor: 'nonsense' }).next()).rejects.toMatchObject({
      code: Code.InvalidArgument,
    })
    const { cursor } = await watch('bob').next()
    const ofAnother = watch('bob', { repo: 'field', cursor }).next()
    await expect(ofAnother).rejects.toMatchObject({ code: Code.InvalidArgument })
    await expect(watch('bob', { repo: 'none' }).next()).rejects.toMatchObject({
      code: Code.NotFound,
    })
  })

  it('have a limit for anonymous readers of one network, which does not affect other readers', async () => {
    const open = Array.from({ length: MAX_STREAMS_PER_PEER }, () => watch('nobody'))
    for (const watcher of open) await watcher.next()
    await expect(watch('nobody').next()).rejects.toMatchObject({ code: Code.ResourceExhausted })
    await watch('carol').next()
  })

  it('end before the next event for readers who lose access', async () => {
    const watcher = watch('carol')
    const { cursor } = await watcher.next()
    const owner = watch('bob', { cursor })
    await owner.next()
    const ended = expect(watcher.next()).rejects.toMatchObject({ rawMessage: 'not found' })
    await edit({ private: true })
    await ended
    await expect(watch('carol', { cursor }).next()).rejects.toMatchObject({ code: Code.NotFound })
    expect((await owner.next()).event?.subject.value).toMatchObject({ private: true })
  })

  it('end when the server stops, without delaying the stop', async () => {
    const watcher = watch('bob')
    await watcher.next()
    const ended = expect(watcher.next()).rejects.toMatchObject({
      rawMessage: 'the server is stopping',
    })
    const closing = server.close(60_000)
    await ended
    await closing
  })
})
