import { createHash, type Hash } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { transaction } from '../../platform/database/database.ts'
import type { Tx } from '../../platform/database/schema.ts'
import { type ObjectStore, PlaceGoneError } from '../../platform/objects/object-store.ts'
import { setStoreOfAttachment } from '../conversations/attachments.rows.ts'
import { nowSeconds } from '../core/core.ts'
import { DomainError } from '../core/errors.ts'
import { attachmentKey } from '../repositories/attachments/attachment-files.ts'
import { withDrafts } from '../repositories/attachments/draft-contents.ts'
import type { ContentStore, StoreChange } from '../repositories/attachments/schema.ts'
import { queueStorageDeletion } from '../repositories/attachments/storage-deletions.rows.ts'
import { setStoreOfLfsContent } from '../repositories/lfs/lfs-objects.rows.ts'
import { lfsKey } from '../repositories/lfs/lfs-objects.ts'
import type { ReposApp } from '../repositories/ports.ts'
import { setStoreOfAsset } from '../repositories/releases/release-assets.rows.ts'
import { issueFiles, lfsContents, releaseFiles } from './stored-file-rows.ts'

/** The kinds of contents that can be moved apart. */
export const CONTENT_KINDS = ['attachments', 'lfs'] as const

export type ContentKind = (typeof CONTENT_KINDS)[number]

/** Readers and backups that have found a row before its move read the source for this time. */
const SOURCE_SECONDS = 24 * 60 * 60

export interface StorageMove {
  readonly to: ContentStore
  /** Undefined for all. */
  readonly only: ContentKind | undefined
  /** Undefined for no limit. */
  readonly bytesPerSecond: number | undefined
}

/** A content that a row names. */
interface MovableContent {
  readonly key: string
  readonly bytes: number
  /** In hexadecimal, where the row has it. */
  readonly sha256?: string
  readonly store: ContentStore
  /** Names the other store in the row. @returns false if the row has changed. */
  setStore(tx: Tx, change: StoreChange): Promise<boolean>
}

/** What became of a content. */
export type MoveOutcome =
  | { readonly outcome: 'moved'; readonly bytes: number }
  /** The content was in the store, or its row was deleted or moved meanwhile. */
  | { readonly outcome: 'left' }
  | { readonly outcome: 'failed'; readonly key: string; readonly reason: string }

/**
 * Moves contents to a store, while servers run. Each content is copied and read back, its row then names
 * the store, and the source is deleted a day later. After an interruption, the same call goes on.
 *
 * @throws StoreUnavailableError
 */
export async function* moveContents(
  app: ReposApp,
  { to, only, bytesPerSecond }: StorageMove,
): AsyncGenerator<MoveOutcome, void, undefined> {
  const pace = new Pace(bytesPerSecond)
  for (const kind of only === undefined ? CONTENT_KINDS : [only])
    for await (const content of CONTENTS[kind](app)) {
      if (content.store === to) yield { outcome: 'left' }
      else yield await moveContent(app, content, to, pace)
    }
}

const CONTENTS: Readonly<
  Record<ContentKind, (app: ReposApp) => AsyncGenerator<MovableContent, void, undefined>>
> = { attachments: files, lfs: lfsObjects }

async function* files({ db }: ReposApp): AsyncGenerator<MovableContent, void, undefined> {
  const kinds = [
    [releaseFiles, setStoreOfAsset],
    [issueFiles, setStoreOfAttachment],
  ] as const
  for (const [rowsOf, setStore] of kinds)
    for await (const { id, uuid, repository_id, bytes, store } of rowsOf(db))
      yield {
        key: attachmentKey(repository_id, uuid),
        bytes,
        store,
        setStore: (tx, change) => setStore(tx, { id, repository_id }, change),
      }
}

async function* lfsObjects({ db }: ReposApp): AsyncGenerator<MovableContent, void, undefined> {
  for await (const { oid, bytes, store } of lfsContents(db))
    yield {
      key: lfsKey(oid),
      bytes,
      sha256: oid,
      store,
      setStore: (tx, change) => setStoreOfLfsContent(tx, oid, change),
    }
}

/** Thrown for a content that must not be moved as it is. */
class UnfitContentError extends Error {
  override readonly name = 'UnfitContentError'
}

/** Thrown when a row has changed during the copy. */
class RowChangedError extends Error {
  override readonly name = 'RowChangedError'
}

async function moveContent(
  app: ReposApp,
  content: MovableContent,
  to: ContentStore,
  pace: Pace,
): Promise<MoveOutcome> {
  const { key, bytes, store } = content
  const [source, target] = [app.objects.of(store), app.objects.of(to)]
  try {
    await withDrafts(
      app,
      [{ store: to, object_key: key }],
      () => copyContent([source, target], content, pace),
      () =>
        transaction(app.db, async (tx) => {
          if (!(await content.setStore(tx, { from: store, to }))) throw new RowChangedError()
          const due_time = nowSeconds(app.clock) + SOURCE_SECONDS
          await queueStorageDeletion(tx, { store, object_key: key, due_time })
        }),
    )
    return { outcome: 'moved', bytes }
  } catch (error) {
    if (error instanceof RowChangedError || error instanceof PlaceGoneError)
      return { outcome: 'left' }
    if (error instanceof UnfitContentError || error instanceof DomainError)
      return { outcome: 'failed', key, reason: error.message }
    throw error
  }
}

/** Copies a content, and reads the copy back. */
async function copyContent(
  [source, target]: readonly [ObjectStore, ObjectStore],
  { key, bytes, sha256 }: MovableContent,
  pace: Pace,
): Promise<void> {
  const opened = await source.get(key)
  if (!opened) throw new UnfitContentError(`there is no content in ${source.name}`)
  if (opened.bytes !== bytes) {
    opened.content.destroy()
    throw new UnfitContentError(`the content has ${opened.bytes} bytes, not ${bytes}`)
  }
  const written = createHash('sha256')
  await target.put(key, hashed(opened.content, written, pace), bytes)
  const digest = written.digest('hex')
  if (sha256 !== undefined && digest !== sha256)
    throw new UnfitContentError(`the content in ${source.name} has another SHA-256`)
  const copy = await target.get(key)
  const read = createHash('sha256')
  if (copy) for await (const chunk of copy.content) read.update(chunk)
  if (!copy || read.digest('hex') !== digest)
    throw new UnfitContentError(`the copy in ${target.name} differs from the content`)
}

async function* hashed(
  chunks: AsyncIterable<Uint8Array>,
  hash: Hash,
  pace: Pace,
): AsyncGenerator<Uint8Array, void, undefined> {
  for await (const chunk of chunks) {
    hash.update(chunk)
    yield chunk
    await pace.after(chunk.length)
  }
}

/** Keeps a move below a number of bytes in a second. */
class Pace {
  readonly #bytesPerSecond: number | undefined
  /** When the bytes so far are paid for, in milliseconds of `performance.now()`. */
  #paidAtMs = performance.now()

  constructor(bytesPerSecond: number | undefined) {
    this.#bytesPerSecond = bytesPerSecond
  }

  async after(bytes: number): Promise<void> {
    if (this.#bytesPerSecond === undefined) return
    const now = performance.now()
    this.#paidAtMs = Math.max(now, this.#paidAtMs) + (bytes / this.#bytesPerSecond) * 1000
    await pause(this.#paidAtMs - now)
  }
}
