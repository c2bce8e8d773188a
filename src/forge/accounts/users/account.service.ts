import { AccountService } from '#gen/branchline/v1/account_service_pb.ts'
import { defineService } from '../../core/wire/define-service.ts'
import { accountSettingsMethods } from './account-settings.service.ts'
import { accountMethods } from './accounts.service.ts'
import { blockMethods } from './blocks.service.ts'

export const account = defineService(AccountService, (app) => ({
  ...accountMethods(app),
  ...accountSettingsMethods(app),
  ...blockMethods(app),
}))
