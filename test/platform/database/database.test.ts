import { join } from 'node:path'
import { sql } from 'kysely'
import { afterEach, describe, expect, it } from 'vitest'
import { DATABASE_FILE } from '../../../src/app/data-folder.ts'
import type { NewUser } from '../../../src/forge/accounts/schema.ts'
import {
  claimNames,
  countUsers,
  deleteUser,
  findActiveUsersByUsernameKeys,
  findUserById,
  findUserByNameKey,
  insertUser,
  listUsers,
  updateUser,
} from '../../../src/forge/accounts/users/users.rows.ts'
import { migrate, migrations } from '../../../src/forge/migrations/index.ts'
import {
  isUniqueViolation,
  openDatabase,
  transaction,
} from '../../../src/platform/database/database.ts'
import {
  type Migration,
  NewerDatabaseError,
  runMigrations,
  schemaVersion,
} from '../../../src/platform/database/migrate.ts'
import { prepareQuery } from '../../../src/platform/database/prepared.ts'
import type { Db } from '../../../src/platform/database/schema.ts'
import { openDatabaseFile, openTestDatabase } from '../../support/database.ts'
import { withFolder } from '../../support/process.ts'
import { plansOf } from '../../support/query-plan.ts'

let db: Db
afterEach(() => db.destroy())

async function migrated(): Promise<Db> {
  db = await openTestDatabase()
  return db
}

const newUser = (username: string, create_time = 0): NewUser => ({
  user_id: null,
  username,
  email: '',
  email_key: '',
  display_name: '',
  avatar_url: '',
  description: '',
  password_hash: '',
  role: 'USER',
  state: 'NORMAL',
  create_time,
  update_time: create_time,
})

describe('a transaction', () => {
  it('takes effect completely or not at all', async () => {
    await migrated()
    const failing = transaction(db, async (tx) => {
      const { id } = await insertUser(tx, newUser('ada'))
      await claimNames(tx, id, new Set(['ada']))
      throw new Error('half way')
    })
    await expect(failing).rejects.toThrow('half way')
    expect(await findUserByNameKey(db, 'ada')).toBeUndefined()
    expect(await countUsers(db, { includeArchived: true, usernameKey: undefined })).toBe(0)
  })

  it('waits for the previous one', async () => {
    await migrated()
    const order: string[] = []
    const step = (name: string) =>
      transaction(db, async (tx) => {
        order.push(`${name} begins`)
        await insertUser(tx, newUser(name))
        order.push(`${name} ends`)
      })
    await Promise.all([step('a'), step('b')])
    expect(order).toEqual(['a begins', 'a ends', 'b begins', 'b ends'])
  })
})

describe('the database', () => {
  it('tells unique violations from other errors', async () => {
    await migrated()
    const claim = transaction(db, async (tx) => {
      const [a, b] = [await insertUser(tx, newUser('a')), await insertUser(tx, newUser('b'))]
      await claimNames(tx, a.id, new Set(['x']))
      await claimNames(tx, b.id, new Set(['x']))
    })
    await expect(claim).rejects.toSatisfy(isUniqueViolation)
    await expect(sql`select * from nothing`.execute(db)).rejects.not.toSatisfy(isUniqueViolation)
  })

  it('has the intended journal mode, synchronous mode and foreign keys', async () => {
    await withFolder(async (folder) => {
      db = openDatabase(join(folder, DATABASE_FILE))
      const pragma = async (name: string) =>
        Object.values((await sql<object>`pragma ${sql.raw(name)}`.execute(db)).rows[0] ?? {})[0]
      expect([
        await pragma('journal_mode'),
        await pragma('synchronous'),
        await pragma('foreign_keys'),
      ]).toEqual(['wal', 1, 1])
    })
  })

  it('never reuses the id of a deleted account', async () => {
    await migrated()
    const first = await transaction(db, (tx) => insertUser(tx, newUser('a')))
    await transaction(db, (tx) => deleteUser(tx, first.id))
    const second = await transaction(db, (tx) => insertUser(tx, newUser('b')))
    expect(second.id).toBeGreaterThan(first.id)
  })
})

