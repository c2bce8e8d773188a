import { join } from 'node:path'
import { expect, it } from 'vitest'
import { Sqlite } from '../../../src/platform/database/sqlite.ts'
import { isOnPostgres } from '../../support/database.ts'
import { serveProcess, withFolder } from '../../support/process.ts'
import { restAt } from '../../support/rest.ts'
import { createTestUsers, startTestServer } from '../../support/server.ts'

const FILES = 120

// The test reads the file of SQLite. The work is the same with PostgreSQL.
it.skipIf(isOnPostgres)(
  'a server that is killed in the middle of a look indexes all files after its next start',
  async () => {
    await withFolder(async (data) => {
      const first = await serveProcess(data)
      const { bob } = await createTestUsers(first.url)
      await restAt(first.url)(bob, 'POST', '/user/repos', { name: 'killed', auto_init: true })
      const files = Array.from({ length: FILES }, (_, i) => ({
        operation: 'create',
        path: `file${i}.txt`,
        content: Buffer.from(`the shuttle ${textOf(i)}\n`).toString('base64'),
      }))
      await restAt(first.url)(bob, 'POST', '/repos/bob/killed/contents', { files })
      await rowsIn(data)
      first.child.kill('SIGKILL')
      await first.exited

      const second = await startTestServer({ data })
      const total = async () =>
        Number((await restAt(second.url)(bob, 'GET', '/code/search?q=the+shuttle')).body.total)
      await expect.poll(total, { timeout: 60_000 }).toBe(50)
      await second.stop()
      const sqlite = new Sqlite(join(data, 'branchline.db'), { readonly: true })
      const counts = sqlite
        .prepare(
          `select count(*) as files, count(distinct path) as paths,
          (select count(*) from code_trigrams) as texts from code_files`,
        )
        .get()
      sqlite.close()
      expect(counts).toEqual({ files: FILES + 1, paths: FILES + 1, texts: FILES + 1 })
    })
  },
)

/** Returns a text with about 2,000 trigrams, so that a transaction has five files. */
function textOf(seed: number): string {
  return Array.from({ length: 500 }, (_, i) => ((seed + 1) * 7919 * (i + 1)).toString(36)).join(' ')
}

/** Waits until the index has some files. */
async function rowsIn(data: string): Promise<void> {
  const sqlite = new Sqlite(join(data, 'branchline.db'), { readonly: true })
  const found = sqlite.prepare('select 1 from code_files where path like ? limit 1')
  while (!found.get('file%')) await new Promise((resolve) => setTimeout(resolve, 1))
  sqlite.close()
}
