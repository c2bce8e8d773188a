import { timingSafeEqual } from 'node:crypto'
import { findApplicationByClientId } from '../../storage/oauth2/applications.ts'
import type { OAuth2Application } from '../../storage/schema/oauth2.ts'
import { tokenHash } from '../accounts/credentials/token-texts.ts'
import type { AccountsApp } from '../accounts/ports.ts'
import { OAuth2Refusal } from './refusals.ts'

/** What a client sends to identify itself. */
export interface ClientCredentials {
  readonly clientId: string
  /** Empty if the client sends none. */
  readonly secret: string
}

/**
 * Returns the application that sends a request.
 *
 * A public application has no secret, so what it sends as one proves nothing and is ignored.
 *
 * @throws OAuth2Refusal invalid_client
 */
export async function authenticateClient(
  app: AccountsApp,
  { clientId, secret }: ClientCredentials,
): Promise<OAuth2Application> {
  const application = await findApplicationByClientId(app.db, clientId)
  const isAuthentic =
    application !== undefined &&
    (application.secret_hash === null || isEqual(application.secret_hash, tokenHash(secret)))
  if (!isAuthentic) throw new OAuth2Refusal('invalid_client', 'the client or its secret is wrong')
  return application
}

function isEqual(stored: string, sent: string): boolean {
  return stored.length === sent.length && timingSafeEqual(Buffer.from(stored), Buffer.from(sent))
}
