import { create } from '@bufbuild/protobuf'
import type { ServiceImpl } from '@connectrpc/connect'
import type { UserService } from '#gen/branchline/v1/user_service_pb.ts'
import {
  type UserSetting,
  UserSetting_GeneralSettingSchema,
  UserSettingSchema,
} from '#gen/branchline/v1/user_setting_pb.ts'
import type { App } from '../../app.ts'
import { DomainError } from '../../core/errors.ts'
import type { User } from '../../core/schema.ts'
import { ownerOf } from '../../core/wire/call.ts'
import {
  type ListIdentity,
  readPageSize,
  readPageToken,
  writePageToken,
} from '../../core/wire/lists.ts'
import { readUpdateMask, type UpdatableFields } from '../../core/wire/masks.ts'
import { invalidName, parseOwnedName, userName } from '../../core/wire/names.ts'
import { userWebhookMessages } from '../../webhooks/registration/account-webhooks.service.ts'
import {
  DEFAULT_LOCALE,
  getUserSettings,
  type Preferences,
  type UserSettingField,
  updateUserSettings,
} from './user-settings.ts'

/** Groups of settings in the order of lists. */
const KEYS = ['GENERAL', 'WEBHOOKS'] as const
type Key = (typeof KEYS)[number]

const GENERAL_FIELDS: readonly UserSettingField[] = [
  'locale',
  'memo_visibility',
  'theme',
  'keep_email_private',
  'email_notifications',
]

/** The message field that contains the settings. Mask paths may start with it or omit it. */
const GENERAL_MEMBER = 'general_setting'

const MASK_PATHS: UpdatableFields<string> = {
  mutable: [
    ...GENERAL_FIELDS,
    GENERAL_MEMBER,
    ...GENERAL_FIELDS.map((field) => `${GENERAL_MEMBER}.${field}`),
  ],
  fixed: ['name'],
}

type Methods = Pick<
  ServiceImpl<typeof UserService>,
  'listUserSettings' | 'getUserSetting' | 'updateUserSetting'
>

/** Implements the methods of UserService about settings. */
export function userSettingMethods(app: App): Methods {
  return {
    async listUserSettings({ pageSize, pageToken }, context) {
      const owner = ownerOf(context)
      const list: ListIdentity = {
        method: 'ListUserSettings',
        parent: String(owner.id),
        filter: '',
      }
      const limit = readPageSize(app.settings, pageSize)
      const [start = 0] = readPageToken(app, list, pageToken) ?? []
      const keys = KEYS.slice(start, start + limit)
      const end = start + keys.length
      return {
        settings: await Promise.all(keys.map((key) => settingMessage(app, owner, key))),
        nextPageToken: end < KEYS.length ? writePageToken(app, list, [end]) : '',
        totalSize: KEYS.length,
      }
    },

    getUserSetting({ name }, context) {
      return settingMessage(app, ownerOf(context), parseKey(name))
    },

    async updateUserSetting({ setting, updateMask }, context) {
      const { name = '', value } = setting ?? {}
      if (parseKey(name) !== 'GENERAL') throw new DomainError('SETTING_NOT_UPDATABLE', { name })
      if (value?.case !== 'generalSetting')
        throw new DomainError('INVALID_FIELD', { field: 'setting.general_setting' })
      const { fields: paths, all } = readUpdateMask(updateMask, MASK_PATHS)
      const isWhole = all || paths.has(GENERAL_MEMBER)
      const named = GENERAL_FIELDS.filter((field) => {
        // A client that writes all settings but does not know these must not reveal an address, nor
        // start mails.
        if (isWhole && field === 'keep_email_private')
          return value.value.keepEmailPrivate !== undefined
        if (isWhole && field === 'email_notifications')
          return value.value.emailNotifications !== undefined
        return isWhole || paths.has(field) || paths.has(`${GENERAL_MEMBER}.${field}`)
      })
      const owner = ownerOf(context)
      const { locale, memoVisibility, theme, keepEmailPrivate = false } = value.value
      const { emailNotifications = '' } = value.value
      const texts = {
        locale,
        memo_visibility: memoVisibility,
        theme,
        keep_email_private: keepEmailPrivate,
        email_notifications: emailNotifications,
      }
      return generalMessage(owner, await updateUserSettings(app, owner, texts, new Set(named)))
    },
  }
}

/** @throws INVALID_NAME if the last segment of the name is not a key. */
function parseKey(name: string): Key {
  const { rest } = parseOwnedName(name)
  const key = KEYS.find((candidate) => rest === `settings/${candidate}`)
  if (!key) throw invalidName(name)
  return key
}

async function settingMessage(app: App, owner: User, key: Key): Promise<UserSetting> {
  if (key === 'GENERAL') return generalMessage(owner, await getUserSettings(app, owner))
  return create(UserSettingSchema, {
    name: settingName(owner, key),
    value: { case: 'webhooksSetting', value: { webhooks: await userWebhookMessages(app, owner) } },
  })
}

function generalMessage(owner: User, preferences: Preferences): UserSetting {
  const { locale, memo_visibility, theme, keep_email_private, email_notifications } = preferences
  const value = create(UserSetting_GeneralSettingSchema, {
    locale: locale || DEFAULT_LOCALE,
    memoVisibility: memo_visibility,
    theme,
    // Omitted for clients that do not know the fields.
    ...(keep_email_private && { keepEmailPrivate: true }),
    ...(email_notifications !== 'enabled' && { emailNotifications: email_notifications }),
  })
  return create(UserSettingSchema, {
    name: settingName(owner, 'GENERAL'),
    value: { case: 'generalSetting', value },
  })
}

function settingName(owner: User, key: Key): string {
  return `${userName(owner)}/settings/${key}`
}
