import { UserService } from '#gen/branchline/v1/user_service_pb.ts'
import { defineService } from '../forge/core/wire/define-service.ts'
import { linkedIdentityMethods } from './accounts/linked-identities.ts'
import { personalAccessTokenMethods } from './accounts/personal-access-tokens.ts'
import { userSettingMethods } from './accounts/user-settings.ts'
import { userWebhookMethods } from './accounts/user-webhooks.ts'
import { userMethods } from './accounts/users.ts'
import { notificationMethods } from './memos/notifications.ts'
import { userStatsMethods } from './memos/user-stats.ts'

export const users = defineService(UserService, (app) => ({
  ...userMethods(app),
  ...userStatsMethods(app),
  ...userSettingMethods(app),
  ...linkedIdentityMethods(app),
  ...personalAccessTokenMethods(app),
  ...userWebhookMethods(app),
  ...notificationMethods(app),
}))
