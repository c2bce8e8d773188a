import { createPrivateKey, createPublicKey } from 'node:crypto'
import type { SignCommit } from '../../../platform/git/objects/commit-content.ts'
import { type NewCommit, storeCommit } from '../../../platform/git/objects/object-writes.ts'
import type { RawCommit } from '../../../platform/git/objects/raw-objects.ts'
import { writeStrings } from '../../../platform/ssh/ssh-signatures.ts'
import { fingerprintOf, signAsSsh } from '../../accounts/keys/ssh-keys.ts'
import type { InstanceKeys } from '../../accounts/ports.ts'
import type { CommitSigning, ReposApp } from '../ports.ts'

/** Returns the signer of commits by the server; undefined if signing is disabled. */
export function commitSigner({ settings, commitSigning }: ReposApp): SignCommit | undefined {
  return settings.signing ? commitSigning.sign : undefined
}

/**
 * Stores a commit that the server creates for a user. The instance signs it if signing is enabled.
 */
export function createServerCommit(
  app: ReposApp,
  repositoryId: number,
  commit: NewCommit,
): Promise<RawCommit> {
  return storeCommit(app.git, repositoryId, commit, commitSigner(app))
}

/** Does the same as `createServerCommit`, and returns the id. */
export async function storeServerCommit(
  app: ReposApp,
  repositoryId: number,
  commit: NewCommit,
): Promise<string> {
  return (await createServerCommit(app, repositoryId, commit)).id
}

/** The namespace of Git's SSH signatures (gpg-interface.c of Git). */
export const GIT_NAMESPACE = 'git'

const KEY_TYPE = 'ssh-ed25519'

/** The comment of the public key. */
const COMMENT = 'branchline'

/** The prefix of the 32 bytes of an Ed25519 private key in PKCS #8 (RFC 8410, section 7). */
const PKCS8_HEAD = Buffer.from('302e020100300506032b657004220420', 'hex')

/**
 * Creates the signing key of the instance. The key is derived from the instance secret, so it
 * exists from the first start, is part of a backup, and is stored nowhere else.
 */
export function createCommitSigning(keys: InstanceKeys): CommitSigning {
  const der = Buffer.concat([PKCS8_HEAD, keys.derive('commit-signing')])
  const privateKey = createPrivateKey({ key: der, format: 'der', type: 'pkcs8' })
  const { x = '' } = createPublicKey(privateKey).export({ format: 'jwk' })
  const publicKey = writeStrings([Buffer.from(KEY_TYPE), Buffer.from(x, 'base64url')])
  return {
    line: `${KEY_TYPE} ${publicKey.toString('base64')} ${COMMENT}`,
    fingerprint: fingerprintOf(publicKey),
    sign: (payload) => signAsSsh(privateKey, publicKey, GIT_NAMESPACE, payload),
  }
}
