import { create } from '@bufbuild/protobuf'
import type { Timestamp } from '@bufbuild/protobuf/wkt'
import type { ServiceImpl } from '@connectrpc/connect'
import {
  NotificationService,
  type NotificationSubject,
  NotificationSubjectSchema,
  type NotificationThread,
  NotificationThreadSchema,
} from '#gen/branchline/v1/notification_service_pb.ts'
import { type AccountMessages, accountMessages } from '../accounts/users/accounts.message.ts'
import type { App } from '../app.ts'
import { type Caller, signedIn } from '../core/access.ts'
import { DomainError } from '../core/errors.ts'
import type { RepositoryName } from '../core/names.ts'
import { callerOf } from '../core/wire/call.ts'
import { defineService } from '../core/wire/define-service.ts'
import { readNumberedPage } from '../core/wire/pages.ts'
import { atSecond } from '../core/wire/times.ts'
import { gitUrls, repositoryMessageWith } from '../repositories/lifecycle/repository.message.ts'
import {
  countUnread,
  getThread,
  listThreads,
  setAllStatuses,
  setStatus,
  type ThreadFilter,
  type ThreadStatus,
  type ThreadView,
} from './threads.ts'

/** Implements NotificationService. */
function notificationService(app: App): ServiceImpl<typeof NotificationService> {
  return {
    async listNotificationThreads(request, context) {
      const caller = signedIn(callerOf(context))
      const page = readNumberedPage(app.settings, request)
      const { threads, total } = await listThreads(app, caller, readList(request), page)
      return { threads: messages(app, caller, threads), total: BigInt(total), limit: page.limit }
    },

    async markNotificationThreads(request, context) {
      const caller = signedIn(callerOf(context))
      const status = readStatus(request.toStatus, 'READ')
      const changed = await setAllStatuses(app, caller, readMarking(request), status)
      return { threads: messages(app, caller, changed) }
    },

    async getNotificationCount(_, context) {
      return { new: BigInt(await countUnread(app, signedIn(callerOf(context)))) }
    },

    async getNotificationThread({ id }, context) {
      const caller = signedIn(callerOf(context))
      return threadMessage(
        app,
        await getThread(app, caller, Number(id)),
        accountMessages(app, caller),
      )
    },

    async markNotificationThread({ id, toStatus }, context) {
      const caller = signedIn(callerOf(context))
      const status = readStatus(toStatus, 'READ')
      const view = await setStatus(app, caller, Number(id), status)
      return threadMessage(app, view, accountMessages(app, caller))
    },

    async listRepositoryNotificationThreads({ owner, repo, ...request }, context) {
      const caller = signedIn(callerOf(context))
      const page = readNumberedPage(app.settings, request)
      const filter = readList(request, { owner, repo })
      const { threads, total } = await listThreads(app, caller, filter, page)
      return { threads: messages(app, caller, threads), total: BigInt(total), limit: page.limit }
    },

    async markRepositoryNotificationThreads({ owner, repo, ...request }, context) {
      const caller = signedIn(callerOf(context))
      const status = readStatus(request.toStatus, 'READ')
      const filter = readMarking(request, { owner, repo })
      return {
        threads: messages(app, caller, await setAllStatuses(app, caller, filter, status)),
      }
    },
  }
}

/** Filter of threads, as requests have it. */
interface ListRequest {
  readonly all: boolean
  readonly statusTypes: readonly string[]
  readonly subjectType: readonly string[]
  readonly since?: Timestamp | undefined
  readonly before?: Timestamp | undefined
}

function readList(request: ListRequest, repository?: RepositoryName): ThreadFilter {
  const { all, statusTypes, subjectType, since, before } = request
  return {
    repository,
    statuses: readStatuses(all, statusTypes, ['UNREAD', 'PINNED']),
    subjectTypes: subjectType.filter((type) => type !== ''),
    since: secondsOf(since),
    before: secondsOf(before),
  }
}

interface MarkRequest {
  readonly all: boolean
  readonly statusTypes: readonly string[]
  readonly lastReadAt?: Timestamp | undefined
}

function readMarking(
  { all, statusTypes, lastReadAt }: MarkRequest,
  repository?: RepositoryName,
): ThreadFilter {
  return {
    repository,
    statuses: readStatuses(all, statusTypes, ['UNREAD']),
    subjectTypes: [],
    before: secondsOf(lastReadAt),
  }
}

/** @returns undefined for all statuses. */
function readStatuses(
  all: boolean,
  texts: readonly string[],
  usual: readonly ThreadStatus[],
): readonly ThreadStatus[] | undefined {
  if (all) return undefined
  const named = texts.filter((text) => text !== '')
  if (named.length === 0) return usual
  return [...new Set(named.map((text) => readStatus(text)))]
}

const STATUSES: ReadonlyMap<string, ThreadStatus> = new Map([
  ['unread', 'UNREAD'],
  ['read', 'READ'],
  ['pinned', 'PINNED'],
])

/** @param usual for an empty text. */
function readStatus(text: string, usual?: ThreadStatus): ThreadStatus {
  const status = text === '' ? usual : STATUSES.get(text)
  if (!status)
    throw new DomainError('INVALID_FIELD', {
      field: usual === undefined ? 'status-types' : 'to-status',
    })
  return status
}

function secondsOf(time: Timestamp | undefined): number | undefined {
  return time && Number(time.seconds)
}

function messages(app: App, viewer: Caller, views: readonly ThreadView[]): NotificationThread[] {
  const ofAccount = accountMessages(app, viewer)
  return views.map((view) => threadMessage(app, view, ofAccount))
}

function threadMessage(app: App, view: ThreadView, ofAccount: AccountMessages): NotificationThread {
  const { thread, repository } = view
  return create(NotificationThreadSchema, {
    id: BigInt(thread.id),
    repository: repositoryMessageWith(app, repository, ofAccount),
    subject: subjectMessage(app, view),
    unread: thread.status === 'UNREAD',
    pinned: thread.status === 'PINNED',
    updatedAt: atSecond(thread.update_time),
    url: `${app.publicUrl()}/api/v1/notifications/threads/${thread.id}`,
    reason: thread.reason.toLowerCase(),
  })
}

function subjectMessage(
  app: App,
  { thread, repository, conversation }: ThreadView,
): NotificationSubject {
  const urls = gitUrls(app, repository)
  const { is_pull, number, title, state } = conversation
  const page = urls.html(`/${is_pull === 1 ? 'pulls' : 'issues'}/${number}`)
  const comment = thread.comment_id
  return create(NotificationSubjectSchema, {
    title,
    url: urls.api(`/issues/${number}`),
    latestCommentUrl: comment === null ? '' : urls.api(`/issues/comments/${comment}`),
    htmlUrl: page,
    latestCommentHtmlUrl: comment === null ? '' : `${page}#issuecomment-${comment}`,
    type: is_pull === 1 ? 'Pull' : 'Issue',
    state: state.toLowerCase(),
  })
}

export const notifications = defineService(NotificationService, notificationService)
