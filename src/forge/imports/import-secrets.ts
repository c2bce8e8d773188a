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
}

/** Encrypts secrets for storage; null for none. */
export function sealSecrets(app: ReposApp, secrets: ImportSecrets): Buffer | null {
  if (secrets.token === '' && !secrets.credentials) return null
  return seal(app, PURPOSE, Buffer.from(JSON.stringify(secrets)))
}

/** Decrypts secrets that `sealSecrets` has encrypted. */
export function openSecrets(app: ReposApp, sealed: Buffer | null): ImportSecrets {
  if (sealed === null) return { token: '', credentials: undefined }
  return JSON.parse(open(app, PURPOSE, sealed).toString()) as ImportSecrets
}
