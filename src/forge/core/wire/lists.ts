import { createHmac, timingSafeEqual } from 'node:crypto'
import type { App } from '../../app.ts'
import { type PageSizes, pageSizes } from '../core.ts'
import { DomainError } from '../errors.ts'

/** Default page sizes of lists of accounts and memos, as in the specification. */
const USUAL = { defaultPageSize: 50, maxPageSize: 1000 }

/**
 * The length of the authentication tag in bytes: 128 bits, which NIST SP 800-107 section 5.3 allows
 * for HMAC.
 */
const TAG_BYTES = 16

/** The maximum length of the contents of a token that is kept. Filters may be long. */
const MAX_KEPT_CHARACTERS = 512

/** The maximum length of a token that is read. Tokens of this server are much shorter. */
const MAX_TOKEN_CHARACTERS = 1024

/**
 * Returns the size of the requested page.
 *
 * @param settings page sizes that the operator set.
 */
export function readPageSize(settings: PageSizes, pageSize: number): number {
  if (pageSize < 0) throw new DomainError('INVALID_PAGE_SIZE', { page_size: String(pageSize) })
  const { defaultPageSize, maxPageSize } = pageSizes(settings, USUAL)
  return pageSize === 0 ? defaultPageSize : Math.min(pageSize, maxPageSize)
}

/** The list that a page token belongs to. Other lists reject the token. */
export interface ListIdentity {
  /** The name of the RPC. */
  readonly method: string
  /** The parent resource; empty for a top-level list. */
  readonly parent: string
  /** Everything else that selects results, as one text. */
  readonly filter: string
}

/** The values that a list is ordered by, of one of its results. */
type SortKey = readonly (number | string)[]

/**
 * Returns the token of the page that follows a sort key.
 *
 * The token contains the key of the last result rather than an offset, so that insertions and
 * deletions neither repeat nor skip results. An authentication tag ensures that this server issued
 * the token for this list.
 */
export function writePageToken(app: App, list: ListIdentity, key: SortKey): string {
  const { pageTokens } = app.keys
  const identity = textOf(list)
  const text = JSON.stringify(key)
  const contents = identity + text
  const known = pageTokens.get(contents)
  if (known !== undefined) return known
  const payload = Buffer.from(text)
  const token = Buffer.concat([tagOf(app, identity, payload), payload]).toString('base64url')
  if (contents.length <= MAX_KEPT_CHARACTERS) pageTokens.set(contents, token)
  return token
}

/**
 * Returns the sort key in a page token; undefined for an empty token, which means the first page.
 */
export function readPageToken<Key extends SortKey = readonly number[]>(
  app: App,
  list: ListIdentity,
  token: string,
): Key | undefined {
  if (token === '') return undefined
  const key = verifyPageToken<Key>(app, list, token)
  if (!key) throw new DomainError('INVALID_PAGE_TOKEN')
  return key
}

/** Returns the sort key in a page token; undefined for a text that is not a token of this list. */
export function verifyPageToken<Key extends SortKey = readonly number[]>(
  app: App,
  list: ListIdentity,
  token: string,
): Key | undefined {
  const bytes =
    token.length <= MAX_TOKEN_CHARACTERS ? Buffer.from(token, 'base64url') : Buffer.alloc(0)
  // Node skips characters that are not base64, and bits that fill no byte.
  if (bytes.toString('base64url') !== token) return undefined
  const tag = bytes.subarray(0, TAG_BYTES)
  const payload = bytes.subarray(TAG_BYTES)
  if (tag.length < TAG_BYTES || !timingSafeEqual(tag, tagOf(app, textOf(list), payload)))
    return undefined
  // The tag proves that this server wrote the payload for this list.
  return JSON.parse(payload.toString()) as Key
}

/** Returns the parts of an identity as a text that no other identity has. */
function textOf({ method, parent, filter }: ListIdentity): string {
  return JSON.stringify([method, parent, filter])
}

function tagOf(app: App, identity: string, payload: Buffer): Buffer {
  return createHmac('sha256', app.keys.derive('page-tokens'))
    .update(identity)
    .update(payload)
    .digest()
    .subarray(0, TAG_BYTES)
}