describe('a repeated query', () => {
  it('names the columns of the schema as it is now', async () => {
    await migrated()
    await transaction(db, (tx) => insertUser(tx, newUser('ada')))
    const columns = async () =>
      Object.keys((await db.selectFrom('users').selectAll().execute())[0] ?? {})
    const before = await columns()
    // The same statements twice, since a repeated statement changes the schema too.
    for (let round = 0; round < 2; round++) {
      await sql`alter table users add column extra text`.execute(db)
      expect(await columns()).toEqual([...before, 'extra'])
      await sql`alter table users drop column extra`.execute(db)
      expect(await columns()).toEqual(before)
    }
  })

  it('returns as many rows as its limit says each time', async () => {
    await migrated()
    await transaction(db, async (tx) => {
      for (const name of ['ada', 'bob', 'carol']) await insertUser(tx, newUser(name))
    })
    const all = { includeArchived: true, usernameKey: undefined }
    for (const limit of [2, 1, 3, 0]) {
      expect(await listUsers(db, all, undefined, limit)).toHaveLength(limit)
      const page = db.selectFrom('users').select('id').orderBy('id').limit(limit).offset(1)
      expect(await page.execute()).toHaveLength(Math.min(limit, 2))
    }
  })
})

describe('a prepared read', () => {
  it('sees committed changes immediately, and nothing of an open transaction', async () => {
    await withFolder(async (folder) => {
      db = await openDatabaseFile(folder)
      await transaction(db, async (tx) => {
        const { id } = await insertUser(tx, newUser('ada'))
        await claimNames(tx, id, new Set(['ada']))
        expect(await findUserByNameKey(tx, 'ada')).toMatchObject({ username: 'ada' })
        // The outer handle would deadlock if this read took Kysely's connection.
        expect(await findUserByNameKey(db, 'ada')).toBeUndefined()
      })
      expect(await findUserByNameKey(db, 'ada')).toMatchObject({ username: 'ada' })
    })
  })

  it('sees a commit between two reads of one iteration of the event loop', async () => {
    await withFolder(async (folder) => {
      db = await openDatabaseFile(folder)
      const { id } = await transaction(db, (tx) => insertUser(tx, newUser('ada')))
      // Reads, and the statement between them, run synchronously.
      const before = findUserById(db, id)
      const renaming = db
        .updateTable('users')
        .set({ username: 'lovelace' })
        .where('id', '=', id)
        .execute()
      const unchanged = findUserById(db, id)
      expect([await before, await unchanged]).toMatchObject([
        { username: 'ada' },
        { username: 'ada' },
      ])
      await renaming
      expect(await findUserById(db, id)).toMatchObject({ username: 'lovelace' })
    })
  })

  it('sees the commit of another process in the next iteration', async () => {
    await withFolder(async (folder) => {
      db = await openDatabaseFile(folder)
      const { id } = await transaction(db, (tx) => insertUser(tx, newUser('ada')))
      expect(await findUserById(db, id)).toMatchObject({ username: 'ada' })
      const other = openDatabase(join(folder, DATABASE_FILE))
      await transaction(other, (tx) => updateUser(tx, id, { username: 'lovelace' }))
      await other.destroy()
      await new Promise((resolve) => setImmediate(resolve))
      expect(await findUserById(db, id)).toMatchObject({ username: 'lovelace' })
    })
  })

  it('leaves no snapshot open, which would stop checkpoints', async () => {
    await withFolder(async (folder) => {
      db = await openDatabaseFile(folder)
      const other = openDatabase(join(folder, DATABASE_FILE))
      await findUserById(db, 1)
      await new Promise((resolve) => setImmediate(resolve))
      await transaction(other, (tx) => insertUser(tx, newUser('ada')))
      const { rows } = await sql<{ busy: number }>`pragma wal_checkpoint(truncate)`.execute(other)
      await other.destroy()
      expect(rows).toMatchObject([{ busy: 0 }])
    })
  })

  it('cannot write', async () => {
    await withFolder(async (folder) => {
      db = await openDatabaseFile(folder)
      const remove = prepareQuery((handle, id: number) =>
        handle.deleteFrom('users').where('id', '=', id).returning('id'),
      )
      await expect(remove(db, 1)).rejects.toThrow('readonly')
    })
  })
})

