import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Owner } from '../../../../src/forge/accounts/schema.ts'
import { findOwnerById } from '../../../../src/forge/accounts/users/owners.rows.ts'
import { claimNames } from '../../../../src/forge/accounts/users/users.rows.ts'
import { wrongCounters } from '../../../../src/forge/administration/counters.rows.ts'
import type { Caller } from '../../../../src/forge/core/access.ts'
import type { RepositoryAccess } from '../../../../src/forge/core/levels.ts'
import type { User } from '../../../../src/forge/core/schema.ts'
import { putCollaborator } from '../../../../src/forge/repositories/access/collaborators.rows.ts'
import {
  accessOfUser,
  decideAccess,
  openRepositories,
  openRepository,
  openRepositoryById,
  repositoryReader,
  type Unit,
} from '../../../../src/forge/repositories/access/permissions.ts'
import type { RepositoryGrant } from '../../../../src/forge/repositories/access/repository-grants.rows.ts'
import {
  type RepositoryReader,
  readableBy,
} from '../../../../src/forge/repositories/access/repository-readers.rows.ts'
import { moveRepository } from '../../../../src/forge/repositories/lifecycle/repositories.rows.ts'
import type { Repository } from '../../../../src/forge/repositories/schema.ts'
import {
  countRepositories,
  searchRepositories,
} from '../../../../src/forge/repositories/search/repository-search.rows.ts'
import { transaction } from '../../../../src/platform/database/database.ts'
import type { Db } from '../../../../src/platform/database/schema.ts'
import { type Random, seededRandom } from '../../../platform/rpc/rest/random.ts'
import { addUser, type TestApp, testApp } from '../../../support/app.ts'
import {
  ANYBODY,
  addOrganization,
  addRepository,
  addTeam,
  session,
  token,
} from '../../../support/forge-rows.ts'
import { countQueries, plansOf } from '../../../support/query-plan.ts'
import { isLongTier } from '../../../support/tier.ts'

const ANONYMOUS: RepositoryReader = {
  userId: undefined,
  needsSignIn: false,
  restricted: false,
  publicOnly: false,
  administrator: 'none',
}
const ADA: RepositoryReader = { ...ANONYMOUS, userId: 1 }
const OWNER_ID = 2
const NOT_FOUND = { reason: 'REPOSITORY_NOT_FOUND' }

const collaborator = (level: 'read' | 'write' | 'admin'): RepositoryGrant => ({
  kind: 'collaborator',
  level,
})
const team = (
  permission: RepositoryAccess,
  units: Record<string, unknown> = {},
  applies = true,
): RepositoryGrant => ({
  kind: 'team',
  permission,
  units,
  applies,
})
const codeReader = team('read', { 'repo.code': 'read' })
const issueWriter = team('write', { 'repo.issues': 'write' })

