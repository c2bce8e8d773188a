import { create } from '@bufbuild/protobuf'
import type { ServiceImpl } from '@connectrpc/connect'
import {
  type ListSubscribersResponse,
  ListSubscribersResponseSchema,
  type ListSubscriptionsResponse,
  ListSubscriptionsResponseSchema,
  type Subscription,
  SubscriptionSchema,
  SubscriptionService,
} from '#gen/branchline/v1/subscription_service_pb.ts'
import { userAccountMessage } from '../accounts/users/accounts.message.ts'
import type { NumberedUserPage } from '../accounts/users/owners.ts'
import type { App } from '../app.ts'
import {
  checkConversationSubscription,
  listConversationSubscribers,
  setConversationSubscription,
} from '../conversations/subscriptions.ts'
import { type Caller, signedIn } from '../core/access.ts'
import { callerOf, restStatusKey } from '../core/wire/call.ts'
import { defineService } from '../core/wire/define-service.ts'
import { readNumberedPage } from '../core/wire/pages.ts'
import { atSecond } from '../core/wire/times.ts'
import {
  deleteRepositorySubscription,
  getRepositorySubscription,
  listMySubscriptions,
  listSubscriptionsOf,
  listWatchers,
  type SubscriptionView,
  setRepositorySubscription,
} from '../repositories/activity/subscriptions.ts'
import { repositoryMessages } from '../repositories/lifecycle/repository.message.ts'
import type { RepositoryPage } from '../repositories/lifecycle/repository-views.ts'

type SubscriptionMethods = ServiceImpl<typeof SubscriptionService>

/** Implements SubscriptionService. */
function subscriptionService(app: App): SubscriptionMethods {
  return { ...repositoryMethods(app), ...listMethods(app), ...pullMethods(app) }
}

function repositoryMethods(
  app: App,
): Pick<
  SubscriptionMethods,
  'getRepositorySubscription' | 'setRepositorySubscription' | 'deleteRepositorySubscription'
> {
  return {
    async getRepositorySubscription({ owner, repo }, context) {
      const caller = signedIn(callerOf(context))
      return subscriptionMessage(app, await getRepositorySubscription(app, caller, { owner, repo }))
    },

    async setRepositorySubscription({ owner, repo, ignored }, context) {
      const caller = signedIn(callerOf(context))
      const mode = ignored ? 'IGNORED' : 'WATCHING'
      return subscriptionMessage(
        app,
        await setRepositorySubscription(app, caller, { owner, repo }, mode),
      )
    },

    async deleteRepositorySubscription({ owner, repo }, context) {
      await deleteRepositorySubscription(app, signedIn(callerOf(context)), { owner, repo })
      return {}
    },
  }
}

function listMethods(
  app: App,
): Pick<
  SubscriptionMethods,
  'listRepositorySubscribers' | 'listMySubscriptions' | 'listUserSubscriptions'
> {
  return {
    async listRepositorySubscribers({ owner, repo, ...request }, context) {
      const caller = callerOf(context)
      const page = readNumberedPage(app.settings, request)
      const found = await listWatchers(app, caller, { owner, repo }, page)
      return subscribersMessage(app, caller, found, page.limit)
    },

    async listMySubscriptions(request, context) {
      const caller = signedIn(callerOf(context))
      const page = readNumberedPage(app.settings, request)
      const found = await listMySubscriptions(app, caller, page)
      return subscriptionsMessage(app, caller, found, page.limit)
    },

    async listUserSubscriptions({ username, ...request }, context) {
      const caller = callerOf(context)
      const page = readNumberedPage(app.settings, request)
      const found = await listSubscriptionsOf(app, caller, username, page)
      return subscriptionsMessage(app, caller, found, page.limit)
    },
  }
}

function pullMethods(
  app: App,
): Pick<
  SubscriptionMethods,
  | 'listIssueSubscribers'
  | 'checkIssueSubscription'
  | 'addIssueSubscription'
  | 'deleteIssueSubscription'
> {
  return {
    async listIssueSubscribers({ owner, repo, index, ...request }, context) {
      const caller = callerOf(context)
      const page = readNumberedPage(app.settings, request)
      const name = { owner, repo, number: Number(index) }
      const found = await listConversationSubscribers(app, caller, name, page)
      return subscribersMessage(app, caller, found, page.limit)
    },

    async checkIssueSubscription({ owner, repo, index }, context) {
      const caller = signedIn(callerOf(context))
      const name = { owner, repo, number: Number(index) }
      const { isTold, conversation, ...open } = await checkConversationSubscription(
        app,
        caller,
        name,
      )
      const url = repositoryUrl(app, open)
      return create(SubscriptionSchema, {
        subscribed: isTold,
        ignored: !isTold,
        createdAt: atSecond(conversation.create_time),
        url: `${url}/issues/${conversation.number}/subscriptions`,
        repositoryUrl: url,
      })
    },

    async addIssueSubscription({ owner, repo, index, user }, context) {
      const caller = signedIn(callerOf(context))
      const name = { owner, repo, number: Number(index) }
      const changed = await setConversationSubscription(app, caller, name, user, true)
      if (!changed) context.values.set(restStatusKey, 200)
      return { changed }
    },

    async deleteIssueSubscription({ owner, repo, index, user }, context) {
      const caller = signedIn(callerOf(context))
      const name = { owner, repo, number: Number(index) }
      const changed = await setConversationSubscription(app, caller, name, user, false)
      if (!changed) context.values.set(restStatusKey, 200)
      return { changed }
    },
  }
}

function subscriptionMessage(app: App, view: SubscriptionView): Subscription {
  const { mode, create_time } = view.subscription
  const url = repositoryUrl(app, view)
  return create(SubscriptionSchema, {
    subscribed: mode === 'WATCHING',
    ignored: mode === 'IGNORED',
    createdAt: atSecond(create_time),
    url: `${url}/subscription`,
    repositoryUrl: url,
  })
}

function repositoryUrl(
  app: App,
  { owner, repository }: Pick<SubscriptionView, 'owner' | 'repository'>,
): string {
  return `${app.publicUrl()}/api/v1/repos/${owner.name}/${repository.name}`
}

function subscribersMessage(
  app: App,
  viewer: Caller,
  { users, total }: NumberedUserPage,
  limit: number,
): ListSubscribersResponse {
  const subscribers = users.map((user) => userAccountMessage(app, viewer, user))
  return create(ListSubscribersResponseSchema, { subscribers, total: BigInt(total), limit })
}

function subscriptionsMessage(
  app: App,
  viewer: Caller,
  { repositories, total }: RepositoryPage,
  limit: number,
): ListSubscriptionsResponse {
  return create(ListSubscriptionsResponseSchema, {
    repositories: repositoryMessages(app, viewer, repositories),
    total: BigInt(total),
    limit,
  })
}

export const subscriptions = defineService(SubscriptionService, subscriptionService)
