import type { ServiceImpl } from '@connectrpc/connect'
import { QuotaGroupService } from '#gen/branchline/v1/quota_group_service_pb.ts'
import { accountMessage } from '../../accounts/users/accounts.message.ts'
import type { App } from '../../app.ts'
import { callerOf } from '../../core/wire/call.ts'
import { defineService } from '../../core/wire/define-service.ts'
import { readNumberedPage } from '../../core/wire/pages.ts'
import { quotaGroupMessage, quotaRuleMessage } from './quota.message.ts'
import * as groups from './quota-groups.ts'

/** Implements QuotaGroupService. */
function quotaGroupService(app: App): ServiceImpl<typeof QuotaGroupService> {
  return {
    ...ruleMethods(app),

    async adminListQuotaGroups() {
      const found = await groups.listGroups(app)
      return { groups: found.map((group) => quotaGroupMessage(group)) }
    },

    async adminCreateQuotaGroup({ name, rules }) {
      return quotaGroupMessage(await groups.createGroup(app, name, rules))
    },

    async adminGetQuotaGroup({ group }) {
      return quotaGroupMessage(await groups.getGroup(app, group))
    },

    async adminDeleteQuotaGroup({ group }) {
      await groups.deleteGroup(app, group)
      return {}
    },

    async adminAddQuotaGroupRule({ group, rule }) {
      await groups.addRuleToGroup(app, group, rule)
      return {}
    },

    async adminRemoveQuotaGroupRule({ group, rule }) {
      await groups.removeRuleFromGroup(app, group, rule)
      return {}
    },

    async adminListQuotaGroupUsers({ group, ...request }, context) {
      const page = readNumberedPage(app.settings, request)
      const { owners, total } = await groups.listGroupMembers(app, group, page)
      const users = owners.map((owner) => accountMessage(app, callerOf(context), owner))
      return { users, total: BigInt(total), limit: page.limit }
    },

    async adminAddQuotaGroupUser({ group, username }) {
      await groups.addGroupMember(app, group, username)
      return {}
    },

    async adminRemoveQuotaGroupUser({ group, username }) {
      await groups.removeGroupMember(app, group, username)
      return {}
    },

    async adminSetUserQuotaGroups({ username, groups: names }) {
      await groups.setGroupsOf(app, username, names)
      return {}
    },
  }
}

type RuleMethod = `admin${'Create' | 'Get' | 'Edit' | 'Delete'}QuotaRule` | 'adminListQuotaRules'

function ruleMethods(app: App): Pick<ServiceImpl<typeof QuotaGroupService>, RuleMethod> {
  return {
    async adminListQuotaRules() {
      return { rules: (await groups.listRules(app)).map((rule) => quotaRuleMessage(rule)) }
    },

    async adminCreateQuotaRule(draft) {
      return quotaRuleMessage(await groups.createRule(app, draft))
    },

    async adminGetQuotaRule({ rule }) {
      return quotaRuleMessage(await groups.getRule(app, rule))
    },

    async adminEditQuotaRule({ rule, ...changes }) {
      return quotaRuleMessage(await groups.editRule(app, rule, changes))
    },

    async adminDeleteQuotaRule({ rule }) {
      await groups.deleteRule(app, rule)
      return {}
    },
  }
}

export const quotaGroups = defineService(QuotaGroupService, quotaGroupService)