describe('decideAccess', () => {
  it.each<
    readonly [
      who: string,
      reader: RepositoryReader,
      repository: { private?: boolean; visibility?: 'limited' | 'private' },
      grants: readonly RepositoryGrant[],
      access: RepositoryAccess | readonly [code: RepositoryAccess, issues: RepositoryAccess],
    ]
  >([
    ['anybody', ANONYMOUS, {}, [], 'read'],
    ['anybody', ANONYMOUS, { private: true }, [], 'none'],
    ['anybody', ANONYMOUS, { visibility: 'limited' }, [], 'none'],
    ['anybody', ANONYMOUS, { visibility: 'private' }, [], 'none'],
    ['anybody at a private instance', { ...ANONYMOUS, needsSignIn: true }, {}, [], 'none'],
    ['a stranger', ADA, {}, [], 'read'],
    ['a stranger', ADA, { private: true }, [], 'none'],
    ['a stranger', ADA, { visibility: 'limited' }, [], 'read'],
    ['a stranger', ADA, { visibility: 'private' }, [], 'none'],
    ['a restricted stranger', { ...ADA, restricted: true }, {}, [], 'none'],
    [
      'a restricted collaborator',
      { ...ADA, restricted: true },
      {},
      [collaborator('write')],
      'write',
    ],
    ['the owner', { ...ADA, userId: OWNER_ID }, { private: true }, [], 'owner'],
    ['the owner, restricted', { ...ADA, userId: OWNER_ID, restricted: true }, {}, [], 'owner'],
    ['the owner, hidden', { ...ADA, userId: OWNER_ID }, { visibility: 'private' }, [], 'owner'],
    [
      'the owner by a public-only token',
      { ...ADA, userId: OWNER_ID, publicOnly: true },
      {},
      [],
      'owner',
    ],
    [
      'the owner by a public-only token',
      { ...ADA, userId: OWNER_ID, publicOnly: true },
      { private: true },
      [],
      'none',
    ],
    [
      'the owner, hidden, by a public-only token',
      { ...ADA, userId: OWNER_ID, publicOnly: true },
      { visibility: 'limited' },
      [],
      'none',
    ],
    [
      'an administrator of the site',
      { ...ADA, administrator: 'write' },
      { private: true },
      [],
      'owner',
    ],
    [
      'one whose token only reads',
      { ...ADA, administrator: 'read' },
      { private: true },
      [],
      'read',
    ],
    [
      'one whose token only reads',
      { ...ADA, administrator: 'read' },
      {},
      [collaborator('admin')],
      'admin',
    ],
    [
      'one by a public-only token',
      { ...ADA, administrator: 'write', publicOnly: true },
      { private: true },
      [],
      'none',
    ],
    ['a collaborator', ADA, { private: true }, [collaborator('read')], 'read'],
    ['a collaborator', ADA, { private: true }, [collaborator('admin')], 'admin'],
    [
      'a collaborator',
      ADA,
      { private: true, visibility: 'private' },
      [collaborator('write')],
      'write',
    ],
    ['an owner of the organisation', ADA, { private: true }, [team('owner')], 'owner'],
    ['somebody in a team of administrators', ADA, { private: true }, [team('admin')], 'admin'],
    // The grants are for other repositories.
    [
      'somebody in a team of administrators',
      ADA,
      { private: true },
      [team('admin', {}, false)],
      'none',
    ],
    ['somebody in a team for code', ADA, { private: true }, [codeReader], ['read', 'none']],
    ['somebody in a team for code', ADA, {}, [codeReader], ['read', 'read']],
    ['somebody in two teams', ADA, { private: true }, [codeReader, issueWriter], ['read', 'write']],
    [
      'somebody in a team and a collaborator',
      ADA,
      {},
      [issueWriter, collaborator('read')],
      ['read', 'write'],
    ],
    // Administering a feature means write access to it, because settings apply to the whole
    // repository.
    [
      'somebody in a team that owns a part',
      ADA,
      {},
      [team('write', { 'repo.code': 'owner' })],
      ['write', 'read'],
    ],
    ['somebody in a team of no units', ADA, { private: true }, [team('none')], 'none'],
    [
      'somebody in a team of units from elsewhere',
      ADA,
      { private: true },
      [team('read', { 'repo.x': 'read' })],
      'none',
    ],
    [
      'somebody in a team of levels from elsewhere',
      ADA,
      { private: true },
      [team('read', { 'repo.code': 9 })],
      'none',
    ],
    [
      'a member of a hidden organisation',
      ADA,
      { visibility: 'private' },
      [team('none', {}, false)],
      'read',
    ],
    [
      'a member, restricted',
      { ...ADA, restricted: true },
      { visibility: 'private' },
      [team('none', {}, false)],
      'none',
    ],
    [
      'a member by a public-only token',
      { ...ADA, publicOnly: true },
      { visibility: 'private' },
      [team('owner')],
      'none',
    ],
  ])('%s %o', (_, reader, repository, grants, access) => {
    const units = decideAccess(
      reader,
      { owner_id: OWNER_ID, private: repository.private ? 1 : 0 },
      { visibility: repository.visibility ?? 'public' },
      grants,
    )
    const [code, issues] = typeof access === 'string' ? [access, access] : access
    expect([units.code, units.issues]).toEqual([code, issues])
  })
})