describe('a batch of usernames', () => {
  it('is looked up by an index, without a scan of all accounts', async () => {
    await migrated()
    const keys = Array.from({ length: 100 }, (_, i) => `u${i}`)
    const [steps] = await plansOf(db, (watched) => findActiveUsersByUsernameKeys(watched, keys))
    expect(steps).toEqual([
      expect.stringMatching(/^SEARCH account_names USING PRIMARY KEY/),
      'LIST SUBQUERY 1',
      'SCAN json_each VIRTUAL TABLE INDEX 1:',
      expect.stringMatching(/^SEARCH users USING INTEGER PRIMARY KEY/),
    ])
  })
})

describe('prepareQuery', () => {
  it('runs with new values each time, including fixed and repeated ones', async () => {
    await migrated()
    const query = prepareQuery((handle, name: string, id: number) =>
      handle
        .selectFrom('users')
        .select('username')
        .where('username', '=', name)
        .where('state', '=', 'NORMAL')
        .where((eb) => eb.or([eb('id', '=', id), eb('username', '=', name)])),
    )
    await transaction(db, async (tx) => [
      await insertUser(tx, newUser('ada')),
      await insertUser(tx, newUser('bob')),
    ])
    expect(await query(db, 'ada', 2)).toEqual([{ username: 'ada' }])
    expect(await query(db, 'bob', 2)).toEqual([{ username: 'bob' }])
    expect(await query(db, 'eve', 1)).toEqual([])
  })
})

describe('lists of accounts', () => {
  it('are newest first, then by descending id, and are counted without a scan', async () => {
    await migrated()
    await transaction(db, async (tx) => {
      for (const [i, time] of [5, 9, 5, 7].entries()) await insertUser(tx, newUser(`u${i}`, time))
      await updateUser(tx, 4, { state: 'ARCHIVED' })
    })
    const all = { includeArchived: true, usernameKey: undefined }
    expect((await listUsers(db, all, undefined, 9)).map(({ username }) => username)).toEqual([
      'u1',
      'u3',
      'u2',
      'u0',
    ])
    expect(
      (await listUsers(db, all, { createTime: 5, id: 3 }, 9)).map(({ username }) => username),
    ).toEqual(['u0'])
    expect([
      await countUsers(db, all),
      await countUsers(db, { ...all, includeArchived: false }),
    ]).toEqual([4, 3])
  })

  it.each([
    ['all accounts', { includeArchived: true, usernameKey: undefined }],
    ['active accounts', { includeArchived: false, usernameKey: undefined }],
  ])('read only their page: %s', async (_, filter) => {
    await migrated()
    const page = { createTime: 5, id: 5 }
    expect(await plansOf(db, (watched) => listUsers(watched, filter, page, 3))).toEqual([
      [expect.stringMatching(/^SEARCH users USING INDEX users_by_(state_and_)?time/)],
    ])
  })
})

