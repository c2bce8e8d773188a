import type { Tx } from '../../platform/database/schema.ts'
import { grouped } from '../conversations/conversations.rows.ts'
import {
  type FileSource,
  RecordError,
  storeImportedAttachment,
} from '../conversations/imported-attachments.ts'
import { conversationNumbered } from '../conversations/imported-texts.rows.ts'
import { DomainError } from '../core/errors.ts'
import type { ReposApp } from '../repositories/ports.ts'
import { findEntryByTag } from '../repositories/releases/releases.rows.ts'
import { count, type Item, noteProblem, type RunningImport } from './import-items.ts'
import * as rows from './project-imports.rows.ts'
import type {
  AssetRecord,
  AttachmentRecord,
  ConversationRecord,
  ReleaseRecord,
} from './project-records.ts'
import { SourceError } from './sources/source-client.ts'
import { storeAsset } from './stored-releases.ts'

/** A record that may have files. */
type WithFiles = ReleaseRecord | ConversationRecord

/** A file of a record. */
interface RecordFile {
  readonly item: Item & { readonly kind: 'assets' | 'attachments' }
  readonly file: AssetRecord
  store(from: FileSource): Promise<void>
}

/** Returns whether a record has files, which are imported after the record. */
export function hasFiles(record: object): record is WithFiles {
  if ('assets' in record) return (record as ReleaseRecord).assets.length > 0
  return 'comments' in record && attachmentsIn(record as ConversationRecord).length > 0
}

function attachmentsIn({ attachments, comments }: ConversationRecord): AttachmentRecord[] {
  return [...attachments, ...comments.flatMap((comment) => comment.attachments)]
}

/**
 * Downloads the files of a record, one after the other. Files that are stored already are left out.
 *
 * @throws SourceError, SourcePause, ImportEndedError, QUOTA_EXCEEDED
 */
export async function importFiles(
  app: ReposApp,
  run: RunningImport,
  record: WithFiles,
): Promise<void> {
  const { id } = run.job
  const files =
    'assets' in record ? await assetsOf(app, run, record) : await attachmentsOf(app, run, record)
  const ids = files.map(({ item }) => item.sourceId)
  const stored = await rows.storedItems(app.db, id, files[0]?.item.kind ?? '', ids)
  for (const { item, file, store } of files) {
    if (stored.has(item.sourceId)) continue
    try {
      await store({ open: () => run.source.asset(file), note: (tx) => noteFile(tx, id, item) })
    } catch (error) {
      await noteProblem(app, run, item, problemOf(error))
    }
  }
}

async function assetsOf(
  app: ReposApp,
  { job: { repository_id: repositoryId } }: RunningImport,
  { sourceId, tag, assets }: ReleaseRecord,
): Promise<RecordFile[]> {
  const release = tag && (await findEntryByTag(app.db, repositoryId, tag))
  // The release itself could not be stored, or is a draft that nothing names.
  if (!release || release.tag_only === 1) return []
  const place = { repositoryId, releaseId: release.id }
  return assets.map((file) => ({
    item: { kind: 'assets', sourceId: `${sourceId} ${file.sourceId}`, ref: `${tag}/${file.name}` },
    file,
    store: (from) => storeAsset(app, place, file, from),
  }))
}

async function attachmentsOf(
  app: ReposApp,
  { job: { repository_id: repositoryId }, importerId: uploaderId }: RunningImport,
  { number, attachments, comments }: ConversationRecord,
): Promise<RecordFile[]> {
  const found = await conversationNumbered(app.db, repositoryId, number)
  if (!found) return []
  const conversation = { repositoryId, conversationId: found.id, uploaderId }
  const fileOf = (commentId: number | null, place: string) => (file: AttachmentRecord) => ({
    item: {
      kind: 'attachments' as const,
      sourceId: `${number} ${place} ${file.sourceId}`,
      ref: `#${number}/${file.name}`,
    },
    file,
    store: (from: FileSource) =>
      storeImportedAttachment(app, { ...conversation, commentId }, file, from),
  })
  // The other server may have changed its comments since they were stored.
  const left = grouped(found.comments.map(({ create_time, id }) => [create_time, id] as const))
  return [
    ...attachments.map(fileOf(null, '')),
    ...comments.flatMap((comment) => {
      const commentId = left.get(comment.createTime)?.shift()
      if (commentId === undefined) return []
      return comment.attachments.map(fileOf(commentId, comment.sourceId))
    }),
  ]
}

async function noteFile(
  tx: Tx,
  importId: number,
  { kind, sourceId }: RecordFile['item'],
): Promise<boolean> {
  if (!(await rows.noteItem(tx, importId, kind, sourceId))) return false
  await count(tx, importId, { [kind]: 1 }, [])
  return true
}

/** Errors that are faults of a file. */
const TOO_LARGE: ReadonlySet<string> = new Set(['ASSET_TOO_LARGE', 'ATTACHMENT_TOO_LARGE'])

/** Returns why a file is left out. @throws what is no fault of the file. */
function problemOf(error: unknown): string {
  if (error instanceof RecordError) return error.message
  if (error instanceof SourceError && error.status !== 401) return error.message
  if (error instanceof DomainError && TOO_LARGE.has(error.reason))
    return 'the file is larger than this server allows'
  throw error
}
