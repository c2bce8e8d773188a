import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it, vi } from 'vitest'
import { findRepositoryById } from '../../../../src/forge/repositories/lifecycle/repositories.rows.ts'
import {
  finishMeasuring,
  measureLater,
} from '../../../../src/forge/repositories/refs/repository-size.ts'
import { repositoryPath } from '../../../../src/platform/git/repositories/repositories.ts'
import { openForge } from '../../../support/forge.ts'
import { restAt } from '../../../support/rest.ts'

const { server, users } = await openForge()

describe('the size of a repository that changes often', () => {
  it('is measured immediately, then once per interval, and before the server stops', async () => {
    const { app } = server
    const { body } = await restAt(server.url)(users.bob, 'POST', '/user/repos', {
      name: 'measured',
    })
    const id = body.id as number
    const size = async () => (await findRepositoryById(app.db, id))?.size_kib ?? 0
    const measured = vi.spyOn(app.git.readers, 'acquire')
    measureLater(app, id)
    await app.background.settled()
    expect(measured).toHaveBeenCalledTimes(1)
    const before = await size()
    // Counted for its name, whatever is in it.
    const objects = join(repositoryPath(app.git, id), 'objects', '11')
    await mkdir(objects)
    await writeFile(join(objects, '1'.repeat(38)), Buffer.alloc(200 * 1024))
    for (let n = 0; n < 20; n += 1) measureLater(app, id)
    await app.background.settled()
    expect(measured).toHaveBeenCalledTimes(1)
    await finishMeasuring(app)
    expect(measured).toHaveBeenCalledTimes(2)
    await finishMeasuring(app)
    expect(measured).toHaveBeenCalledTimes(2)
    expect((await size()) - before).toBeGreaterThanOrEqual(200)
  })
})
