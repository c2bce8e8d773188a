import { randomBytes } from 'node:crypto'
import { stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { sql } from 'kysely'
import { describe, expect, it } from 'vitest'
import { wrongCounters } from '../../../src/forge/administration/counters.rows.ts'
import { findRepositoryById } from '../../../src/forge/repositories/lifecycle/repositories.rows.ts'
import { gitKind, quotaOfRepository } from '../../../src/forge/repositories/quotas/quota-checks.ts'
import { finishMeasuring } from '../../../src/forge/repositories/refs/repository-size.ts'
import { transaction } from '../../../src/platform/database/database.ts'
import { repositoryPath } from '../../../src/platform/git/repositories/repositories.ts'
import { openForge } from '../../support/forge.ts'

const KIB = 1024

const { server, users, ask } = await openForge()
const { db } = server.app

async function usageOf(owner: string) {
  return db
    .selectFrom('account_usage')
    .innerJoin('users', 'users.id', 'owner_id')
    .selectAll('account_usage')
    .where('username', '=', owner)
    .executeTakeFirst()
}

async function findWrong(): Promise<unknown[]> {
  const wrong = []
  for await (const { table, column, stored, actual } of wrongCounters(db))
    wrong.push({ table, column, stored, actual })
  return wrong
}

describe('what owners use', () => {
  it('follows the files of objects, which forks pay for in parts', async () => {
    const { bob, carol } = users
    const { id } = await ask(bob, 'POST', '/user/repos', { name: 'shared', auto_init: true })
    const content = randomBytes(100 * KIB).toString('base64')
    await ask(bob, 'POST', '/repos/bob/shared/contents/large', { content })
    await finishMeasuring(server.app)
    const whole = (await usageOf('bob'))?.git_bytes ?? 0
    expect(whole).toBeGreaterThan(100 * KIB)
    await ask(carol, 'POST', '/repos/bob/shared/forks', {})
    await ask(bob, 'POST', '/repos/bob/shared/contents/small', { content: 'AAAA' })
    await finishMeasuring(server.app)
    for (const owner of ['bob', 'carol']) {
      const half = (await usageOf(owner))?.git_bytes ?? 0
      expect(Math.abs(half - whole / 2)).toBeLessThan(KIB)
    }
    expect((await findRepositoryById(db, id))?.size_kib).toBeGreaterThanOrEqual(100)
    await ask(bob, 'DELETE', '/repos/bob/shared')
    await finishMeasuring(server.app)
    expect((await usageOf('bob'))?.git_bytes).toBe(0)
    expect(Math.abs(((await usageOf('carol'))?.git_bytes ?? 0) - whole)).toBeLessThan(KIB)
    await ask(carol, 'DELETE', '/repos/carol/shared')
    expect(await findWrong()).toEqual([])
  })

  it('is right after any operations', async () => {
    const { id } = await ask(users.bob, 'POST', '/user/repos', { name: 'first' })
    const other = await ask(users.carol, 'POST', '/user/repos', { name: 'second', private: true })
    const repositories = [id, other.id] as number[]
    const { id: ownerId } = await ask(users.bob, 'GET', '/user')
    let seed = 1
    const random = (below: number) => {
      seed = (seed * 48271) % 2147483647
      return seed % below
    }
    let count = 0
    const operations = [
      sql`update repositories set owned_bytes = ${random(1000)}`,
      sql`update repositories set private = 1 - private where id = ${id}`,
      sql`update repositories set owner_id = ${ownerId} where id = ${other.id}`,
      sql`delete from release_assets where id % 3 = 0`,
      sql`delete from releases where id % 5 = 0`,
      sql`delete from issue_attachments where id % 4 = 0`,
      sql`update issue_attachments set repository_id = ${other.id} where id % 3 = 0`,
      sql`delete from lfs_objects where bytes % 3 = 0`,
    ]
    await transaction(db, async (tx) => {
      for (let i = 0; i < 1_000; i += 1) {
        const repository = repositories[random(2)] ?? id
        const kind = random(20)
        const operation = operations[kind]
        if (operation) await operation.execute(tx)
        else if (kind < 14) {
          count += 1
          const { id: release } = await tx
            .insertInto('releases')
            .values({
              repository_id: repository,
              tag_name: `v${count}`,
              tag_only: 0,
              draft: 0,
              prerelease: 0,
              publisher_id: ownerId,
              create_time: 0,
              target: '',
              title: '',
              note: '',
            })
            .returning('id')
            .executeTakeFirstOrThrow()
          await sql`insert into release_assets
            (repository_id, release_id, uuid, name, bytes, create_time)
            values (${repository}, ${release}, ${`asset ${count}`}, '', ${random(1000)}, 0)`.execute(
            tx,
          )
        } else if (kind < 17) {
          count += 1
          await sql`insert into lfs_objects (repository_id, oid, bytes, create_time)
            values (${repository}, ${`object ${count}`}, ${random(1000)}, 0)`.execute(tx)
        } else {
          count += 1
          await sql`insert into issue_attachments (repository_id, uuid, name, bytes, create_time)
            values (${repository}, ${`file ${count}`}, '', ${random(1000)}, 0)`.execute(tx)
        }
      }
    })
    expect(await findWrong()).toEqual([])
    await sql`update account_usage set asset_bytes = asset_bytes + 7`.execute(db)
    await sql`update repositories set release_bytes = release_bytes + 9 where id = ${id}`.execute(
      db,
    )
    for await (const wrong of wrongCounters(db)) await wrong.repair()
    expect(await findWrong()).toEqual([])
    await sql`delete from repositories`.execute(db)
    expect(await findWrong()).toEqual([])
  })

  it('is measured before a quota is compared with it', async () => {
    const { id } = await ask(users.bob, 'POST', '/user/repos', { name: 'unknown', auto_init: true })
    await finishMeasuring(server.app)
    const file = join(repositoryPath(server.app.git, id), 'objects', 'left-behind')
    await writeFile(file, randomBytes(50 * KIB))
    // As a server that was killed leaves it.
    await sql`update repositories set size_stale = 1 where id = ${id}`.execute(db)
    const before = (await findRepositoryById(db, id))?.owned_bytes ?? 0
    const settings = { ...server.app.settings }
    const quotas = { ...settings.quotas, account: 10 ** 9 }
    const app = { ...server.app, settings: { ...settings, quotas } }
    const left = await (await quotaOfRepository(app, undefined, id))?.left()
    const after = (await findRepositoryById(db, id))?.owned_bytes ?? 0
    expect(after).toBe(before + (await stat(file)).size)
    expect(left).toBe(10 ** 9 - after)
    expect(gitKind({ private: 1 })).toBe('private')
  })
})
