import { transaction } from '../../../platform/database/database.ts'
import type { Db, Tx } from '../../../platform/database/schema.ts'
import { actsAsAdministrator, type SignedIn } from '../../core/access.ts'
import { nowSeconds } from '../../core/core.ts'
import { DomainError } from '../../core/errors.ts'
import type { User } from '../../core/schema.ts'
import type { AccountsApp } from '../ports.ts'
import type { UserChanges, UserSettings } from '../schema.ts'
import { checkLength, checkProfile, checkVisible } from './user-fields.ts'
import { findUserSettings, putUserSettings } from './user-settings.rows.ts'
import { updateUser } from './users.rows.ts'
import { requirePresent } from './users.ts'

/** Preferences of an account. */
export interface Preferences extends UserSettings {
  /**
   * Whether the server uses an address that accepts no mail for the account in commits that it
   * creates.
   */
  readonly keep_email_private: boolean
}

/** A field of the preferences. */
export type UserSettingField = keyof Preferences

/** Preferences in a request, which are unchecked texts. */
export interface WrittenPreferences extends Readonly<Record<keyof UserSettings, string>> {
  readonly keep_email_private: boolean
}

/** The language of accounts that have not chosen one, whose `locale` is empty. */
export const DEFAULT_LOCALE = 'en'

/** Values for accounts that have never stored a preference. */
const DEFAULTS: UserSettings = {
  locale: '',
  memo_visibility: 'PRIVATE',
  theme: '',
  email_notifications: 'enabled',
}

/**
 * Long enough for language tags in practice (RFC 5646 section 4.4.1), including POSIX spellings.
 */
const LOCALE = /^[A-Za-z0-9_-]{2,35}$/

const THEME = /^[A-Za-z0-9._-]{1,64}$/

/** Returns the preferences of an account. */
export async function getUserSettings(app: AccountsApp, user: User): Promise<Preferences> {
  const settings = (await findUserSettings(app.db, user.id)) ?? DEFAULTS
  return { ...settings, keep_email_private: user.keep_email_private === 1 }
}

/**
 * Changes preferences of an account. Either every field changes or none does. An empty text resets
 * a field to its default.
 *
 * @returns all preferences after the change.
 */
export async function updateUserSettings(
  app: AccountsApp,
  user: User,
  texts: WrittenPreferences,
  fields: ReadonlySet<UserSettingField>,
): Promise<Preferences> {
  const changes: Partial<UserSettings> = {
    ...(fields.has('locale') && { locale: readLocale(texts.locale) }),
    ...(fields.has('memo_visibility') && {
      memo_visibility: readVisibility(texts.memo_visibility),
    }),
    ...(fields.has('theme') && { theme: readTheme(texts.theme) }),
    ...(fields.has('email_notifications') && {
      email_notifications: readEmailNotifications(texts.email_notifications),
    }),
  }
  return transaction(app.db, async (tx) => {
    const present = await requirePresent(tx, user)
    const settings = await putUserSettings(tx, user.id, changes, DEFAULTS)
    if (!fields.has('keep_email_private'))
      return { ...settings, keep_email_private: present.keep_email_private === 1 }
    await updateUser(tx, user.id, { keep_email_private: texts.keep_email_private ? 1 : 0 })
    return { ...settings, keep_email_private: texts.keep_email_private }
  })
}

/**
 * Checks preferences that another change has beside its own.
 *
 * @throws INVALID_FIELD
 */
function readGeneralSettings({
  locale,
  theme,
}: {
  readonly locale: string | undefined
  readonly theme: string | undefined
}): Partial<UserSettings> {
  return {
    ...(locale !== undefined && { locale: readLocale(locale) }),
    ...(theme !== undefined && { theme: readTheme(theme) }),
  }
}

/** Stores preferences that were checked, and returns all of them. */
async function storeGeneralSettings(
  tx: Tx,
  user: User,
  changes: Partial<UserSettings>,
): Promise<Preferences> {
  const settings =
    Object.keys(changes).length === 0
      ? ((await findUserSettings(tx, user.id)) ?? DEFAULTS)
      : await putUserSettings(tx, user.id, changes, DEFAULTS)
  return { ...settings, keep_email_private: user.keep_email_private === 1 }
}

/** Returns the visibility of memos that an account creates without naming one. */
export async function defaultMemoVisibility(
  db: Db,
  userId: number,
): Promise<UserSettings['memo_visibility']> {
  return ((await findUserSettings(db, userId)) ?? DEFAULTS).memo_visibility
}

function readLocale(text: string): string {
  if (text === '') return DEFAULTS.locale
  if (!LOCALE.test(text)) throw invalid('locale')
  return text
}

function readVisibility(text: string): UserSettings['memo_visibility'] {
  switch (text) {
    case '':
      return DEFAULTS.memo_visibility
    case 'PRIVATE':
    case 'PROTECTED':
    case 'PUBLIC':
      return text
    default:
      throw invalid('memo_visibility')
  }
}

function readTheme(text: string): string {
  if (text === '') return DEFAULTS.theme
  if (!THEME.test(text)) throw invalid('theme')
  return text
}

function readEmailNotifications(text: string): UserSettings['email_notifications'] {
  switch (text) {
    case '':
      return DEFAULTS.email_notifications
    case 'enabled':
    case 'onmention':
    case 'disabled':
      return text
    default:
      throw invalid('email_notifications')
  }
}

function invalid(field: UserSettingField): DomainError {
  return new DomainError('INVALID_FIELD', { field: `setting.general_setting.${field}` })
}

/** Maximum numbers of characters, as for organisations. */
const MAX_CHARACTERS = { website: 255, location: 50 }

/** The settings of an account in the form of the forge. */
export interface AccountSettings {
  readonly user: User
  readonly preferences: Preferences
}

/** A change of settings. What is undefined stays as it is. */
interface AccountSettingsChange {
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
