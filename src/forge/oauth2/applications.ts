import { randomUUID } from 'node:crypto'
import { isForeignKeyViolation, transaction } from '../../platform/database/database.ts'
import { newTokenText, tokenHash } from '../accounts/credentials/token-texts.ts'
import type { AccountsApp } from '../accounts/ports.ts'
import { findOwnerById } from '../accounts/users/owners.rows.ts'
import { nowSeconds } from '../core/core.ts'
import { DomainError } from '../core/errors.ts'
import { hasInvisibleCharacters } from '../core/invisible-characters.ts'
import type { Page } from '../core/names.ts'
import * as rows from './applications.rows.ts'
import { cancelScheduledWork } from './grants.ts'
import { checkRedirectUris, redirectUrisOf } from './redirect-uris.ts'
import type { OAuth2Application } from './schema.ts'

// Callers check who may manage the applications of an owner.

export type { OAuth2Application }

/** The owner of applications: the id of a user or an organisation, or null for the instance. */
export type ApplicationOwner = rows.ApplicationOwner

/** The properties of an application that its owner sets. */
export interface ApplicationValues {
  readonly name: string
  readonly confidential: boolean
  readonly redirectUris: readonly string[]
}

/** An application with its new secret. */
interface ApplicationWithSecret {
  readonly application: OAuth2Application
  /** Empty for an application without one. It cannot be read again. */
  readonly secret: string
}

/** The prefix of client secrets. */
const SECRET_PREFIX = 'branchline_ocs_'

/** Maximum number of applications of one owner. */
const MAX_APPLICATIONS = 100

const MAX_NAME_CHARACTERS = 255

/** Returns a page of the applications of an owner, oldest first, and the number of all. */
export async function listApplications(
  app: AccountsApp,
  owner: ApplicationOwner,
  { offset, limit }: Page,
): Promise<{ applications: readonly OAuth2Application[]; total: number }> {
  return {
    applications: await rows.listApplications(app.db, owner, offset, limit),
    total: await rows.countApplications(app.db, owner),
  }
}

/** Returns an application of an owner. */
export async function getApplication(
  app: AccountsApp,
  owner: ApplicationOwner,
  id: bigint,
): Promise<OAuth2Application> {
  const application = await rows.findApplication(app.db, owner, Number(id))
  if (!application) throw notFound(id)
  return application
}

/** Returns the name of the user or organisation of an application; undefined for the instance. */
export async function ownerNameOf(
  app: AccountsApp,
  { owner_id }: OAuth2Application,
): Promise<string | undefined> {
  return owner_id === null ? undefined : (await findOwnerById(app.db, owner_id))?.name
}

/** Registers an application. */
export async function createApplication(
  app: AccountsApp,
  owner: ApplicationOwner,
  values: ApplicationValues,
): Promise<ApplicationWithSecret> {
  check(values)
  const secret = secretFor(values)
  const created = transaction(app.db, async (tx) => {
    if ((await rows.countApplications(tx, owner)) >= MAX_APPLICATIONS)
      throw new DomainError('TOO_MANY_OAUTH2_APPLICATIONS', { limit: String(MAX_APPLICATIONS) })
    return rows.insertApplication(tx, {
      client_id: randomUUID(),
      owner_id: owner,
      create_time: nowSeconds(app.clock),
      ...rowOf(values, secret),
    })
  })
  const application = await created.catch((error: unknown) => {
    if (isForeignKeyViolation(error)) throw new DomainError('USER_NOT_FOUND', { name: 'owner' })
    throw error
  })
  return { application, secret }
}

/** Changes properties of an application, and its secret. Tokens that it has stay valid. */
export async function editApplication(
  app: AccountsApp,
  owner: ApplicationOwner,
  id: bigint,
  changes: Partial<ApplicationValues>,
): Promise<ApplicationWithSecret> {
  return transaction(app.db, async (tx) => {
    const present = await rows.findApplication(tx, owner, Number(id))
    if (!present) throw notFound(id)
    const values = {
      name: present.name,
      confidential: present.confidential === 1,
      redirectUris: redirectUrisOf(present),
      ...changes,
    }
    check(values)
    const secret = secretFor(values)
    const application = await rows.updateApplication(tx, present.id, rowOf(values, secret))
    return { application, secret }
  })
}

/** Deletes an application. The tokens that users have granted to it end. */
export async function deleteApplication(
  app: AccountsApp,
  owner: ApplicationOwner,
  id: bigint,
): Promise<void> {
  const application = await getApplication(app, owner, id)
  await transaction(app.db, async (tx) => {
    await cancelScheduledWork(app, tx, { applicationId: application.id })
    await rows.deleteApplication(tx, application.id)
  })
  app.signals.scheduledMerges.notify()
}

function notFound(id: bigint): DomainError {
  return new DomainError('OAUTH2_APPLICATION_NOT_FOUND', { id: String(id) })
}

function check({ name, redirectUris }: ApplicationValues): void {
  const length = [...name].length
  if (name.trim() === '' || length > MAX_NAME_CHARACTERS || hasInvisibleCharacters(name))
    throw new DomainError('INVALID_FIELD', {
      field: 'name',
      max_length: String(MAX_NAME_CHARACTERS),
    })
  checkRedirectUris(redirectUris)
}

function secretFor({ confidential }: ApplicationValues): string {
  return confidential ? newTokenText(SECRET_PREFIX) : ''
}

function rowOf({ name, confidential, redirectUris }: ApplicationValues, secret: string) {
  return {
    name,
    confidential: confidential ? 1 : 0,
    secret_hash: secret === '' ? null : tokenHash(secret),
    redirect_uris: JSON.stringify(redirectUris),
  }
}
