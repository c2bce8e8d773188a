import { ResultCache } from '../../../concurrency/result-cache.ts'
import type { RawCommit, Signature } from '../../../git/objects/raw-objects.ts'
import type { Signer } from '../../../git/objects/signers.ts'
import { findSigningKeys } from '../../../storage/accounts/gpg-keys.ts'
import { findPublicKeyOwners } from '../../../storage/accounts/public-keys.ts'
import type { User } from '../../../storage/schema/accounts.ts'
import {
  isOpenPgpSignatureOf,
  type OpenPgpCertificate,
  type OpenPgpSignature,
  openCertificate,
  readOpenPgpSignature,
} from '../../accounts/keys/openpgp-signatures.ts'
import {
  isSshSignatureOf,
  readSshSignature,
  type SshSignature,
} from '../../accounts/keys/ssh-signatures.ts'
import { instanceAddress, maySeeOwner, userAsOwner } from '../../accounts/users/owners.ts'
import { emailKey } from '../../accounts/users/user-fields.ts'
import type { Caller } from '../../core/access.ts'
import type { ReposApp, SignatureChecks } from '../ports.ts'
import { findAccounts } from './commit-authors.ts'
import { GIT_NAMESPACE } from './commit-signing.ts'

/** What is known about the signature of a commit or tag. */
export interface Verification {
  readonly verified: boolean
  /** Why not, by a word of compatible systems; who with which key, if it is verified. */
  readonly reason: string
  readonly signature: Signature | undefined
  /** Who signed, if it is verified and whoever asks may know of the account. */
  readonly signer:
    | { readonly name: string; readonly email: string; readonly username: string }
    | undefined
}

/** A commit or tag, and who is responsible for it. */
export interface SignedObject {
  readonly id: string
  readonly signature: Signature | undefined
  readonly committer: Signer | undefined
}

/** A hundred bytes each; a check takes up to a tenth of a second. */
const MAX_KEPT_CHECKS = 10_000

/**
 * How the instance is called where it signed. Its signature shows that it made the commit itself,
 * because somebody asked for it who may do that: a merge, or files changed over the API. Who that
 * was, and whether they are whom the commit names, it does not show, so it is taken for nobody's
 * own: neither for the committer's, nor for that of an account which claims to have the instance's
 * key.
 */
const INSTANCE_NAME = 'Branchline'

/** How far the clocks of those who sign may run ahead. */
const MAX_CLOCK_SKEW_MS = 5 * 60 * 1000

/** Makes a place for the results of checks. */
export function createSignatureChecks(): SignatureChecks {
  return new ResultCache<boolean>(MAX_KEPT_CHECKS)
}

/**
 * What there is to say to a caller about the signatures of some commits or tags, in their order. It
 * is what can be said today: it follows the keys and the addresses of accounts. Of queries it takes
 * four, and one for each private account among the signers.
 *
 * A signature is verified by a key of the account that the committer's address belongs to, or by
 * that of the instance. Of an account that the caller may not know of nothing is told but what the
 * object says itself.
 */
export async function verifyObjects(
  app: ReposApp,
  caller: Caller,
  objects: readonly SignedObject[],
): Promise<Verification[]> {
  const judge = await prepareJudge(app, objects)
  const verifications: Verification[] = []
  const visible = new Map<number, boolean>()
  for (const object of objects) {
    const judgement = await judge(object)
    const { account } = judgement
    if (account && !visible.has(account.id)) {
      visible.set(account.id, await maySeeOwner(app, caller, userAsOwner(account)))
    }
    verifications.push(
      tell(app, object, judgement, account !== undefined && visible.get(account.id) === true),
    )
  }
  return verifications
}

/** The same for one commit or tag. */
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
 * The first of some commits whose signature is missing, or known to be neither the instance's nor
 * that of an active account. What an archived account signed stays signed by it, but it vouches for
 * nothing new.
 *
 * @returns its id; undefined when there is none.
 */
export async function findUnverified(
  app: ReposApp,
  commits: readonly RawCommit[],
): Promise<string | undefined> {
  const judge = await prepareJudge(app, commits)
  for (const commit of commits) {
    const { key, account, isByInstance } = await judge(commit)
    if (key === undefined || !(isByInstance || account?.state === 'NORMAL')) return commit.id
  }
  return undefined
}

/** What is found out about a signature, for nobody in particular. */
interface Judgement {
  /**
   * The account of the committer, if the signature can be read at all and is not by the instance.
   */
  readonly account?: User
  readonly isByInstance?: boolean
  /** Id or fingerprint of the key that it is verified by. */
  readonly key?: string
  /** Why it is not verified, by a word of compatible systems. */
  readonly problem?: string
}

const NOT_SIGNED: Judgement = { problem: 'gpg.error.not_signed_commit' }
const UNREADABLE: Judgement = { problem: 'gpg.error.extract_sign' }
const NO_ACCOUNT = 'gpg.error.no_committer_account'
const NO_KEY = 'gpg.error.no_gpg_keys_found'
const WRONG = 'gpg.error.probable_bad_signature'

/** A signature that could be read. */
type ReadSignature =
  | ({ readonly kind: 'ssh' } & SshSignature)
  | ({ readonly kind: 'openpgp' } & OpenPgpSignature)

/** Looks up all that judging some objects takes. */
async function prepareJudge(
  app: ReposApp,
  objects: readonly SignedObject[],
): Promise<(object: SignedObject) => Promise<Judgement>> {
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

/** An OpenPGP key that is an account's. */
interface AccountKey {
  readonly id: number
  /** Reads it, once, when it is needed. */
  readonly open: () => Promise<OpenPgpCertificate>
}

interface Keys {
  /** The numbers of accounts by fingerprint. */
  readonly ssh: ReadonlyMap<string, number>
  /** By number of the account and id of the key or subkey. */
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
 * Whether a key is proven to be an account's, or names its address. That was the account's when the
 * key was added; it may not be now.
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

/** @returns undefined where there is no key to check it by. */
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

/** @returns undefined where there is no key to check it by. */
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

/** @param isVisible whether there is an account that the one who is told may know of. */
function tell(
  app: ReposApp,
  { signature, committer }: SignedObject,
  { account, isByInstance, key, problem = '' }: Judgement,
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
