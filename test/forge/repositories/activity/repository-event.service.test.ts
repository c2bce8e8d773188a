import { create, type MessageInitShape } from '@bufbuild/protobuf'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { RepositoryEvent_Type } from '#gen/branchline/v1/repository_event_pb.ts'
import {
  RepositoryEventService,
  WatchRepositoryRequestSchema,
  type WatchRepositoryResponseSchema,
} from '#gen/branchline/v1/repository_event_service_pb.ts'
import type { Caller } from '../../../../src/forge/core/access.ts'
import { HEARTBEAT_MS } from '../../../../src/forge/core/event-watches.ts'
import type { User } from '../../../../src/forge/core/schema.ts'
import {
  deleteCollaborator,
  putCollaborator,
} from '../../../../src/forge/repositories/access/collaborators.rows.ts'
import { repositoryEventService } from '../../../../src/forge/repositories/activity/repository-event.service.ts'
import {
  changeWatched,
  recordRepositoryChange,
} from '../../../../src/forge/repositories/activity/repository-events.ts'
import { deleteRepository } from '../../../../src/forge/repositories/lifecycle/repositories.rows.ts'
import { transaction } from '../../../../src/platform/database/database.ts'
import { addUser, type TestApp, testApp } from '../../../support/app.ts'
import { callContext } from '../../../support/call.ts'
import { addRepository, session } from '../../../support/forge-rows.ts'
import { manualTimers, type Timers } from '../../../support/timers.ts'

const NOT_FOUND = expect.objectContaining({ reason: 'REPOSITORY_NOT_FOUND' })

let app: TestApp
let ada: User
let bob: User
let id: number
let timers: Timers
let service: ReturnType<typeof repositoryEventService>
let reading: AbortController
beforeEach(async () => {
  app = await testApp()
  ada = await addUser(app, 'ada')
  bob = await addUser(app, 'bob')
  id = await transaction(app.db, async (tx) => {
    const repository = await addRepository(tx, { owner_id: ada.id, name: 'garden', private: 1 })
    await putCollaborator(tx, { repository_id: repository.id, user_id: bob.id, level: 'read' })
    return repository.id
  })
  timers = manualTimers()
  service = repositoryEventService(app, timers.start)
  reading = new AbortController()
})
afterEach(async () => {
  reading.abort()
  await app.background.settled()
})

type Answer = MessageInitShape<typeof WatchRepositoryResponseSchema>

/** A stream that is read one answer at a time. */
function watch(caller: Caller) {
  const context = {
    ...callContext(RepositoryEventService.method.watchRepository, { caller }),
    signal: reading.signal,
  }
  const request = create(WatchRepositoryRequestSchema, { owner: 'ada', repo: 'garden' })
  const answers = service.watchRepository(request, context)[Symbol.asyncIterator]()
  return async (): Promise<Answer> => (await answers.next()).value
}

const password = (user: User): Caller => ({ ...session(user), credential: { kind: 'password' } })

const edit = () =>
  changeWatched(app, (tx) => recordRepositoryChange(app, tx, undefined, id, 'REPOSITORY_EDITED'))

/** Lets a stream come to where it waits. */
async function settle(): Promise<void> {
  for (let i = 0; i < 100; i++) await new Promise((resolve) => setImmediate(resolve))
}

describe('a stream of the events of a repository', () => {
  it('has a heartbeat with its cursor after a period without events', async () => {
    const next = watch(password(bob))
    const { cursor } = await next()
    const waiting = next()
    await settle()
    timers.pass(HEARTBEAT_MS)
    expect(await waiting).toEqual({ cursor })
  })

  it.each([
    [
      'the caller is no longer a collaborator',
      () => transaction(app.db, (tx) => deleteCollaborator(tx, id, bob.id)),
    ],
    ['it is deleted', () => transaction(app.db, (tx) => deleteRepository(tx, id))],
  ])('ends with the heartbeat when %s', async (_, change) => {
    const next = watch(password(bob))
    await next()
    const waiting = next()
    waiting.catch(() => {})
    await settle()
    await change()
    timers.pass(HEARTBEAT_MS)
    // A heartbeat may follow a read that the database answered before the change.
    const afterThat = async () => {
      const following = next()
      following.catch(() => {})
      await settle()
      timers.pass(HEARTBEAT_MS)
      return following
    }
    await expect(waiting.then(afterThat)).rejects.toEqual(NOT_FOUND)
  })

  it('ends at the first event after the caller loses access', async () => {
    const next = watch(password(bob))
    await next()
    const waiting = next()
    waiting.catch(() => {})
    await settle()
    await transaction(app.db, (tx) => deleteCollaborator(tx, id, bob.id))
    await edit()
    await expect(waiting).rejects.toEqual(NOT_FOUND)
  })

  it('is available to every reader of the repository', async () => {
    const [hers, his] = [watch(password(ada)), watch(password(bob))]
    await Promise.all([hers(), his()])
    const both = Promise.all([hers(), his()])
    await edit()
    for (const { event } of await both)
      expect(event).toMatchObject({ type: RepositoryEvent_Type.REPOSITORY_EDITED })
  })
})
