import type { ServiceImpl } from '@connectrpc/connect'
import type { AccountService } from '#gen/branchline/v1/account_service_pb.ts'
import type { App } from '../../app.ts'
import { signedIn } from '../../core/access.ts'
import { callerOf } from '../../core/wire/call.ts'
import {
  type AccountSettings,
  getAccountSettings,
  updateAccountSettings,
} from './account-settings.ts'

/** The methods of AccountService about settings. */
export type AccountSettingsMethods = Pick<
  ServiceImpl<typeof AccountService>,
  'getAccountSettings' | 'updateAccountSettings'
>

/** The name that clients of compatible systems know for the default theme. */
const DEFAULT_THEME = 'gitea-auto'

/** Implements the settings methods of AccountService. */
export function accountSettingsMethods(app: App): AccountSettingsMethods {
  return {
    async getAccountSettings(_, context) {
      return settingsMessage(await getAccountSettings(app, signedIn(callerOf(context))))
    },

    async updateAccountSettings(request, context) {
      const caller = signedIn(callerOf(context))
      const { fullName, website, location, description, language, theme, hideEmail } = request
      const texts = { fullName, website, location, description, language }
      const changes = { ...texts, theme: theme === DEFAULT_THEME ? '' : theme, hideEmail }
      return settingsMessage(await updateAccountSettings(app, caller, changes))
    },
  }
}

function settingsMessage({ user, preferences }: AccountSettings) {
  return {
    fullName: user.display_name,
    website: user.website,
    description: user.description,
    location: user.location,
    language: preferences.locale,
    theme: preferences.theme || DEFAULT_THEME,
    hideEmail: preferences.keep_email_private,
  }
}
