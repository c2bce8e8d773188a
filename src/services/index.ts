import type { ConnectRouter } from '@connectrpc/connect'
import { AuthService } from '#gen/branchline/v1/auth_service_pb.ts'
import { EventService } from '#gen/branchline/v1/event_service_pb.ts'
import { IdentityProviderService } from '#gen/branchline/v1/identity_provider_service_pb.ts'
import { MemoService } from '#gen/branchline/v1/memo_service_pb.ts'
import { RepositoryService } from '#gen/branchline/v1/repository_service_pb.ts'
import { TwoFactorService } from '#gen/branchline/v1/two_factor_service_pb.ts'
import { UserService } from '#gen/branchline/v1/user_service_pb.ts'
import type { App } from '../domain/app.ts'
import { authService } from './auth.ts'
import { eventService } from './events.ts'
import { identityProviderService } from './identity-providers.ts'
import { linkedIdentityMethods } from './linked-identities.ts'
import { memoService } from './memos.ts'
import { notificationMethods } from './notifications.ts'
import { personalAccessTokenMethods } from './personal-access-tokens.ts'
import { repositoryService } from './repositories.ts'
import { twoFactorService } from './two-factor.ts'
import { userSettingMethods } from './user-settings.ts'
import { userStatsMethods } from './user-stats.ts'
import { userWebhookMethods } from './user-webhooks.ts'
import { userMethods } from './users.ts'

/** Registers everything that this server implements. Every service is whole: a method that is missing does not compile. */
export function registerServices(router: ConnectRouter, app: App): void {
  router.service(AuthService, authService(app))
  router.service(EventService, eventService(app))
  router.service(IdentityProviderService, identityProviderService(app))
  router.service(MemoService, memoService(app))
  router.service(RepositoryService, repositoryService(app))
  router.service(TwoFactorService, twoFactorService(app))
  router.service(UserService, {
    ...userMethods(app),
    ...userStatsMethods(app),
    ...userSettingMethods(app),
    ...linkedIdentityMethods(app),
    ...personalAccessTokenMethods(app),
    ...userWebhookMethods(app),
    ...notificationMethods(app),
  })
}
