import { timingSafeEqual } from 'node:crypto'
import { tokenHash } from '../accounts/credentials/token-texts.ts'
import type { AccountsApp } from '../accounts/ports.ts'
import { findApplicationByClientId } from './applications.rows.ts'
import { OAuth2Refusal } from './refusals.ts'
import type { OAuth2Application } from './schema.ts'

/** Credentials of a client. */
export interface ClientCredentials {
  readonly clientId: string
  /** Empty if the client sends none. */
  readonly secret: string
}

/** Visible ASCII. Text with NUL would be an error of the database. */
const CLIENT_ID = /^[!-~]{1,64}$/

/** Returns the application with a client id; undefined if there is none. */
export async function findClient(
  app: AccountsApp,
  clientId: string,
): Promise<OAuth2Application | undefined> {
  return CLIENT_ID.test(clientId) ? findApplicationByClientId(app.db, clientId) : undefined
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
  const application = await findClient(app, clientId)
  const isAuthentic =
    application !== undefined &&
    (application.secret_hash === null || isEqual(application.secret_hash, tokenHash(secret)))
  if (!isAuthentic) throw new OAuth2Refusal('invalid_client', 'the client or its secret is wrong')
  return application
}

function isEqual(stored: string, sent: string): boolean {
  return stored.length === sent.length && timingSafeEqual(Buffer.from(stored), Buffer.from(sent))
}
