import { AccountService } from '#gen/branchline/v1/account_service_pb.ts'
import { defineService } from '../../forge/core/wire/define-service.ts'
import { accountSettingsMethods } from './account-settings.ts'
import { accountMethods } from './accounts.ts'
import { blockMethods } from './blocks.ts'

export const account = defineService(AccountService, (app) => ({
  ...accountMethods(app),
  ...accountSettingsMethods(app),
  ...blockMethods(app),
}))
