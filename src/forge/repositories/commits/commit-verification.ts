import { ResultCache } from '../../../platform/concurrency/result-cache.ts'
import type { RawCommit, Signature } from '../../../platform/git/objects/raw-objects.ts'
import type { Signer } from '../../../platform/git/objects/signers.ts'
import { findSigningKeys } from '../../accounts/keys/gpg-keys.rows.ts'
import {
  isOpenPgpSignatureOf,
  type OpenPgpCertificate,
  type OpenPgpSignature,
  openCertificate,
  readOpenPgpSignature,
} from '../../accounts/keys/openpgp.ts'
import { findPublicKeyOwners } from '../../accounts/keys/public-keys.rows.ts'
import {
  isSshSignatureOf,
  readSshSignature,
  type SshSignature,
} from '../../accounts/keys/ssh-keys.ts'
import { instanceAddress, maySeeOwner, userAsOwner } from '../../accounts/users/owners.ts'
import { emailKey } from '../../accounts/users/user-fields.ts'
import type { Caller } from '../../core/access.ts'
import type { User } from '../../core/schema.ts'
import type { ReposApp, SignatureChecks } from '../ports.ts'
import { findAccounts } from './commit-authors.ts'
import { GIT_NAMESPACE } from './server-commits.ts'

/** The result of verifying the signature of a commit or tag. */
export interface Verification {
  readonly verified: boolean
  /**
   * The signer and the key if the signature is verified, else the reason in the terms of compatible
   * systems.
   */
  readonly reason: string
  readonly signature: Signature | undefined
  /** The signer, if the signature is verified and the caller can see the account. */
  readonly signer:
    | { readonly name: string; readonly email: string; readonly username: string }
    | undefined
}

/** A commit or tag, with its signature and committer. */
interface SignedObject {
  readonly id: string
  readonly signature: Signature | undefined
  readonly committer: Signer | undefined
}

/** The number of cached results of a hundred bytes each. A check takes up to 100 ms. */
const MAX_CACHED_CHECKS = 10_000

/**
 * The signer of commits that the server creates for a merge or a change over the API. The signature
 * proves that the server created the commit for an authorised user. It does not prove who that user
 * was, so it counts for no account, not even for one that claims the key of the instance.
 */
const INSTANCE_NAME = 'Branchline'

/** The tolerated clock skew of signers. */
const MAX_CLOCK_SKEW_MS = 5 * 60 * 1000

/** Creates the cache of signature checks. */
export function createSignatureChecks(): SignatureChecks {
  return new ResultCache<boolean>(MAX_CACHED_CHECKS)
}

/**
 * Verifies the signatures of commits or tags for a caller, in their order. The result reflects the
 * present keys and addresses of accounts. It takes four queries, and one for each private account
 * among the signers.
 *
 * A signature is verified by a key of the account with the committer's address, or by the key of
 * the instance. For an account that the caller cannot see, the result contains only what the object
 * itself says.
 */
export async function verifyObjects(
  app: ReposApp,
  caller: Caller,
  objects: readonly SignedObject[],
): Promise<Verification[]> {
  const check = await prepareCheck(app, objects)
  const verifications: Verification[] = []
  const visible = new Map<number, boolean>()
  for (const object of objects) {
    const checked = await check(object)
    const { account } = checked
    if (account && !visible.has(account.id)) {
      visible.set(account.id, await maySeeOwner(app, caller, userAsOwner(account)))
    }
    verifications.push(
      viewFor(app, object, checked, account !== undefined && visible.get(account.id) === true),
    )
  }
  return verifications
}

/** Verifies the signature of one commit or tag for a caller. */
export async function verifyObject(
  app: ReposApp,
  caller: Caller,
  object: SignedObject,
): Promise<Verification> {
  const [verification] = await verifyObjects(app, caller, [object])
  if (!verification) throw new Error('one object has one verification')
  return verification
}

/**
 * Returns the first commit whose signature is neither the instance's nor that of an active account.
 * The signature of an archived account does not count for new commits.
 *
 * @returns the id of the commit; undefined if all signatures are verified
 */
export async function findUnverified(
  app: ReposApp,
  commits: readonly RawCommit[],
): Promise<string | undefined> {
  const check = await prepareCheck(app, commits)
  for (const commit of commits) {
    const { key, account, isByInstance } = await check(commit)
    if (key === undefined || !(isByInstance || account?.state === 'NORMAL')) return commit.id
  }
  return undefined
}

/** The result of checking a signature, before the visibility of the signer. */
interface CheckedSignature {
  /** The account of the committer, if the signature is readable and not by the instance. */
  readonly account?: User
  readonly isByInstance?: boolean
  /** Id or fingerprint of the key of a verified signature. */
  readonly key?: string
  /** Why the signature is not verified, in the terms of compatible systems. */
  readonly problem?: string
}

const NOT_SIGNED: CheckedSignature = { problem: 'gpg.error.not_signed_commit' }
const UNREADABLE: CheckedSignature = { problem: 'gpg.error.extract_sign' }
const NO_ACCOUNT = 'gpg.error.no_committer_account'
const NO_KEY = 'gpg.error.no_gpg_keys_found'
const WRONG = 'gpg.error.probable_bad_signature'

/** A readable signature. */
type ReadSignature =
  | ({ readonly kind: 'ssh' } & SshSignature)
  | ({ readonly kind: 'openpgp' } & OpenPgpSignature)

