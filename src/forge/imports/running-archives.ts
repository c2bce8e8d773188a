import { transaction } from '../../platform/database/database.ts'
import { removeRepository } from '../repositories/lifecycle/repositories.ts'
import type { ReposApp } from '../repositories/ports.ts'
import * as rows from './project-imports.rows.ts'
import type { ProjectImport } from './schema.ts'

/** The kind of the source of an import from an archive. */
export const ARCHIVE = 'archive'

/** The time between two looks at whether the server of an archive still runs. */
const LOOK_MS = 5_000

/**
 * Removes the repository of an archive whose server has ended, since only that server had the archive.
 * The client has got no answer, and can send the archive again.
 */
export async function settleArchive(app: ReposApp, job: ProjectImport): Promise<void> {
  if (await isRunning(app, job)) {
    const due_time = app.clock.now() + LOOK_MS
    await transaction(app.db, (tx) => rows.updateProjectImport(tx, job.id, { due_time }))
  } else await removeRepository(app, job.repository_id)
}

async function isRunning(
  { coordination, runningArchives }: ReposApp,
  { repository_id, server_id }: ProjectImport,
): Promise<boolean> {
  if (runningArchives.has(repository_id)) return true
  if (server_id === null || server_id === coordination.serverId) return false
  return (await coordination.runningServers([server_id])).has(server_id)
}
