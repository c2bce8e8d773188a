import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import { findScheduler } from '../../accounts/credentials/delegated-tokens.ts'
import { identityOfSshKey } from '../../accounts/keys/ssh-identities.ts'
import type { Caller, Peer, SignedIn } from '../../core/access.ts'
import { scopesOf, tokenUuidOf } from '../../core/access.ts'
import { nowSeconds } from '../../core/core.ts'
import { Scopes } from '../../core/scopes.ts'
import type { ReposApp } from '../ports.ts'
import { LfsError } from './lfs-error.ts'

/**
 * Links: short-lived tokens that the answers to batches carry, so that an account with a second factor
 * is asked once. A link is valid for one repository and one operation, and each use reads the account,
 * the key or the token again.
 */

/** What a client of Git LFS does. */
export type LfsOperation = 'download' | 'upload'

/** An object: its SHA-256 in hexadecimal, and its size. */
export interface LfsObjectId {
  readonly oid: string
  readonly bytes: number
}

/** Whom a request acts for. */
export type LfsRequester =
  /** @param keyId row of the SSH key of an account. Undefined for other credentials. */
  | { readonly kind: 'caller'; readonly caller: Caller; readonly keyId?: number | undefined }
  | { readonly kind: 'deploy key'; readonly keyId: number; readonly peer: Peer }

/** A link. The names are short, since each object of a batch has one. */
interface Link {
  /** Id of the repository. */
  readonly r: number
  readonly o: LfsOperation
  /** Id of the account; undefined for a deploy key. */
  readonly u?: number | undefined
  /** UUID and scopes of the access token that the account used. */
  readonly t?: string | undefined
  readonly s?: string | undefined
  /** Row of the SSH key of the account, or of the deploy key. */
  readonly k?: number | undefined
  /** The branch that is pushed to, for accounts that may push to some branches only. */
  readonly h?: string | undefined
  /** The only object that may be uploaded: SHA-256 and size. */
  readonly i?: string | undefined
  readonly b?: number | undefined
  /** The name of an upload that the client sends to the store. */
  readonly d?: string | undefined
  /** Time of issue and of expiry in Unix seconds. */
  readonly c: number
  readonly x: number
  readonly n: string
}

/** A link that was accepted. */
export interface AcceptedLink {
  readonly repositoryId: number
  readonly operation: LfsOperation
  readonly object: LfsObjectId | undefined
  /** The name of an upload that the client sends to the store; undefined for others. */
  readonly uploadId: string | undefined
  readonly branch: string | undefined
  readonly requester: LfsRequester
}

/** What a link is for. */
export interface LfsLinkTarget {
  readonly repositoryId: number
  readonly operation: LfsOperation
  readonly branch?: string | undefined
  /** The name of an upload that the client sends to the store. */
  readonly uploadId?: string | undefined
}

/** The beginning of every link. */
export const LFS_LINK_PREFIX = 'branchline_lfs_'

const NONCE_BYTES = 6

/**
 * Creates a link. Undefined for somebody without an account, who may download without one.
 *
 * @param object the only object that the link may upload; undefined for a link that asks for batches.
 */
export function createLfsLink(
  app: ReposApp,
  requester: LfsRequester,
  target: LfsLinkTarget,
  object?: LfsObjectId,
): string | undefined {
  if (requester.kind === 'caller' && requester.caller.kind === 'anonymous') return undefined
  const now = nowSeconds(app.clock)
  const link: Link = {
    r: target.repositoryId,
    o: target.operation,
    h: target.branch,
    ...holderIn(requester),
    i: object?.oid,
    b: object?.bytes,
    d: target.uploadId,
    c: now,
    x: linkExpiry(app),
    n: randomBytes(NONCE_BYTES).toString('base64url'),
  }
  const payload = Buffer.from(JSON.stringify(link)).toString('base64url')
  return `${LFS_LINK_PREFIX}${payload}.${macOf(app, payload).toString('base64url')}`
}

/** Returns when a link that is created now expires, in Unix seconds. */
export function linkExpiry(app: ReposApp): number {
  return nowSeconds(app.clock) + Math.floor(app.settings.lfsLinkExpiryMs / 1000)
}

function holderIn(requester: LfsRequester): Pick<Link, 'u' | 't' | 's' | 'k'> {
  if (requester.kind === 'deploy key') return { k: requester.keyId }
  const { caller, keyId: k } = requester
  if (caller.kind === 'anonymous') return {}
  return { u: caller.user.id, t: tokenUuidOf(caller), s: scopesOf(caller)?.text, k }
}

/**
 * Reads a link, and whom it acts for now.
 *
 * @throws LfsError 403 for a link that is not valid any more. A 401 would make clients ask for a
 *   password.
 */
export async function readLfsLink(app: ReposApp, text: string, peer: Peer): Promise<AcceptedLink> {
  const link = linkIn(app, text)
  if (!link || link.x <= nowSeconds(app.clock)) throw refused()
  const { r: repositoryId, o: operation, h: branch, i: oid, b: bytes, d: uploadId } = link
  const object = oid === undefined || bytes === undefined ? undefined : { oid, bytes }
  const requester = await requesterOf(app, link, peer)
  return { repositoryId, operation, object, uploadId, branch, requester }
}

function linkIn(app: ReposApp, text: string): Link | undefined {
  const [payload = '', mac = ''] = text.slice(LFS_LINK_PREFIX.length).split('.')
  const [expected, given] = [macOf(app, payload), Buffer.from(mac, 'base64url')]
  if (given.length !== expected.length || !timingSafeEqual(given, expected)) return undefined
  return JSON.parse(Buffer.from(payload, 'base64url').toString()) as Link
}

async function requesterOf(app: ReposApp, { u, t, s, k }: Link, peer: Peer): Promise<LfsRequester> {
  const identity = k === undefined ? undefined : await identityOfSshKey(app, k)
  if (k !== undefined && !identity) throw refused()
  if (u === undefined) {
    if (identity?.kind !== 'deploy key') throw refused()
    return { kind: 'deploy key', keyId: identity.keyId, peer }
  }
  const user = await findScheduler(app, u, t ?? null)
  if (!user) throw refused()
  const withoutToken =
    k === undefined ? ({ kind: 'password' } as const) : ({ kind: 'ssh key', keyId: k } as const)
  const credential: SignedIn['credential'] =
    t === undefined ? withoutToken : { kind: 'token', uuid: t, scopes: Scopes.fromText(s ?? '') }
  return { kind: 'caller', caller: { kind: 'user', user, peer, credential }, keyId: k }
}

function refused(): LfsError {
  return new LfsError(403, 'the link is not valid or has expired')
}

function macOf({ keys }: ReposApp, payload: string): Buffer {
  return createHmac('sha256', keys.derive('lfs-links')).update(payload).digest()
}