describe('a repository', () => {
  let app: TestApp
  let bob: User
  let eve: User
  let repository: Repository
  beforeEach(async () => {
    app = await testApp()
    bob = await addUser(app, 'bob')
    eve = await addUser(app, 'eve')
    repository = await transaction(app.db, (tx) =>
      addRepository(tx, { owner_id: bob.id, name: 'Tools' }),
    )
  })
  afterEach(() => app.db.destroy())

  it('is found by its name in upper or lower case, and by its id', async () => {
    const byName = await openRepository(app, ANYBODY, { owner: 'BOB', repo: 'tOOLS' }, 'read')
    expect(byName).toMatchObject({
      repository,
      owner: { id: bob.id, kind: 'USER', name: 'bob' },
      access: 'read',
    })
    expect(await openRepositoryById(app, ANYBODY, repository.id, 'read')).toEqual(byName)
    await expect(openRepositoryById(app, ANYBODY, repository.id + 1, 'read')).rejects.toMatchObject(
      NOT_FOUND,
    )
  })

  it('is not found by the login id of its owner', async () => {
    const chosen = await addUser(app, 'carol', { user_id: 'the-chosen' })
    await transaction(app.db, (tx) => addRepository(tx, { owner_id: chosen.id, name: 'tools' }))
    expect(
      await openRepository(app, ANYBODY, { owner: 'carol', repo: 'tools' }, 'read'),
    ).toMatchObject({
      owner: { id: chosen.id },
    })
    await expect(
      openRepository(app, ANYBODY, { owner: 'the-chosen', repo: 'tools' }, 'read'),
    ).rejects.toMatchObject(NOT_FOUND)
  })

  it.each<[needed: RepositoryAccess]>([['write'], ['admin'], ['owner']])(
    'says what is missing: %s',
    async (needed) => {
      const opening = openRepository(app, session(eve), { owner: 'bob', repo: 'tools' }, needed)
      await expect(opening).rejects.toMatchObject({
        reason: 'REPOSITORY_ACCESS_DENIED',
        metadata: { needed },
      })
      expect(
        await openRepository(app, session(bob), { owner: 'bob', repo: 'tools' }, needed),
      ).toMatchObject({
        access: 'owner',
      })
    },
  )

  it('does not exist for strangers while it is private, whatever level they need', async () => {
    await app.db.updateTable('repositories').set({ private: 1 }).execute()
    for (const needed of ['read', 'write', 'admin', 'owner'] as const) {
      for (const unit of ['code', 'pulls'] as const) {
        await expect(
          openRepository(app, session(eve), { owner: 'bob', repo: 'tools' }, needed, unit),
        ).rejects.toMatchObject(NOT_FOUND)
      }
    }
  })

  it('discloses its new location only to its readers', async () => {
    await transaction(app.db, (tx) =>
      moveRepository(tx, repository, { owner_id: bob.id, name: 'gadgets', name_key: 'gadgets' }),
    )
    const moved = { reason: 'REPOSITORY_MOVED', metadata: { owner: 'bob', name: 'gadgets' } }
    await expect(
      openRepository(app, session(eve), { owner: 'bob', repo: 'tools' }, 'owner'),
    ).rejects.toMatchObject(moved)
    await app.db.updateTable('repositories').set({ private: 1 }).execute()
    await expect(
      openRepository(app, session(eve), { owner: 'bob', repo: 'tools' }, 'read'),
    ).rejects.toMatchObject(NOT_FOUND)
    await expect(
      openRepository(app, session(bob), { owner: 'bob', repo: 'tools' }, 'read'),
    ).rejects.toMatchObject(moved)
  })

  it('discloses its new owner after a transfer', async () => {
    await app.db
      .insertInto('repository_redirects')
      .values({ owner_id: eve.id, name_key: 'old', repository_id: 1 })
      .execute()
    const moved = { reason: 'REPOSITORY_MOVED', metadata: { owner: 'bob', name: 'Tools' } }
    await expect(
      openRepository(app, ANYBODY, { owner: 'eve', repo: 'old' }, 'read'),
    ).rejects.toMatchObject(moved)
  })

  it('discloses the new name of its owner until the old name is taken', async () => {
    const rename = (user: User, name: string) =>
      transaction(app.db, (tx) => claimNames(tx, user.id, new Set([name])))
    await rename(bob, 'rob')
    await app.db.updateTable('users').set({ username: 'rob' }).where('id', '=', bob.id).execute()
    const renamed = {
      reason: 'REPOSITORY_OWNER_RENAMED',
      metadata: { owner: 'rob', name: 'Tools', former: 'bob/tools' },
    }
    await expect(
      openRepository(app, ANYBODY, { owner: 'Bob', repo: 'tools' }, 'read'),
    ).rejects.toMatchObject(renamed)
    await expect(
      openRepository(app, ANYBODY, { owner: 'Bob', repo: 'nothing' }, 'read'),
    ).rejects.toMatchObject(NOT_FOUND)
    await app.db.updateTable('repositories').set({ private: 1 }).execute()
    await expect(
      openRepository(app, session(eve), { owner: 'bob', repo: 'tools' }, 'read'),
    ).rejects.toMatchObject(NOT_FOUND)
    await expect(
      openRepository(app, session(bob), { owner: 'bob', repo: 'tools' }, 'read'),
    ).rejects.toMatchObject(renamed)
    await rename(eve, 'bob')
    await expect(
      openRepository(app, session(bob), { owner: 'bob', repo: 'tools' }, 'read'),
    ).rejects.toMatchObject(NOT_FOUND)
    // The released name leads only to its last owner.
    await rename(eve, 'eve')
    await expect(
      openRepository(app, session(bob), { owner: 'bob', repo: 'tools' }, 'read'),
    ).rejects.toMatchObject(NOT_FOUND)
  })

  it('closes disabled features to everyone', async () => {
    await app.db.updateTable('repositories').set({ has_issues: 0, has_pull_requests: 0 }).execute()
    for (const caller of [session(bob), session(eve)]) {
      const open = (unit: Unit) =>
        openRepository(app, caller, { owner: 'bob', repo: 'tools' }, 'read', unit)
      expect((await open('code')).units).toMatchObject({
        issues: 'none',
        pulls: 'none',
        releases: expect.stringMatching(/owner|read/),
      })
      await expect(open('issues')).rejects.toMatchObject({
        reason: 'REPOSITORY_UNIT_CLOSED',
        metadata: { unit: 'issues' },
      })
      await expect(open('pulls')).rejects.toMatchObject(NOT_FOUND)
    }
  })

  it('closes single features, and hides the existence of pull requests', async () => {
    await app.db.deleteFrom('repositories').execute()
    await transaction(app.db, async (tx) => {
      const acme = await addOrganization(tx, { name: 'acme' })
      await addRepository(tx, { owner_id: acme, name: 'tools', private: 1 })
      await addTeam(tx, acme, { units: { 'repo.code': 'read' }, includes_all_repositories: 1 }, [
        eve.id,
      ])
    })
    const open = (needed: RepositoryAccess, unit?: 'issues' | 'pulls') =>
      openRepository(app, session(eve), { owner: 'acme', repo: 'tools' }, needed, unit)
    expect(await open('read')).toMatchObject({
      access: 'read',
      units: { code: 'read', issues: 'none' },
    })
    const closed = { reason: 'REPOSITORY_UNIT_CLOSED', metadata: { unit: 'issues' } }
    await expect(open('read', 'issues')).rejects.toMatchObject(closed)
    const denied = { reason: 'REPOSITORY_ACCESS_DENIED', metadata: { needed: 'write' } }
    await expect(open('write', 'issues')).rejects.toMatchObject(denied)
    await expect(open('read', 'pulls')).rejects.toMatchObject(NOT_FOUND)
  })

  it('reads only the repository and its owner when the owner calls', async () => {
    const open = (caller: Caller) => (db: Db) =>
      openRepository({ ...app, db }, caller, { owner: 'bob', repo: 'tools' }, 'read')
    const callers = [session(bob), ANYBODY, session(eve)]
    const counts = callers.map((caller) => countQueries(app.db, open(caller)))
    expect(await Promise.all(counts)).toEqual([2, 2, 3])
    for (const caller of callers) {
      const plans = await plansOf(app.db, open(caller))
      expect(plans.flat().filter((step) => step.startsWith('SCAN'))).toEqual([])
    }
  })
})

