import { createHmac, timingSafeEqual } from 'node:crypto'
import type { App } from '../../domain/app.ts'
import { DomainError } from '../../domain/core/errors.ts'
import { type PageSizes, pageSizes } from '../../domain/core/page-sizes.ts'

/**
 * Sizes of the pages of the accounts' lists unless the operator sets others: those of the
 * specification.
 */
const USUAL = { defaultPageSize: 50, maxPageSize: 1000 }

/**
 * Bytes of the authentication tag kept: 128 bits, as NIST SP 800-107 section 5.3 allows for HMAC.
 */
const TAG_BYTES = 16

/** Longest token read. Ours are far shorter; a longer text is not worth hashing. */
const MAX_TOKEN_CHARACTERS = 1024

/**
 * The number of results for a page.
 *
 * @param settings sizes that the operator set.
 * @throws INVALID_PAGE_SIZE for a negative one.
 */
export function readPageSize(settings: PageSizes, pageSize: number): number {
  if (pageSize < 0) throw new DomainError('INVALID_PAGE_SIZE', { page_size: String(pageSize) })
  const { defaultPageSize, maxPageSize } = pageSizes(settings, USUAL)
  return pageSize === 0 ? defaultPageSize : Math.min(pageSize, maxPageSize)
}

/** What a page token belongs to. It is refused anywhere else. */
export interface ListIdentity {
  /** Name of the RPC. */
  readonly method: string
  /** Parent resource, empty for a top-level list. */
  readonly parent: string
  /** Everything else that selects results, in one text. */
  readonly filter: string
}

/** What a list is ordered by, of one of its results. */
export type SortKey = readonly (number | string)[]

/**
 * The token that continues a list behind a sort key.
 *
 * The key of the last result, and not an offset, so that rows that come and go in between neither
 * repeat nor hide another; with a tag, so that a token is what this server gave for this list.
 */
export function writePageToken(app: App, list: ListIdentity, key: SortKey): string {
  const payload = Buffer.from(JSON.stringify(key))
  return Buffer.concat([tagOf(app, list, payload), payload]).toString('base64url')
}

/**
 * The sort key in a page token; undefined for an empty token, which asks for the first page.
 *
 * @throws INVALID_PAGE_TOKEN for a text that is no token of this list.
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

/** The sort key in a page token; undefined for a text that is no token of this list. */
export function verifyPageToken<Key extends SortKey = readonly number[]>(
  app: App,
  list: ListIdentity,
  token: string,
): Key | undefined {
  const bytes =
    token.length <= MAX_TOKEN_CHARACTERS ? Buffer.from(token, 'base64url') : Buffer.alloc(0)
  // Node skips what is no base64, and bits that fill no byte.
  if (bytes.toString('base64url') !== token) return undefined
  const tag = bytes.subarray(0, TAG_BYTES)
  const payload = bytes.subarray(TAG_BYTES)
  if (tag.length < TAG_BYTES || !timingSafeEqual(tag, tagOf(app, list, payload))) return undefined
  // By its tag it is what this server wrote for this list.
  return JSON.parse(payload.toString()) as Key
}

function tagOf(app: App, list: ListIdentity, payload: Buffer): Buffer {
  return createHmac('sha256', app.keys.derive('page-tokens'))
    .update(JSON.stringify([list.method, list.parent, list.filter]))
    .update(payload)
    .digest()
    .subarray(0, TAG_BYTES)
}
