import { open, seal } from '../accounts/credentials/sealed-secrets.ts'
import type { UpstreamCredentials } from '../repositories/lifecycle/upstreams.ts'
import type { ReposApp } from '../repositories/ports.ts'

const PURPOSE = 'import-secrets'

/** What an import needs to read from the other server. */
export interface ImportSecrets {
  /** For the API; empty for none. */
  readonly token: string
  /** For Git. */
  readonly credentials: UpstreamCredentials | undefined
  /**
   * Address of the Git LFS, which may have credentials, empty for that of the repository; undefined if
   * no objects come along.
   */
  readonly lfs?: string | undefined
}

/** Encrypts secrets for storage; null for none. */
export function sealSecrets(app: ReposApp, secrets: ImportSecrets): Buffer | null {
  const { token, credentials, lfs } = secrets
  if (token === '' && !credentials && lfs === undefined) return null
  return seal(app, PURPOSE, Buffer.from(JSON.stringify(secrets)))
}

/** Decrypts secrets that `sealSecrets` has encrypted. */
export function openSecrets(app: ReposApp, sealed: Buffer | null): ImportSecrets {
  if (sealed === null) return { token: '', credentials: undefined }
  return JSON.parse(open(app, PURPOSE, sealed).toString()) as ImportSecrets
}