const VISIBILITIES = ['public', 'public', 'limited', 'private'] as const
const LEVELS = ['none', 'read', 'write', 'admin', 'owner'] as const
const UNITS: readonly [Record<string, string>, ...Record<string, string>[]] = [
  {},
  { 'repo.code': 'read' },
  { 'repo.code': 'none', 'repo.releases': 'write' },
  { 'repo.wiki': 'admin' },
  { 'repo.pulls': 'none' },
  { 'repo.issues': 'write' },
  { 'repo.pulls': 'admin' },
]

/** Users, organisations with teams, and repositories, some of which are shared. */
async function populate(app: TestApp, random: Random): Promise<User[]> {
  const users: User[] = []
  for (const username of ['ada', 'bob', 'carol', 'eve', 'fay', 'gus']) {
    const restricted = username === 'fay' || username === 'gus' ? 1 : 0
    const role = username === 'ada' ? 'ADMIN' : 'USER'
    users.push(
      await addUser(app, username, { role, restricted, visibility: random.pick(VISIBILITIES) }),
    )
  }
  const anyUser = () => (users[random.below(users.length)] as User).id
  await transaction(app.db, async (tx) => {
    const organizations: number[] = []
    for (const name of ['acme', 'beta', 'corp']) {
      organizations.push(await addOrganization(tx, { name, visibility: random.pick(VISIBILITIES) }))
    }
    const owners = [...users.map(({ id }) => id), ...organizations]
    const ids: number[] = []
    for (let i = 0; i < 60; i++) {
      const owner_id = owners[random.below(owners.length)] as number
      ids.push((await addRepository(tx, { owner_id, name: `r${i}`, private: random.below(2) })).id)
    }
    const anyRepository = () => ids[random.below(ids.length)] as number
    for (let i = 0; i < 20; i++) {
      const level = random.pick(['read', 'write', 'admin'] as const)
      await putCollaborator(tx, { repository_id: anyRepository(), user_id: anyUser(), level })
    }
    for (const organization of organizations) {
      for (const name of ['a', 'b', 'c', 'd', 'e', 'f']) {
        const rights = { name, permission: random.pick(LEVELS), units: random.pick(UNITS) }
        const includes_all_repositories = random.below(3) === 0 ? 1 : 0
        const members = Array.from({ length: random.below(3) }, anyUser)
        // Some belong to another owner, as after a transfer.
        const repositories = Array.from({ length: random.below(6) }, anyRepository)
        await addTeam(
          tx,
          organization,
          { ...rights, includes_all_repositories },
          members,
          repositories,
        )
      }
    }
  })
  return users
}

