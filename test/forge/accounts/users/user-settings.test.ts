import { beforeEach, describe, expect, it } from 'vitest'
import {
  defaultMemoVisibility,
  getUserSettings,
  type UserSettingField,
  updateUserSettings,
  type WrittenPreferences,
} from '../../../../src/forge/accounts/users/user-settings.ts'
import { deleteUser } from '../../../../src/forge/accounts/users/users.rows.ts'
import type { User } from '../../../../src/forge/core/schema.ts'
import { transaction } from '../../../../src/platform/database/database.ts'
import { addUser, type TestApp, testApp } from '../../../support/app.ts'

const DEFAULTS = {
  locale: '',
  memo_visibility: 'PRIVATE',
  theme: '',
  keep_email_private: false,
  email_notifications: 'enabled',
}

let app: TestApp
let ada: User

beforeEach(async () => {
  app = await testApp()
  ada = await addUser(app, 'ada')
})

function put(
  texts: Partial<WrittenPreferences>,
  fields = Object.keys(texts) as UserSettingField[],
) {
  const blank = {
    locale: '',
    memo_visibility: '',
    theme: '',
    keep_email_private: false,
    email_notifications: '',
  }
  return updateUserSettings(app, ada, { ...blank, ...texts }, new Set(fields))
}

describe('settings', () => {
  it('have defaults, and storing one does not change the others', async () => {
    expect(await getUserSettings(app, ada)).toEqual(DEFAULTS)
    expect(await put({ theme: 'midnight' })).toEqual({ ...DEFAULTS, theme: 'midnight' })
    expect(await put({ locale: 'fr' })).toEqual({ ...DEFAULTS, locale: 'fr', theme: 'midnight' })
    expect(await getUserSettings(app, ada)).toEqual({
      ...DEFAULTS,
      locale: 'fr',
      theme: 'midnight',
    })
    expect(await getUserSettings(app, await addUser(app, 'bob'))).toEqual(DEFAULTS)
  })

  it('ignore fields that are not named, and reset to the default if empty', async () => {
    await put({ locale: 'fr', memo_visibility: 'PUBLIC', theme: 'midnight' })
    expect(await put({ locale: '!', theme: 'noon' }, ['theme'])).toMatchObject({
      locale: 'fr',
      theme: 'noon',
    })
    expect(await put({ locale: '', memo_visibility: '', theme: '' })).toEqual(DEFAULTS)
  })

  it.each<[UserSettingField, string[]]>([
    ['locale', ['en', 'pt-BR', 'zh_Hant_TW', 'x'.repeat(35)]],
    ['memo_visibility', ['PRIVATE', 'PROTECTED', 'PUBLIC']],
    ['theme', ['a', 'solarized.dark-2_x', 'x'.repeat(64)]],
  ])('accept for %s: %j', async (field, texts) => {
    for (const text of texts) expect(await put({ [field]: text })).toMatchObject({ [field]: text })
  })

  it.each<[UserSettingField, string[]]>([
    ['locale', ['e', 'x'.repeat(36), 'en GB', 'en/', 'fr\n', 'é́']],
    ['memo_visibility', ['private', 'SECRET', ' PUBLIC', 'VISIBILITY_UNSPECIFIED', '1']],
    ['theme', ['../evil', 'a b', 'x'.repeat(65), 'a\n', '<']],
  ])('refuse for %s: %j', async (field, texts) => {
    for (const text of texts) {
      await expect(put({ theme: 'ok', locale: 'de', [field]: text })).rejects.toMatchObject({
        reason: 'INVALID_FIELD',
        metadata: { field: `setting.general_setting.${field}` },
      })
    }
    expect(await getUserSettings(app, ada)).toEqual(DEFAULTS)
  })

  it('keep concurrent changes of different fields', async () => {
    await Promise.all([
      put({ locale: 'fr' }),
      put({ theme: 'midnight' }),
      put({ memo_visibility: 'PUBLIC' }),
    ])
    expect(await getUserSettings(app, ada)).toEqual({
      ...DEFAULTS,
      locale: 'fr',
      memo_visibility: 'PUBLIC',
      theme: 'midnight',
    })
  })

  it('are deleted with their account', async () => {
    await put({ locale: 'fr' })
    await transaction(app.db, (tx) => deleteUser(tx, ada.id))
    expect(await app.db.selectFrom('user_settings').selectAll().execute()).toEqual([])
    await expect(put({ locale: 'fr' })).rejects.toMatchObject({ reason: 'USER_NOT_FOUND' })
  })
})

describe('defaultMemoVisibility', () => {
  it('returns PRIVATE, or the choice of the account', async () => {
    expect(await defaultMemoVisibility(app.db, ada.id)).toBe('PRIVATE')
    await put({ memo_visibility: 'PROTECTED' })
    expect(await defaultMemoVisibility(app.db, ada.id)).toBe('PROTECTED')
  })
})
