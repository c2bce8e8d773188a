import type { Recent } from '../../git/repositories/recent.ts'
import type { Repositories } from '../../git/repositories/repositories.ts'
import type { AttachmentFiles } from '../../storage/repos/attachment-files.ts'
import type { AccountsApp } from '../accounts/ports.ts'

/** What repositories and pull requests work with. */
export interface ReposApp extends AccountsApp {
  readonly git: Repositories
  readonly attachments: AttachmentFiles
  readonly copies: CopyPlaces
  readonly signatureChecks: SignatureChecks
  readonly commitSigning: CommitSigning
}

/** Copies of repositories elsewhere that are being made because somebody waits for them. */
export interface CopyPlaces {
  /**
   * Takes a place for a copy.
   *
   * @returns what gives it back.
   * @throws TOO_MANY_COPIES
   */
  take(userId: number): () => void
}

/** The SSH key by which the instance signs the commits that it makes. */
export interface CommitSigning {
  /** The public key, as in a file that ends in `.pub`. */
  readonly line: string
  /** Of the public key, as `readSshKey` gives it. */
  readonly fingerprint: string
  /** Signs what a commit says. */
  sign(payload: Buffer): string
}

/**
 * Whether signatures are what they claim to be, by the ids of their objects and of keys. Neither
 * ever changes.
 */
export type SignatureChecks = Recent<boolean>
