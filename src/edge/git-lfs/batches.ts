import type { JsonObject, JsonValue } from '@bufbuild/protobuf'
import type { App } from '../../forge/app.ts'
import type { OpenLfs } from '../../forge/repositories/lfs/lfs-access.ts'
import {
  answerBatch,
  type LfsBatch,
  type LfsBatchEntry,
} from '../../forge/repositories/lfs/lfs-batches.ts'
import { LfsError } from '../../forge/repositories/lfs/lfs-error.ts'
import type { LfsObjectId } from '../../forge/repositories/lfs/lfs-links.ts'
import { DIRECT_SECONDS } from '../../platform/objects/object-store.ts'

/** Objects of one batch. */
export const MAX_OBJECTS = 1_000

const HEADS = 'refs/heads/'

/**
 * Reads the request for a batch (git-lfs, docs/api/batch.md). Unknown keys are ignored.
 *
 * @throws LfsError 413, 422
 */
export function readBatch(body: JsonObject): LfsBatch {
  const { operation, objects, hash_algo: hashAlgorithm = 'sha256' } = body
  if (operation !== 'download' && operation !== 'upload')
    throw new LfsError(422, 'the operation has to be download or upload')
  if (!Array.isArray(objects)) throw new LfsError(422, 'the batch needs an array of objects')
  if (objects.length > MAX_OBJECTS)
    throw new LfsError(413, `a batch can have at most ${MAX_OBJECTS} objects`)
  return { operation, objects: objects.map(readObject), hashAlgorithm: textOf(hashAlgorithm) }
}

/** Returns an object with the values that the client sent. Those of other types are not valid. */
export function readObject(value: JsonValue): LfsObjectId {
  const { oid, size } = typeof value === 'object' && value !== null ? (value as JsonObject) : {}
  return { oid: textOf(oid), bytes: typeof size === 'number' ? size : Number.NaN }
}

/** Returns the ref that a client names; empty for none. */
export function refIn({ ref }: JsonObject): string {
  return typeof ref === 'object' && ref !== null && 'name' in ref ? textOf(ref.name) : ''
}

/** Returns the branch that a client pushes to; undefined without one. */
export function branchIn(body: JsonObject): string | undefined {
  return branchOf(refIn(body))
}

/** Returns the branch of a ref; undefined for any other ref. */
export function branchOf(ref: string): string | undefined {
  return ref.startsWith(HEADS) ? ref.slice(HEADS.length) : undefined
}

/** Returns a text; empty for a value of another type. */
export function textOf(value: JsonValue | undefined): string {
  return typeof value === 'string' ? value : ''
}

/** Returns the answer to a batch. */
export async function batchAnswer(app: App, open: OpenLfs, batch: LfsBatch): Promise<JsonObject> {
  const entries = await answerBatch(app, open, batch)
  const base = `${lfsUrl(app, open)}/objects`
  return {
    transfer: 'basic',
    hash_algo: 'sha256',
    objects: entries.map((entry) => entryAnswer(app, base, batch, entry)),
  }
}

/** Returns the URL of Git LFS of a repository, without a trailing slash. */
export function lfsUrl(app: App, { owner, repository }: OpenLfs): string {
  const path = [owner.name, `${repository.name}.git`].map(encodeURIComponent).join('/')
  return `${app.publicUrl()}/${path}/info/lfs`
}

function entryAnswer(
  { settings }: App,
  base: string,
  { operation }: LfsBatch,
  { oid, bytes, outcome, link, direct }: LfsBatchEntry,
): JsonObject {
  // JSON has no NaN.
  const object = { oid, size: Number.isNaN(bytes) ? null : bytes }
  if (outcome === 'stored') return object
  if (outcome !== 'transfer')
    return { ...object, error: { code: outcome.status, message: outcome.message } }
  const action = (href: string): JsonObject => ({
    href,
    header: link === undefined ? {} : { Authorization: `Bearer ${link}` },
    expires_in: Math.floor(settings.lfsLinkExpiryMs / 1000),
  })
  // A link of ours is nothing for the store, which refuses a second credential.
  const transfer = (href: string): JsonObject =>
    direct
      ? { href: direct.url, header: { ...direct.headers }, expires_in: DIRECT_SECONDS }
      : action(href)
  const actions: JsonObject =
    operation === 'download'
      ? { download: transfer(`${base}/${oid}`) }
      : { upload: transfer(`${base}/${oid}/${bytes}`), verify: action(`${base}/${oid}/verify`) }
  return { ...object, authenticated: true, actions }
}
