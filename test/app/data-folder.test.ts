import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { migrateData, useData } from '../../src/app/data-folder.ts'
import { migrations } from '../../src/forge/migrations/index.ts'
import { databaseOf } from '../support/database.ts'

it('does not migrate the database of a data folder that is in use', async () => {
  const data = await mkdtemp(join(tmpdir(), 'branchline-'))
  try {
    const place = { data, database: await databaseOf(data) }
    const lock = await useData(place, 'alone')
    await expect(migrateData(place, 1)).rejects.toThrow(/stop it first/)
    await lock.release()
    expect((await migrateData(place, 1)).to).toBe(1)
    expect((await migrateData(place, undefined)).to).toBe(migrations.length)
  } finally {
    await rm(data, { recursive: true })
  }
})
