import {
  findAccountOfPrincipals,
  findSshKey,
  identityOfSshKey,
  type SshIdentity,
} from '../../forge/accounts/keys/ssh-identities.ts'
import type { App } from '../../forge/app.ts'
import {
  allows,
  type Certificate,
  isSignedByAuthority,
  readCertificate,
} from '../../platform/ssh/certificates.ts'
import { fingerprintOf } from '../../platform/ssh/public-key-lines.ts'
import { type RevokedKeys, serialEntry } from '../../platform/ssh/revoked-keys.ts'
import type { KeyReference, KnownKey } from '../../platform/ssh/ssh-messages.ts'
import type { UserAuthorities } from '../../platform/ssh/user-authorities.ts'

/** The files of the operator. Undefined where there is none. */
export interface IdentityFiles {
  readonly revoked: RevokedKeys | undefined
  readonly authorities: UserAuthorities | undefined
}

/** Finds whom keys and certificates act for. Rows and files are read each time. */
export class SshIdentities {
  readonly #app: App
  readonly #files: IdentityFiles

  constructor(app: App, files: IdentityFiles) {
    this.#app = app
    this.#files = files
  }

  /** Returns a key that a client may sign in by. */
  async findKey(fingerprint: string): Promise<KnownKey | undefined> {
    const isRevoked = await this.#isRevoked([fingerprint])
    const found = isRevoked ? undefined : await findSshKey(this.#app, fingerprint)
    return found && { reference: { keyId: found.id }, holder: found.holder }
  }

  /** Returns the row of a key that a client may sign in by. */
  async findRow(fingerprint: string): Promise<number | undefined> {
    const known = await this.findKey(fingerprint)
    return known && 'keyId' in known.reference ? known.reference.keyId : undefined
  }

  /**
   * Returns a certificate that a client may sign in by.
   *
   * @param certificate in base64.
   * @param address of the client.
   */
  async findCertificate(certificate: string, address: string): Promise<KnownKey | undefined> {
    const reference = { certificate }
    const identity = await this.of(reference, address)
    return identity?.kind === 'account'
      ? { reference, holder: `account ${identity.user.id}` }
      : undefined
  }

  /**
   * Returns whom a key or a certificate acts for now; undefined for one that may not sign in any
   * more.
   *
   * @param address of the client.
   * @param atMs when a certificate must be valid: now, or at the start of a command.
   */
  async of(
    reference: KeyReference,
    address: string,
    atMs = this.#app.clock.now(),
  ): Promise<SshIdentity | undefined> {
    if ('certificate' in reference) return this.#ofCertificate(reference.certificate, address, atMs)
    const identity = await identityOfSshKey(this.#app, reference.keyId)
    return identity && (await this.#isRevoked([identity.fingerprint])) ? undefined : identity
  }

  async #ofCertificate(
    text: string,
    address: string,
    atMs: number,
  ): Promise<SshIdentity | undefined> {
    const blob = Buffer.from(text, 'base64')
    const certificate = readCertificate(blob)
    if (!certificate || !(await this.#isTrusted(certificate, blob))) return undefined
    if (!allows(certificate, atMs, address)) return undefined
    const user = await findAccountOfPrincipals(this.#app, certificate.principals)
    return (
      user && {
        kind: 'account',
        user,
        title: certificate.keyId,
        readOnly: false,
        keyId: undefined,
        fingerprint: fingerprintOf(certificate.key),
        certificate: {
          serial: String(certificate.serial),
          authority: fingerprintOf(certificate.authority),
        },
      }
    )
  }

  async #isTrusted(certificate: Certificate, blob: Buffer): Promise<boolean> {
    const authority = fingerprintOf(certificate.authority)
    const authorities = await this.#files.authorities?.read()
    if (!authorities?.has(authority) || !(await isSignedByAuthority(certificate))) return false
    return !(await this.#isRevoked([
      authority,
      fingerprintOf(certificate.key),
      fingerprintOf(blob),
      serialEntry(certificate.serial),
    ]))
  }

  async #isRevoked(entries: readonly string[]): Promise<boolean> {
    const revoked = await this.#files.revoked?.read()
    return revoked !== undefined && entries.some((entry) => revoked.has(entry))
  }
}
