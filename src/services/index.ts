import type { ConnectRouter } from '@connectrpc/connect'
import { AuthService } from '#gen/branchline/v1/auth_service_pb.ts'
import { UserService } from '#gen/branchline/v1/user_service_pb.ts'
import type { App } from '../domain/app.ts'
import { authService } from './auth.ts'
import { personalAccessTokenMethods } from './personal-access-tokens.ts'
import { userMethods } from './users.ts'

/**
 * Registers everything that this server implements.
 *
 * Methods of UserService are registered one by one as long as some of them are declared but not built: registering the
 * whole service would answer for those too.
 */
export function registerServices(router: ConnectRouter, app: App): void {
  router.service(AuthService, authService(app))

  const { method } = UserService
  const users = userMethods(app)
  router.rpc(method.listUsers, users.listUsers)
  router.rpc(method.batchGetUsers, users.batchGetUsers)
  router.rpc(method.getUser, users.getUser)
  router.rpc(method.getUserAvatar, users.getUserAvatar)
  router.rpc(method.createUser, users.createUser)
  router.rpc(method.updateUser, users.updateUser)
  router.rpc(method.deleteUser, users.deleteUser)

  const tokens = personalAccessTokenMethods(app)
  router.rpc(method.listPersonalAccessTokens, tokens.listPersonalAccessTokens)
  router.rpc(method.createPersonalAccessToken, tokens.createPersonalAccessToken)
  router.rpc(method.deletePersonalAccessToken, tokens.deletePersonalAccessToken)
}
