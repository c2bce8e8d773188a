import { measureRepository } from '../../git/repository-size.ts'
import { type Db, transaction } from '../../storage/database.ts'
import { findRepositoryById, updateRepository } from '../../storage/repositories.ts'
import type { App } from '../app.ts'

/** The repositories that are being measured, and whether they have changed since that began. */
const underWay = new WeakMap<Db, Map<number, { isStale: boolean }>>()

/**
 * Measures a repository in the background and stores its size, which nobody waits for. Asked again meanwhile, it does so once more
 * and not more often.
 */
export function measureLater(app: App, repositoryId: number): void {
  const measured = underWay.get(app.db) ?? new Map<number, { isStale: boolean }>()
  underWay.set(app.db, measured)
  const running = measured.get(repositoryId)
  if (running) {
    running.isStale = true
    return
  }
  const state = { isStale: true }
  measured.set(repositoryId, state)
  app.background.run('measure repository', async () => {
    try {
      while (state.isStale) {
        state.isStale = false
        await measure(app, repositoryId)
      }
    } finally {
      measured.delete(repositoryId)
    }
  })
}

async function measure(app: App, repositoryId: number): Promise<void> {
  const size_kib = await measureRepository(app.git, repositoryId)
  const repository = await findRepositoryById(app.db, repositoryId)
  if (size_kib === undefined || !repository || repository.size_kib === size_kib) return
  await transaction(app.db, (tx) => updateRepository(tx, repositoryId, { size_kib }))
}
