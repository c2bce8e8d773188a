import type { Readable } from 'node:stream'

/** Where an object is: a folder of this machine, or an S3 server. */
export type StoreName = 'disk' | 's3'

/** A part of an object, with its last byte. */
export interface ObjectRange {
  readonly first: number
  readonly last: number
}

/** An object that can be read. */
export interface OpenObject {
  /** Size of the whole object in bytes. */
  readonly bytes: number
  /** The content, or the part that was asked for. Must be read or destroyed. */
  readonly content: Readable
}

/** An object of a list. */
export interface ListedObject {
  readonly key: string
  readonly bytes: number
  /** Time of the last change in Unix milliseconds. */
  readonly timeMs: number
}

/**
 * Contents under keys, such as `attachments/7/0d3c…`. A key has components between slashes, none of
 * which is empty, `.` or `..`. An object is written completely or not at all.
 *
 * All methods throw `StoreUnavailableError` where the store does not answer.
 */
export interface ObjectStore {
  readonly name: StoreName
  /** Whether the store has not answered for a while, so that calls fail at once. */
  readonly isAway: boolean
  /** Uploads that a crash left behind, where the store has such. */
  readonly uploads?: UnfinishedUploads
  /** Where clients transfer contents with the store themselves. */
  readonly direct?: DirectTransfers | undefined
  /**
   * Stores an object, in place of an earlier one. The object survives a power failure when the promise
   * resolves. When the promise rejects, nothing is stored.
   *
   * @param maxBytes the largest size that the content can have.
   * @returns the size in bytes.
   * @throws PlaceGoneError when `deleteAll` removed the place of the object meanwhile; and whatever the
   *   content throws.
   */
  put(key: string, content: AsyncIterable<Uint8Array>, maxBytes: number): Promise<number>
  /** Opens an object; undefined if there is none. */
  get(key: string, range?: ObjectRange): Promise<OpenObject | undefined>
  /** Returns the size of an object in bytes; undefined if there is none. */
  size(key: string): Promise<number | undefined>
  /** Deletes an object if it exists. */
  delete(key: string): Promise<void>
  /**
   * Deletes all objects whose keys begin with a prefix.
   *
   * @param prefix ends with a slash.
   */
  deleteAll(prefix: string): Promise<void>
  /**
   * Stores the content of an object under a second key, if that key has no object.
   *
   * @throws Error when there is no object to copy.
   */
  copy(from: string, to: string): Promise<void>
  /**
   * Yields the objects whose keys begin with a prefix, in no order.
   *
   * @param prefix ends with a slash.
   */
  list(prefix: string): AsyncGenerator<ListedObject, void, undefined>
  /**
   * Removes what killed processes have written of objects, where the store has such files.
   *
   * @param beforeMs Unix milliseconds. A draft that has received content since then stays.
   * @returns the number of removed drafts.
   */
  removeDrafts?(beforeMs: number): Promise<number>
}

/** What the answer to a direct download says of the content. */
export interface DownloadAs {
  readonly method: 'GET' | 'HEAD'
  readonly contentType: string
  /** The value of `Content-Disposition`. */
  readonly disposition: string
}

/** How long a client can use a URL of a direct transfer. */
export const DIRECT_SECONDS = 15 * 60

/** A request that a client sends to the store. */
export interface DirectUpload {
  readonly url: string
  /** Headers that the request must have. Names are lower case. */
  readonly headers: Readonly<Record<string, string>>
}

/** URLs that everyone who has them can use for 15 minutes. They must not be logged. */
export interface DirectTransfers {
  /** Returns the URL of a content, which may be missing. */
  downloadUrl(key: string, as: DownloadAs): Promise<string>
  /**
   * Returns a PUT for one content only; undefined where the store would take other content, or the
   * content is too large for one request.
   *
   * @param sha256 in hexadecimal.
   */
  upload(
    key: string,
    content: { readonly bytes: number; readonly sha256: string },
  ): Promise<DirectUpload | undefined>
}

/** An upload in parts that has not ended. */
export interface UnfinishedUpload {
  readonly key: string
  readonly uploadId: string
  /** Unix milliseconds. */
  readonly timeMs: number
}

/** Uploads in parts that have not ended. */
export interface UnfinishedUploads {
  /** Returns some uploads, among them the oldest. */
  list(): Promise<readonly UnfinishedUpload[]>
  /** Aborts an upload, if the upload has not ended. */
  abort(upload: Pick<UnfinishedUpload, 'key' | 'uploadId'>): Promise<void>
}

/** The stores of an instance. While content moves, both have some. */
export interface ObjectStores {
  readonly all: readonly ObjectStore[]
  /** The store of new content. */
  readonly current: ObjectStore
  /**
   * Returns a store by its name.
   *
   * @throws StoreUnavailableError for a store that is not configured.
   */
  of(name: StoreName): ObjectStore
}

/** Thrown when the place of an object is deleted while the object is written. */
export class PlaceGoneError extends Error {
  override readonly name = 'PlaceGoneError'
}

/** Thrown when a store does not answer, or is not configured. */
export class StoreUnavailableError extends Error {
  override readonly name = 'StoreUnavailableError'
}

/** Returns stores of which new content goes to the last one. */
export function objectStores(stores: readonly [ObjectStore, ...ObjectStore[]]): ObjectStores {
  const [first] = stores
  const byName = new Map(stores.map((store) => [store.name, store]))
  return {
    all: stores,
    current: stores.at(-1) ?? first,
    of(name) {
      const store = byName.get(name)
      if (!store) throw new StoreUnavailableError(`the store ${name} is not configured`)
      return store
    },
  }
}
