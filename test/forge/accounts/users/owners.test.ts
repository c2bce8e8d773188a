import { sql } from 'kysely'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { findOwnerById, findOwnersByIds } from '../../../../src/forge/accounts/users/owners.rows.ts'
import {
  emailFor,
  getOwner,
  organizationAsOwner,
  searchUsers,
  userAsOwner,
} from '../../../../src/forge/accounts/users/owners.ts'
import { searchUsers as searchUserRows } from '../../../../src/forge/accounts/users/user-search.rows.ts'
import { deleteUser, findUserById } from '../../../../src/forge/accounts/users/users.rows.ts'
import type { SignedIn } from '../../../../src/forge/core/access.ts'
import type { User } from '../../../../src/forge/core/schema.ts'
import { transaction } from '../../../../src/platform/database/database.ts'
import { addUser, type TestApp, testApp } from '../../../support/app.ts'
import {
  ANYBODY,
  addOrganization,
  addRepository,
  addTeam,
  session,
  token,
} from '../../../support/forge-rows.ts'
import { plansOf } from '../../../support/query-plan.ts'

let app: TestApp
let ada: User
let bob: User
let eve: User
beforeEach(async () => {
  app = await testApp()
  ada = await addUser(app, 'ada', { role: 'ADMIN' })
  bob = await addUser(app, 'Bob', { display_name: 'Robert', email: 'bob@example.org' })
  eve = await addUser(app, 'eve', { restricted: 1 })
})
afterEach(() => app.db.destroy())

describe('an owner', () => {
  it('is a user or an organisation, with common names and ids', async () => {
    const id = await transaction(app.db, (tx) =>
      addOrganization(tx, { name: 'Acme', email: 'it@acme.example' }),
    )
    const acme = await app.db.selectFrom('organizations').selectAll().executeTakeFirstOrThrow()
    expect(await getOwner(app, ANYBODY, 'ACME')).toEqual(organizationAsOwner(acme))
    expect(await getOwner(app, ANYBODY, 'bob')).toEqual(userAsOwner(bob))
    expect(id).toBeGreaterThan(eve.id)
    const owners = await findOwnersByIds(app.db, [bob.id, id, 99])
    expect(owners.size).toBe(2)
    expect(owners.get(bob.id)).toMatchObject({ kind: 'USER', name: 'Bob' })
    expect(owners.get(id)).toMatchObject({ kind: 'ORGANIZATION', name: 'Acme' })
    await expect(getOwner(app, ANYBODY, 'nobody')).rejects.toMatchObject({
      reason: 'USER_NOT_FOUND',
    })
  })

  it('contains no password data', () => {
    expect(Object.values(userAsOwner(bob))).not.toContain(bob.password_hash)
  })

  it('is deleted with its names and repositories, and its id is not reused', async () => {
    await transaction(app.db, (tx) => addRepository(tx, { owner_id: bob.id, name: 'tools' }))
    await transaction(app.db, (tx) => deleteUser(tx, bob.id))
    for (const table of ['accounts', 'users'] as const) {
      expect((await app.db.selectFrom(table).select('id').execute()).map(({ id }) => id)).toEqual([
        ada.id,
        eve.id,
      ])
    }
    expect(await app.db.selectFrom('repositories').select('id').execute()).toEqual([])
    const names = await app.db
      .selectFrom('account_names')
      .select('name_key')
      .orderBy('name_key')
      .execute()
    expect(names.map(({ name_key }) => name_key)).toEqual(['ada', 'eve'])
    expect((await addUser(app, 'bob')).id).toBeGreaterThan(eve.id)
  })

  it('cannot be a user without an account of that kind', async () => {
    const id = await transaction(app.db, (tx) => addOrganization(tx, { name: 'acme' }))
    const { id: _, ...columns } = (await findUserById(app.db, bob.id)) as User
    for (const wrong of [id, 99]) {
      const row = { ...columns, id: wrong, email_key: '' }
      await expect(app.db.insertInto('users').values(row).execute()).rejects.toThrow(
        'that of an account',
      )
    }
  })

  it.each<
    readonly [
      visibility: User['visibility'],
      anybody: boolean,
      signedIn: boolean,
      restricted: boolean,
      member: boolean,
    ]
  >([
    ['public', true, true, false, true],
    ['limited', false, true, false, true],
    ['private', false, false, false, true],
  ])(
    'that is a %s organisation is visible to those who may see it',
    async (visibility, anybody, signedIn, restricted, member) => {
      const kay = await addUser(app, 'kay', { restricted: 1 })
      await transaction(app.db, async (tx) => {
        const acme = await addOrganization(tx, { name: 'acme', visibility })
        await addTeam(tx, acme, {}, [kay.id])
      })
      const knows = (caller: Parameters<typeof getOwner>[1]) =>
        getOwner(app, caller, 'acme').then(
          () => true,
          () => false,
        )
      expect(await knows(ANYBODY)).toBe(anybody)
      expect(await knows(session(bob))).toBe(signedIn)
      expect(await knows(session(eve))).toBe(restricted)
      expect(await knows(session(kay))).toBe(member)
      expect(await knows(session(ada))).toBe(true)
      expect(await knows(token(ada, 'all', 'public-only'))).toBe(anybody)
      expect(await knows(token(kay, 'all', 'public-only'))).toBe(anybody)
    },
  )

  it('that is private is visible to itself', async () => {
    await app.db
      .updateTable('users')
      .set({ visibility: 'private' })
      .where('id', '=', bob.id)
      .execute()
    expect(await getOwner(app, session(bob), 'bob')).toMatchObject({ visibility: 'private' })
    await expect(getOwner(app, session(eve), 'bob')).rejects.toMatchObject({
      reason: 'USER_NOT_FOUND',
    })
  })

  it('has its address for viewers who may see it, and a no-reply address for others', async () => {
    const acme = await transaction(app.db, (tx) =>
      addOrganization(tx, { name: 'Acme', email: 'it@acme.example' }),
    )
    const organization = await findOwnerById(app.db, acme)
    if (!organization) throw new Error('the organisation is not there')
    const addresses = (caller: SignedIn | typeof ANYBODY) =>
      [userAsOwner(bob), organization].map((owner) => emailFor(app, caller, owner))
    const nobodys = `${bob.id}+bob@noreply.git.example.org`
    expect(addresses(ANYBODY)).toEqual([nobodys, `${acme}+acme@noreply.git.example.org`])
    expect(addresses(session(eve))).toEqual([nobodys, 'it@acme.example'])
    expect(addresses(session(bob))).toEqual(['bob@example.org', 'it@acme.example'])
    expect(addresses(session(ada))).toEqual(['bob@example.org', 'it@acme.example'])
    expect(addresses(token(ada, 'write:user'))[0]).toBe(nobodys)
    expect(addresses(token(bob, 'all', 'public-only'))[0]).toBe(nobodys)
    // An account without an address gets a no-reply address even for viewers with access.
    expect(emailFor(app, session(eve), userAsOwner(eve))).toBe(
      `${eve.id}+eve@noreply.git.example.org`,
    )
  })
})

