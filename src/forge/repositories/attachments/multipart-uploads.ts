import type { Db } from '../../../platform/database/schema.ts'
import type { UploadJournal } from '../../../platform/objects/s3/s3-store.ts'
import type { Worker } from '../../core/coordination.ts'
import { type Clock, nowSeconds } from '../../core/core.ts'
import type { ReposApp } from '../ports.ts'
import {
  deleteMultipartUpload,
  insertMultipartUpload,
  listMultipartUploads,
} from './multipart-uploads.rows.ts'
import type { MultipartUpload } from './schema.ts'

const SWEEP_INTERVAL_MS = 60 * 60_000

/**
 * Uploads of commands, and those that the database has forgotten, are aborted at this age. Drafts on the
 * disk end when they have received nothing for this time.
 */
const MAX_AGE_SECONDS = 24 * 60 * 60

/**
 * Returns the journal of the uploads in parts of this process.
 *
 * @param serverId the number of this server; 0 if it is alone, null for a command.
 */
export function uploadJournal(db: Db, clock: Clock, serverId: () => number | null): UploadJournal {
  return {
    begin: (key, uploadId) =>
      insertMultipartUpload(db, {
        server_id: serverId(),
        object_key: key,
        upload_id: uploadId,
        create_time: nowSeconds(clock),
      }),
    end: (entry) => deleteMultipartUpload(db, entry),
  }
}

/**
 * Aborts the uploads in parts whose server has ended, so that the object storage frees their space.
 *
 * @param startTime the start of this process in Unix seconds.
 */
export async function abortEndedUploads(app: ReposApp, startTime: number): Promise<void> {
  for (const { uploads } of app.objects.all) {
    if (!uploads) continue
    for (const row of await endedUploads(app, startTime)) {
      await uploads.abort({ key: row.object_key, uploadId: row.upload_id })
      await deleteMultipartUpload(app.db, row.id)
    }
    // The storage has times of its own clock.
    const oldestMs = Date.now() - MAX_AGE_SECONDS * 1000
    for (const upload of await uploads.list())
      if (upload.timeMs < oldestMs) await uploads.abort(upload)
  }
}

async function endedUploads(app: ReposApp, startTime: number): Promise<MultipartUpload[]> {
  const all = await listMultipartUploads(app.db)
  const ids = new Set(all.flatMap(({ server_id }) => (server_id ? [server_id] : [])))
  const running = await app.coordination.runningServers([...ids])
  const oldest = nowSeconds(app.clock) - MAX_AGE_SECONDS
  return all.filter(({ server_id, create_time }) => {
    if (server_id === null) return create_time < oldest
    return server_id === 0 ? create_time < startTime : !running.has(server_id)
  })
}

/** Removes the drafts on the disk whose upload ended with its server. */
async function removeOldDrafts(app: ReposApp): Promise<void> {
  // Files have times of the machine's clock.
  const beforeMs = Date.now() - MAX_AGE_SECONDS * 1000
  for (const store of app.objects.all) {
    const removed = await store.removeDrafts?.(beforeMs)
    if (removed) app.log.info({ removed }, 'removed drafts of uploads that killed processes left')
  }
}

/** Aborts such uploads and removes such drafts now, and every hour. */
export function startUploadAborts(app: ReposApp): Worker {
  const startTime = nowSeconds(app.clock)
  const sweep = () => {
    app.background.run('abort uploads', () => abortEndedUploads(app, startTime))
    app.background.run('remove drafts', () => removeOldDrafts(app))
  }
  sweep()
  const timer = setInterval(sweep, SWEEP_INTERVAL_MS)
  return { stop: () => clearInterval(timer) }
}