/** Changes whether repositories are public and who owns them, and deletes some. */
async function rearrange(app: TestApp, random: Random): Promise<void> {
  const rows = await app.db.selectFrom('repositories').select(['id', 'owner_id']).execute()
  await transaction(app.db, async (tx) => {
    for (const { id } of rows) {
      const repository = tx.updateTable('repositories').where('id', '=', id)
      const { owner_id } = random.pick(rows as [(typeof rows)[0], ...typeof rows])
      const change = random.below(6)
      if (change === 0) await tx.deleteFrom('repositories').where('id', '=', id).execute()
      if (change === 1) await repository.set({ private: random.below(2) }).execute()
      if (change === 2) await repository.set({ owner_id }).execute()
    }
  })
}

describe('a list', () => {
  let app: TestApp
  afterEach(() => app.db.destroy())

  it.each(isLongTier ? [1, 2, 3, 4] : [1, 2])(
    'contains exactly the repositories that can be opened: rows %i',
    async (seed) => {
      app = await testApp()
      const users = await populate(app, seededRandom(seed))
      const everything = await app.db.selectFrom('repositories').selectAll().orderBy('id').execute()
      const callers = users.flatMap((user) => [
        session(user),
        token(user, 'read:repository'),
        token(user, 'all', 'public-only'),
        token(user, 'read:admin'),
      ])
      let count = 0
      for (const caller of [ANYBODY, ...callers]) {
        const listed = await app.db
          .selectFrom('repositories')
          .selectAll()
          .where(readableBy(repositoryReader(app, caller)))
          .orderBy('id')
          .execute()
        const opened = await openRepositories(app, caller, everything)
        expect(listed).toEqual(opened.map(({ repository }) => repository))
        const byId = new Map(opened.map((open) => [open.repository.id, open]))
        for (const { id } of everything) {
          const open = byId.get(id)
          const opening = openRepositoryById(app, caller, id, 'none')
          if (open) expect(await opening).toEqual(open)
          else await expect(opening).rejects.toMatchObject(NOT_FOUND)
        }
        count += opened.length
      }
      // Most callers see some repositories, and only administrators see all.
      expect(count).toBeGreaterThan(callers.length * 5)
      expect(count).toBeLessThan(callers.length * 55)
    },
  )

  it.each([11, 12, 13, 14])('has the right total for every reader: rows %i', async (seed) => {
    app = await testApp()
    const random = seededRandom(seed)
    const users = await populate(app, random)
    const callers = [
      ANYBODY,
      ...users.flatMap((user) => [session(user), token(user, 'all', 'public-only')]),
    ]
    for (let round = 0; round < 3; round++) {
      for (const caller of callers) {
        const reader = repositoryReader(app, caller)
        for (const flag of [undefined, true, false]) {
          const search = { reader, private: flag }
          const listed = await app.db
            .selectFrom('repositories')
            .select('id')
            .where(readableBy(reader))
            .$if(flag !== undefined, (query) => query.where('private', '=', flag ? 1 : 0))
            .orderBy('id')
            .execute()
          const order = { column: 'id', direction: 'asc' } as const
          const found = await searchRepositories(app.db, search, order, 0, 100)
          expect(found.map(({ id }) => id)).toEqual(listed.map(({ id }) => id))
          expect(await countRepositories(app.db, search)).toBe(listed.length)
        }
      }
      await rearrange(app, random)
    }
    for await (const wrong of wrongCounters(app.db))
      expect(wrong.table).not.toBe('repository_counts')
    await app.db
      .deleteFrom('accounts')
      .where('id', '=', users[1]?.id ?? 0)
      .execute()
    for await (const wrong of wrongCounters(app.db))
      expect(wrong.table).not.toBe('repository_counts')
    await app.db.destroy()
    app = await testApp({ privateInstance: true })
    await populate(app, random)
    expect(await countRepositories(app.db, { reader: repositoryReader(app, ANYBODY) })).toBe(0)
  })

  it('is empty for strangers on a private instance', async () => {
    app = await testApp({ privateInstance: true })
    await populate(app, seededRandom(5))
    const reader = repositoryReader(app, ANYBODY)
    expect(
      await app.db.selectFrom('repositories').select('id').where(readableBy(reader)).execute(),
    ).toEqual([])
  })

  it('scans no table but its own', async () => {
    app = await testApp()
    const [, bob] = await populate(app, seededRandom(6))
    const reader = repositoryReader(app, session(bob as User))
    const [plan = []] = await plansOf(
      app.db,
      (db) => db.selectFrom('repositories').select('id').where(readableBy(reader)).execute(),
      { scanned: ['repositories'] },
    )
    expect(plan.filter((step) => step.startsWith('SCAN'))).toEqual([
      expect.stringMatching(/^SCAN repositories/),
      expect.stringMatching(/users_hidden/),
      expect.stringMatching(/organizations_hidden/),
    ])
  })
})

describe('the access of a user', () => {
  it('does not depend on the credential of the caller', async () => {
    const app = await testApp()
    const ada = await addUser(app, 'ada', { role: 'ADMIN' })
    const bob = await addUser(app, 'bob')
    const repository = await transaction(app.db, (tx) =>
      addRepository(tx, { owner_id: bob.id, name: 'x', private: 1 }),
    )
    const owner = (await findOwnerById(app.db, bob.id)) as Owner
    expect(await accessOfUser(app, bob, repository, owner)).toMatchObject({ code: 'owner' })
    expect(await accessOfUser(app, ada, repository, owner)).toMatchObject({ code: 'owner' })
    expect(await accessOfUser(app, { ...ada, role: 'USER' }, repository, owner)).toMatchObject({
      code: 'none',
    })
    await app.db.destroy()
  })
})
