import { mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { type Header, pack } from 'tar-stream'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { findUserByNameKey } from '../../../src/forge/accounts/users/users.rows.ts'
import { migrate, migrations } from '../../../src/forge/migrations/index.ts'
import { openDatabase } from '../../../src/platform/database/database.ts'
import { schemaVersion } from '../../../src/platform/database/migrate.ts'
import { addUser, testApp } from '../../support/app.ts'
import { backUp, restoreTo } from '../../support/backups.ts'

let folder: string
let target: string

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'branchline-'))
  target = join(folder, 'restored')
})
afterEach(() => rm(folder, { recursive: true }))

/** Returns a backup of an instance with one account, at a version of the schema. */
async function backup(version?: number): Promise<Buffer> {
  const app = await testApp({}, { db: openDatabase(join(folder, 'original.db')) })
  await addUser(app, 'ada')
  await migrate(app.db, version)
  const written = await backUp(app)
  await app.db.destroy()
  for (const name of await readdir(folder)) await rm(join(folder, name))
  return written
}

const about = { format: 2, version: '1.2.3', schema: migrations.length, timeMs: 0 }

/** Of an instance whose few tables take a fraction of the time. */
const old = { ...about, schema: 1 }

/** Creates an archive that no backup writes. */
function forged(
  entries: readonly (readonly [Partial<Header> & Pick<Header, 'name'>, string])[],
  first: object = about,
) {
  const archive = pack()
  archive.entry({ name: 'about.json' }, JSON.stringify(first))
  for (const [header, content] of entries) archive.entry(header, content)
  archive.entry({ name: 'complete.json' }, '{}')
  archive.finalize()
  return buffer(archive)
}

async function expectRefused(archive: Buffer, words: RegExp): Promise<void> {
  await expect(restoreTo(target, archive)).rejects.toThrow(words)
  expect(await readdir(folder)).toEqual([])
}

describe('a restored backup', () => {
  it('has the same rows, in a folder that only its owner may read', async () => {
    const archive = await backup()
    expect(await restoreTo(target, archive)).toMatchObject({
      version: '1.2.3',
      format: 2,
    })
    expect((await stat(target)).mode & 0o777).toBe(0o700)
    const db = openDatabase(join(target, 'branchline.db'))
    expect(await findUserByNameKey(db, 'ada')).toMatchObject({ username: 'ada' })
    await db.destroy()
  })

  it('is up to date, although an older Branchline wrote the backup', async () => {
    const archive = await backup(migrations.length - 1)
    await restoreTo(target, archive)
    const db = openDatabase(join(target, 'branchline.db'))
    expect(await schemaVersion(db)).toBe(migrations.length)
    expect(await findUserByNameKey(db, 'ada')).toMatchObject({ username: 'ada' })
    await db.destroy()
  })

  it('is not created from a truncated archive', async () => {
    const archive = await backup()
    // Also after the last file, where the tar archive itself is valid.
    const end = archive.lastIndexOf('complete.json')
    for (const length of [0, 1, 512, 1024, Math.floor(archive.length / 2), end, end + 512]) {
      await expectRefused(archive.subarray(0, length), /truncated|cannot be read/)
    }
  })

  it('is not created from another file', async () => {
    await expectRefused(Buffer.from('no archive'), /cannot be read|truncated/)
    await expectRefused(Buffer.alloc(10_240), /truncated/)
    await expectRefused(await forged([], { hello: 'world' }), /format/)
    await expectRefused(await forged([], { ...about, format: 1 }), /format 1/)
    await expectRefused(
      await forged([], { ...about, schema: migrations.length + 1 }),
      /newer Branchline 1\.2\.3/,
    )
  })

  it.each([
    '../evil',
    '/evil',
    'repositories/../../evil',
    'repositories/a/..',
    'repositories/../evil',
    'attachments/../evil',
    'attachments',
    'evil',
    'branchline.db/evil',
    'lock',
  ])('has no file %s, which no backup contains', async (name) => {
    await expectRefused(await forged([[{ name }, 'x']], old), /unexpected entry/)
  })

  it.each([
    { name: 'repositories/a', type: 'symlink' as const, linkname: '/etc/passwd' },
    { name: 'repositories/a', type: 'link' as const, linkname: '/etc/passwd' },
    { name: 'repositories/a', type: 'link' as const, linkname: 'repositories/../../a' },
    { name: 'repositories/a', type: 'fifo' as const },
  ])('has no %j', async (header) => {
    await expectRefused(await forged([[header, '']], old), /unexpected entry/)
  })

  it('does not replace a folder that is not empty', async () => {
    await writeFile(join(folder, 'mine'), '')
    await expect(restoreTo(folder, await forged([]))).rejects.toThrow('not empty')
    expect(await readdir(folder)).toEqual(['mine'])
  })
})
