import { UserService } from '#gen/branchline/v1/user_service_pb.ts'
import { defineService } from '../../core/wire/define-service.ts'
import { notificationMethods } from '../../memos/activity/notifications.service.ts'
import { userStatsMethods } from '../../memos/activity/user-stats.service.ts'
import { userWebhookMethods } from '../../webhooks/registration/account-webhooks.service.ts'
import { personalAccessTokenMethods } from '../credentials/personal-access-tokens.service.ts'
import { linkedIdentityMethods } from '../sign-on/linked-identities.service.ts'
import { userSettingMethods } from './user-settings.service.ts'
import { userMethods } from './users.service.ts'

export const users = defineService(UserService, (app) => ({
  ...userMethods(app),
  ...userStatsMethods(app),
  ...userSettingMethods(app),
  ...linkedIdentityMethods(app),
  ...personalAccessTokenMethods(app),
  ...userWebhookMethods(app),
  ...notificationMethods(app),
}))
