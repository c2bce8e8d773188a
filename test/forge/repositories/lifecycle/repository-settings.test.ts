import { beforeEach, describe, expect, it } from 'vitest'
import type { User } from '../../../../src/forge/core/schema.ts'
import {
  findRepositoryById,
  updateRepository,
} from '../../../../src/forge/repositories/lifecycle/repositories.rows.ts'
import { editRepository } from '../../../../src/forge/repositories/lifecycle/repository-settings.ts'
import { transaction } from '../../../../src/platform/database/database.ts'
import { addUser, type TestApp, testApp } from '../../../support/app.ts'
import { addRepository, session } from '../../../support/forge-rows.ts'

let app: TestApp
let bob: User
let carol: User
/** A repository of bob, and the number of carol's fork of it. */
let parent: number
let fork: number

beforeEach(async () => {
  app = await testApp()
  bob = await addUser(app, 'bob')
  carol = await addUser(app, 'carol')
  await transaction(app.db, async (tx) => {
    parent = (await addRepository(tx, { owner_id: bob.id, name: 'parent' })).id
    fork = (await addRepository(tx, { owner_id: carol.id, name: 'fork', parent_id: parent })).id
  })
})

/** Lets so many other steps of the process go first. */
async function steps(count: number): Promise<void> {
  for (let i = 0; i < count; i++) await Promise.resolve()
}

describe('a fork that becomes public', () => {
  it('never shows the content of a parent that becomes private at the same time', async () => {
    for (let delay = 0; delay < 300; delay += 3) {
      await transaction(app.db, async (tx) => {
        await updateRepository(tx, parent, { private: 0 })
        await updateRepository(tx, fork, { private: 1 })
      })
      const opens = editRepository(
        app,
        session(carol),
        { owner: 'carol', repo: 'fork' },
        {
          private: false,
          switches: {},
        },
      )
      await steps(delay)
      const hides = editRepository(
        app,
        session(bob),
        { owner: 'bob', repo: 'parent' },
        {
          private: true,
          switches: {},
        },
      )
      await Promise.allSettled([opens, hides])
      const [hidden, shown] = await Promise.all(
        [parent, fork].map((id) => findRepositoryById(app.db, id)),
      )
      expect([delay, hidden?.private, shown?.private]).toEqual([delay, 1, 1])
    }
  })
})