describe('migrate', () => {
  it('undoes a step that fails', async () => {
    db = openDatabase(':memory:')
    const failing = {
      name: '0002-fails',
      async up(tx: Parameters<(typeof migrations)[0]['up']>[0]) {
        await tx.schema.createTable('half').addColumn('id', 'integer').execute()
        throw new Error('no')
      },
      down: async () => {},
    }
    await expect(runMigrations(db, [...migrations, failing])).rejects.toThrow('no')
    expect(await schemaVersion(db)).toBe(migrations.length)
    await expect(sql`select * from half`.execute(db)).rejects.toThrow('no such table')
  })

  it('runs all steps down to an empty database and up again', async () => {
    await migrated()
    await migrate(db, 0)
    const { rows } = await sql<{
      name: string
    }>`select name from sqlite_master where name not like 'sqlite_%'`.execute(db)
    expect(rows).toEqual([])
    expect((await migrate(db)).ran).toEqual(migrations.map(({ name }) => name))
  })

  it('creates accounts of existing users, and reuses no id', async () => {
    db = openDatabase(':memory:')
    const beforeAccounts = migrations.findIndex(({ name }) => name === '0010-repositories')
    await migrate(db, beforeAccounts)
    for (const name of ['ada', 'bob', 'gone']) {
      await sql`insert into users (username, email, email_key, display_name, avatar_url, description, password_hash, role, state,
        create_time, update_time) values (${name}, '', '', '', '', '', '', 'USER', 'NORMAL', 0, 0)`.execute(
        db,
      )
      await sql`insert into account_names (name_key, user_id) values (${name}, last_insert_rowid())`.execute(
        db,
      )
    }
    await sql`delete from users where username = 'gone'`.execute(db)
    await migrate(db)
    expect(await findUserByNameKey(db, 'bob')).toMatchObject({ id: 2, username: 'bob' })
    expect(await transaction(db, (tx) => insertUser(tx, newUser('eve')))).toMatchObject({ id: 4 })
    await transaction(db, (tx) => claimNames(tx, 4, new Set(['eve'])))
    await migrate(db, beforeAccounts)
    const names = await sql`select name_key, user_id from account_names order by name_key`.execute(
      db,
    )
    expect(names.rows).toEqual([
      { name_key: 'ada', user_id: 1 },
      { name_key: 'bob', user_id: 2 },
      { name_key: 'eve', user_id: 4 },
    ])
  })

  it('rejects a database of a newer program', async () => {
    await migrated()
    await expect(runMigrations(db, [])).rejects.toThrow(NewerDatabaseError)
  })

  it('lets a program of the version before use what was only added', async () => {
    await migrated()
    const creating = (name: string): Migration => ({
      name,
      async up(tx) {
        await tx.schema.createTable(name).addColumn('id', 'integer').execute()
      },
      async down(tx) {
        await tx.schema.dropTable(name).execute()
      },
    })
    const known = migrations.length
    const added = [...migrations, { ...creating('added'), isAdditive: true }]
    await runMigrations(db, added)
    expect(await migrate(db)).toEqual({ from: known + 1, to: known + 1, ran: [] })
    await transaction(db, (tx) => insertUser(tx, newUser('ada')))
    // To go back needs the program that knows how.
    await expect(migrate(db, known)).rejects.toThrow(NewerDatabaseError)
    const changed = [...added, creating('changed')]
    await runMigrations(db, changed)
    await expect(migrate(db)).rejects.toThrow(NewerDatabaseError)
    await expect(runMigrations(db, added)).rejects.toThrow(NewerDatabaseError)
    const latest = [...changed, { ...creating('latest'), isAdditive: true }]
    await runMigrations(db, latest)
    expect((await runMigrations(db, changed)).ran).toEqual([])
    await expect(runMigrations(db, added)).rejects.toThrow(NewerDatabaseError)
    await runMigrations(db, latest, known)
  })

  it.each(
    migrations.flatMap(({ name, isAdditive }, at) => (isAdditive ? [[name, at] as const] : [])),
  )('only adds in %s', async (_, at) => {
    await migrated()
    await migrate(db, at)
    const before = await db.introspection.getTables()
    await migrate(db, at + 1)
    const after = new Map((await db.introspection.getTables()).map((table) => [table.name, table]))
    for (const table of before) expect(after.get(table.name)).toEqual(table)
  })
})
