import { transaction } from '../../../platform/database/database.ts'
import { actsAsAdministrator, type SignedIn } from '../../core/access.ts'
import { nowSeconds } from '../../core/core.ts'
import { DomainError } from '../../core/errors.ts'
import type { User } from '../../core/schema.ts'
import type { AccountsApp } from '../ports.ts'
import type { UserChanges } from '../schema.ts'
import { checkLength, checkProfile, checkVisible } from './user-fields.ts'
import {
  getUserSettings,
  type Preferences,
  readGeneralSettings,
  storeGeneralSettings,
} from './user-settings.ts'
import { updateUser } from './users.rows.ts'
import { requirePresent } from './users.ts'

/** Maximum numbers of characters, as for organisations. */
const MAX_CHARACTERS = { website: 255, location: 50 }

/** The settings of an account in the form of the forge. */
export interface AccountSettings {
  readonly user: User
  readonly preferences: Preferences
}

/** A change of settings. What is undefined stays as it is. */
export interface AccountSettingsChange {
  readonly fullName: string | undefined
  readonly website: string | undefined
  readonly location: string | undefined
  readonly description: string | undefined
  readonly language: string | undefined
  readonly theme: string | undefined
  readonly hideEmail: boolean | undefined
}

/** Returns the settings of the caller. */
export async function getAccountSettings(
  app: AccountsApp,
  { user }: SignedIn,
): Promise<AccountSettings> {
  return { user, preferences: await getUserSettings(app, user) }
}

/**
 * Changes settings of the caller. Either every one changes or none does.
 *
 * @throws INVALID_FIELD, DISPLAY_NAME_CHANGE_CLOSED, USER_NOT_FOUND
 */
export async function updateAccountSettings(
  app: AccountsApp,
  caller: SignedIn,
  change: AccountSettingsChange,
): Promise<AccountSettings> {
  const columns = readColumns(change)
  const settings = readGeneralSettings({ locale: change.language, theme: change.theme })
  return transaction(app.db, async (tx) => {
    const present = await requirePresent(tx, caller.user)
    const renames =
      columns.display_name !== undefined && columns.display_name !== present.display_name
    if (renames && !app.settings.displayNameChange && !actsAsAdministrator(caller, 'write'))
      throw new DomainError('DISPLAY_NAME_CHANGE_CLOSED')
    const user = await updateUser(tx, present.id, {
      ...columns,
      update_time: nowSeconds(app.clock),
    })
    return { user, preferences: await storeGeneralSettings(tx, user, settings) }
  })
}

/** @throws INVALID_FIELD */
function readColumns(change: AccountSettingsChange): UserChanges {
  const { fullName, website, location, description, hideEmail } = change
  checkVisible('website', website)
  for (const field of ['website', 'location'] as const)
    checkLength(field, change[field], MAX_CHARACTERS[field])
  return {
    ...checkProfile({
      ...(fullName !== undefined && { display_name: fullName }),
      ...(description !== undefined && { description }),
    }),
    ...(website !== undefined && { website }),
    ...(location !== undefined && { location }),
    ...(hideEmail !== undefined && { keep_email_private: hideEmail ? 1 : 0 }),
  }
}
