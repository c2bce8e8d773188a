import type { Signer } from '../../git/commits.ts'
import type { Signature } from '../../git/raw-objects.ts'

/** What is known about the signature of a commit or tag. */
export interface Verification {
  readonly verified: boolean
  /** Why not, by a word of compatible systems; who with which key, if it is verified. */
  readonly reason: string
  readonly signature: Signature | undefined
  /** Who signed, if it is verified. */
  readonly signer: { readonly name: string; readonly email: string; readonly username: string } | undefined
}

/** A commit or tag, and who is responsible for it. */
export interface SignedObject {
  readonly signature: Signature | undefined
  readonly committer: Signer | undefined
}

/** What there is to say about the signature of a commit or tag: no key is known to the forge by which one could be verified. */
export function verifyCommit({ signature }: SignedObject): Verification {
  const reason = signature ? 'gpg.error.no_gpg_keys_found' : 'gpg.error.not_signed_commit'
  return { verified: false, reason, signature, signer: undefined }
}