describe('a search for users', () => {
  const found = async (caller: SignedIn, text = '', id?: number) =>
    (await searchUsers(app, caller, { text, id }, { offset: 0, limit: 10 })).users.map(
      ({ username }) => username,
    )

  it('matches both names literally', async () => {
    expect(await found(session(eve))).toEqual(['ada', 'Bob', 'eve'])
    expect(await found(session(eve), 'ROB')).toEqual(['Bob'])
    expect(await found(session(eve), '%')).toEqual([])
    expect(await found(session(eve), '', bob.id)).toEqual(['Bob'])
    expect(await found(session(eve), 'ada', bob.id)).toEqual([])
    expect(await found(session(eve), '', Number.MAX_SAFE_INTEGER)).toEqual([])
  })

  it('omits users that the caller may not see, and archived users', async () => {
    await addUser(app, 'lil', { visibility: 'limited' })
    await addUser(app, 'pat', { visibility: 'private' })
    await addUser(app, 'old', { state: 'ARCHIVED' })
    expect(await found(session(bob))).toEqual(['ada', 'Bob', 'eve', 'lil'])
    expect(await found(session(ada))).toEqual(['ada', 'Bob', 'eve', 'lil', 'pat'])
    expect(await found(token(ada, 'read:user'))).toEqual(['ada', 'Bob', 'eve', 'lil'])
    expect(await found(token(bob, 'all', 'public-only'))).toEqual(['ada', 'Bob', 'eve'])
  })

  it('finds each part of a name, also of a new and of a long one', async () => {
    await app.db
      .updateTable('users')
      .set({ display_name: 'Robert, who writes software and ÉTUDES in Zürich' })
      .where('id', '=', bob.id)
      .execute()
    for (const text of [
      'WRITES',
      'software and ÉTUDES in ZüRICH',
      'ürich',
      'robert, who writes software an',
    ])
      expect(await found(session(eve), text)).toEqual(['Bob'])
    for (const text of ['zürichs', 'robert, who writes software am', 'étudeS'])
      expect(await found(session(eve), text)).toEqual([])
    await transaction(app.db, (tx) => deleteUser(tx, bob.id))
    expect(
      await app.db
        .selectFrom('user_name_ends')
        .select('name_end')
        .where('user_id', '=', bob.id)
        .execute(),
    ).toEqual([])
  })

  it('counts the users with a text that many have, and those with none', async () => {
    const numbers = sql`(with recursive numbers (i) as (select 1 union all select i + 1 from numbers where i < 1100)
      select i from numbers) as numbers`
    await sql`insert into accounts (id, kind) select 1000 + i, 'USER' from ${numbers}`.execute(
      app.db,
    )
    await sql`insert into users (id, username, email, email_key, display_name, avatar_url, description, password_hash,
      role, state, create_time, update_time, visibility) select 1000 + i, 'zoe' || i, '', '', '', '', '', '', 'USER',
      'NORMAL', 0, 0, case when i <= 100 then 'private' else 'public' end from ${numbers}`.execute(
      app.db,
    )
    const page = { offset: 0, limit: 1 }
    const total = async (caller: SignedIn, text: string) =>
      (await searchUsers(app, caller, { text, id: undefined }, page)).total
    expect(await total(session(bob), 'zoe')).toBe(1000)
    expect(await total(session(ada), 'zoe')).toBe(1100)
    expect(await total(session(bob), 'zoe1')).toBe(200)
    expect(await total(session(bob), '')).toBe(1003)
    expect(await total(session(ada), '')).toBe(1103)
  })

  it('reads names from an index, in order', async () => {
    const page = { offset: 0, limit: 10 }
    const all = {
      text: '',
      id: undefined,
      visible: ['public'],
      searcherId: 1,
      inEmails: false,
    } as const
    expect(await plansOf(app.db, (db) => searchUserRows(db, all, 0, 10))).toEqual([
      [expect.stringContaining('USING INDEX users_by_username')],
    ])
    const plans = await plansOf(app.db, (db) =>
      searchUsers({ ...app, db }, session(bob), { text: 'o', id: undefined }, page),
    )
    expect(plans[0]).toEqual([expect.stringMatching(/^SEARCH user_name_ends USING PRIMARY KEY/)])
    expect(plans.flat().filter((step) => /^SCAN (?!json_each)/.test(step))).toEqual([])
  })
})
