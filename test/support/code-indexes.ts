import { expect, vi } from 'vitest'
import type { App } from '../../src/forge/app.ts'

/**
 * Makes all repositories due that wait for a look, and waits until the worker of the server has brought
 * the index of the code up to date. A look of the test beside that of the worker could end with older
 * rows than it.
 */
export async function settleCodeIndexes({ db, signals }: App): Promise<void> {
  await vi.waitFor(
    async () => {
      await db
        .updateTable('code_indexes')
        .set({ due_time: 0 })
        .where('due_time', 'is not', null)
        .execute()
      signals.repositoryEvents.notify()
      const waiting = await db
        .selectFrom('code_indexes')
        .select('repository_id')
        .where('due_time', 'is not', null)
        .execute()
      expect(waiting).toEqual([])
    },
    { timeout: 30_000 },
  )
}
