import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { examine } from '../../../src/forge/administration/doctor.ts'
import { repositoryPath } from '../../../src/platform/git/repositories/repositories.ts'
import { backUp, restoreTo } from '../../support/backups.ts'
import { databaseOf } from '../../support/database.ts'
import { openForge } from '../../support/forge.ts'
import { restAt } from '../../support/rest.ts'
import { startTestServer } from '../../support/server.ts'

const { server, users, rest } = await openForge()

it('a repository that is deleted during a backup is left out, with all that belongs to it', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'branchline-'))
  const { body: gone } = await rest(users.bob, 'POST', '/user/repos', {
    name: 'gone',
    auto_init: true,
  })
  await rest(users.bob, 'POST', '/user/repos', { name: 'kept', auto_init: true })
  for (const name of ['gone', 'kept']) {
    await rest(users.bob, 'PUT', `/repos/bob/${name}/topics/tulips`)
    await rest(users.bob, 'POST', `/repos/bob/${name}/releases`, { tag_name: 'v1' })
  }
  await rest(users.carol, 'POST', '/repos/bob/gone/forks', { name: 'fork' })
  // The rows are there at the start of the backup, and the files no longer when they are read.
  await rm(repositoryPath(server.app.git, gone.id), { recursive: true })
  const data = join(folder, 'restored')
  await restoreTo(data, await backUp(server.app), await databaseOf(data))
  const restored = await startTestServer({ data })
  const ask = restAt(restored.url)
  expect((await ask(users.bob, 'GET', '/repos/bob/gone')).status).toBe(404)
  expect((await ask(undefined, 'GET', '/repos/bob/kept')).body.topics).toEqual(['tulips'])
  expect((await ask(undefined, 'GET', '/repos/carol/fork')).body.parent).toBeFalsy()
  // Counters fit the rows.
  const findings: unknown[] = []
  for await (const finding of examine(restored.app, { fsck: false, fix: false }))
    findings.push(finding)
  expect(findings).toEqual([])
  await restored.stop()
  await rm(folder, { recursive: true })
})