/** Looks up the accounts and keys that checking some objects needs. */
async function prepareCheck(
  app: ReposApp,
  objects: readonly SignedObject[],
): Promise<(object: SignedObject) => Promise<CheckedSignature>> {
  const signatures = new Map<Signature, ReadSignature>()
  const emails = new Set<string>()
  for (const { signature, committer } of objects) {
    const read = signature && (await readSignature(signature))
    if (!read) continue
    signatures.set(signature, read)
    emails.add(committer?.email ?? '')
  }
  const accounts = await findAccounts(app, emails)
  const keys = await findKeys(app, [...accounts.values()], [...signatures.values()])
  return async ({ id, signature, committer }) => {
    if (!signature) return NOT_SIGNED
    const read = signatures.get(signature)
    if (!read) return UNREADABLE
    if (read.kind === 'ssh' && read.fingerprint === app.commitSigning.fingerprint) {
      const isGood = await checkSsh(app, id, read, signature.payload, true)
      return { isByInstance: true, ...(isGood ? { key: read.fingerprint } : { problem: WRONG }) }
    }
    const account = committer && accounts.get(committer.email)
    if (!account) return { problem: NO_ACCOUNT }
    const isGood =
      read.kind === 'ssh'
        ? await checkSsh(
            app,
            id,
            read,
            signature.payload,
            keys.ssh.get(read.fingerprint) === account.id,
          )
        : await checkOpenPgp(
            app,
            id,
            read,
            signature.payload,
            keys.openPgp.get(`${account.id} ${read.keyId}`),
          )
    if (isGood === undefined) return { account, problem: NO_KEY }
    return isGood
      ? { account, key: read.kind === 'ssh' ? read.fingerprint : read.keyId }
      : { account, problem: WRONG }
  }
}

async function readSignature({ signature }: Signature): Promise<ReadSignature | undefined> {
  const ssh = readSshSignature(signature)
  if (ssh) return { kind: 'ssh', ...ssh }
  const openPgp = await readOpenPgpSignature(signature)
  return openPgp && { kind: 'openpgp', ...openPgp }
}

/** The OpenPGP key of an account. */
interface AccountKey {
  readonly id: number
  /** Parses the key on the first call. */
  readonly open: () => Promise<OpenPgpCertificate>
}

interface Keys {
  /** The account ids by fingerprint. */
  readonly ssh: ReadonlyMap<string, number>
  /** By account id and id of the key or subkey. */
  readonly openPgp: ReadonlyMap<string, AccountKey>
}

async function findKeys(
  app: ReposApp,
  accounts: readonly User[],
  signatures: readonly ReadSignature[],
): Promise<Keys> {
  const fingerprints = signatures.flatMap((read) => (read.kind === 'ssh' ? read.fingerprint : []))
  const keyIds = signatures.flatMap((read) => (read.kind === 'openpgp' ? read.keyId : []))
  const byId = new Map(accounts.map((account) => [account.id, account]))
  const openPgp = new Map<string, AccountKey>()
  for (const key of await findSigningKeys(app.db, [...byId.keys()], [...new Set(keyIds)])) {
    const place = `${key.user_id} ${key.key_id}`
    const account = byId.get(key.user_id)
    if (!account || openPgp.has(place) || !isKeyOf(account, key)) continue
    let opened: Promise<OpenPgpCertificate> | undefined
    openPgp.set(place, {
      id: key.id,
      open: () => {
        opened ??= openCertificate(key.certificate)
        return opened
      },
    })
  }
  return { ssh: await findPublicKeyOwners(app.db, [...new Set(fingerprints)]), openPgp }
}

/**
 * Returns whether an account has proven to own a key, or the key names the present address of the
 * account.
 */
function isKeyOf(
  account: User,
  { verified, emails }: { readonly verified: number; readonly emails: string },
): boolean {
  if (verified === 1) return true
  const named: string[] = JSON.parse(emails)
  return (
    account.email_by_token === 0 && named.some((email) => emailKey(email) === account.email_key)
  )
}

/** @returns undefined without a key */
async function checkSsh(
  app: ReposApp,
  id: string,
  signature: SshSignature,
  payload: Buffer,
  isKnown: boolean,
): Promise<boolean | undefined> {
  if (!isKnown) return undefined
  const question = `${id} ${signature.fingerprint}`
  return app.signatureChecks.get(question, () =>
    isSshSignatureOf(signature, GIT_NAMESPACE, payload),
  )
}

/** @returns undefined without a key */
async function checkOpenPgp(
  app: ReposApp,
  id: string,
  signature: OpenPgpSignature,
  payload: Buffer,
  key: AccountKey | undefined,
): Promise<boolean | undefined> {
  if (!key) return undefined
  const now = app.clock.now()
  if (signature.createTime > now + MAX_CLOCK_SKEW_MS || signature.expireTime <= now) return false
  const question = `${id} ${signature.keyId} ${key.id}`
  return app.signatureChecks.get(question, () =>
    isOpenPgpSignatureOf(signature, key.open(), payload),
  )
}

/**
 * Returns the verification that a caller sees.
 *
 * @param isVisible whether there is an account that the caller can see
 */
function viewFor(
  app: ReposApp,
  { signature, committer }: SignedObject,
  { account, isByInstance, key, problem = '' }: CheckedSignature,
  isVisible: boolean,
): Verification {
  if (key === undefined) {
    const reason = account && !isVisible ? NO_ACCOUNT : problem
    return { verified: false, reason, signature, signer: undefined }
  }
  if (isByInstance) {
    const signer = { name: INSTANCE_NAME, email: instanceAddress(app), username: '' }
    return { verified: true, reason: `${INSTANCE_NAME} / ${key}`, signature, signer }
  }
  const { name = '', email = '' } = committer ?? {}
  if (!account || !isVisible)
    return { verified: true, reason: `${name} / ${key}`, signature, signer: undefined }
  const { username, display_name } = account
  const signer = { name: display_name || username, email, username }
  return { verified: true, reason: `${username} / ${key}`, signature, signer }
}
