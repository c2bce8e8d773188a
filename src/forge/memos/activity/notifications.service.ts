import { create } from '@bufbuild/protobuf'
import type { ServiceImpl } from '@connectrpc/connect'
import {
  type UserNotification,
  UserNotification_Status,
  UserNotification_Type,
  UserNotificationSchema,
} from '#gen/branchline/v1/user_notification_pb.ts'
import type { UserService } from '#gen/branchline/v1/user_service_pb.ts'
import { userMessage, type Viewer } from '../../accounts/users/accounts.message.ts'
import type { App } from '../../app.ts'
import { DomainError } from '../../core/errors.ts'
import type { User } from '../../core/schema.ts'
import { callerOf, ownerOf } from '../../core/wire/call.ts'
import {
  type ListIdentity,
  readPageSize,
  readPageToken,
  writePageToken,
} from '../../core/wire/lists.ts'
import { readUpdateMask, type UpdatableFields } from '../../core/wire/masks.ts'
import { invalidName, parseOwnedName, userName } from '../../core/wire/names.ts'
import { atSecond } from '../../core/wire/times.ts'
import type { NotificationStatus } from '../schema.ts'
import {
  deleteNotification,
  findNotification,
  listNotifications,
  type NotificationView,
  readNotificationFilter,
  setNotificationStatus,
} from './notifications.ts'

const NOTIFICATION_FIELDS: UpdatableFields<'status'> = {
  mutable: ['status'],
  fixed: ['name', 'sender', 'create_time', 'type', 'memo_comment', 'memo_mention', 'sender_user'],
}

/**
 * The part of a notification's name after the receiver: a number that JavaScript represents
 * exactly.
 */
const NOTIFICATION_PATH = /^notifications\/([0-9]{1,15})$/

type Methods = Pick<
  ServiceImpl<typeof UserService>,
  'listUserNotifications' | 'updateUserNotification' | 'deleteUserNotification'
>

/** Returns the methods of UserService for notifications. */
export function notificationMethods(app: App): Methods {
  return {
    async listUserNotifications({ pageSize, pageToken, filter }, context) {
      const owner = ownerOf(context)
      const limit = readPageSize(app.settings, pageSize)
      const terms = await readNotificationFilter(app, filter)
      // The text of the filter rather than its terms, because `now` changes between two pages.
      const list: ListIdentity = {
        method: 'ListUserNotifications',
        parent: String(owner.id),
        filter: filter.trim(),
      }
      const [createTime, id] = readPageToken(app, list, pageToken) ?? []
      const after = createTime === undefined || id === undefined ? undefined : { createTime, id }
      const { notifications, next } = await listNotifications(app, owner, terms, after, limit)
      return {
        notifications: notifications.map((view) =>
          notificationMessage(app, owner, view, callerOf(context)),
        ),
        nextPageToken: next ? writePageToken(app, list, [next.createTime, next.id]) : '',
      }
    },

    async updateUserNotification({ notification, updateMask }, context) {
      if (!notification) throw new DomainError('INVALID_FIELD', { field: 'notification' })
      const owner = ownerOf(context)
      const { name } = notification
      const id = parseNumber(name)
      const present = await findNotification(app, owner, id)
      if (!present) throw notFound(name)
      const { fields } = readUpdateMask(updateMask, NOTIFICATION_FIELDS)
      const updated = fields.has('status')
        ? await setNotificationStatus(app, owner, id, statusOf(notification.status))
        : present
      if (!updated) throw notFound(name)
      return notificationMessage(app, owner, updated, callerOf(context))
    },

    async deleteUserNotification({ name }, context) {
      if (!(await deleteNotification(app, ownerOf(context), parseNumber(name))))
        throw notFound(name)
      return {}
    },
  }
}

/**
 * Returns a notification as its receiver sees it.
 *
 * @param viewer the receiver as a caller. The credential may limit the visible fields of the
 *   sender.
 */
export function notificationMessage(
  app: App,
  receiver: User,
  view: NotificationView,
  viewer: Viewer,
): UserNotification {
  const { notification, sender } = view
  return create(UserNotificationSchema, {
    name: `${userName(receiver)}/notifications/${notification.id}`,
    sender: userName(sender),
    senderUser: userMessage(app, sender, viewer),
    status: UserNotification_Status[notification.status],
    type: UserNotification_Type[notification.type],
    createTime: atSecond(notification.create_time),
    payload: payloadMessage(view),
  })
}

function payloadMessage({ notification, payload }: NotificationView) {
  if (!payload) return { case: undefined }
  const { memo, relatedMemo } = payload
  const value = {
    memo: `memos/${memo.uid}`,
    memoSnippet: memo.snippet,
    relatedMemo: relatedMemo ? `memos/${relatedMemo.uid}` : '',
    relatedMemoSnippet: relatedMemo?.snippet ?? '',
  }
  return notification.type === 'MEMO_COMMENT'
    ? ({ case: 'memoComment', value } as const)
    : ({ case: 'memoMention', value } as const)
}

function statusOf(status: UserNotification_Status): NotificationStatus {
  switch (status) {
    case UserNotification_Status.UNREAD:
      return 'UNREAD'
    case UserNotification_Status.ARCHIVED:
      return 'ARCHIVED'
    default:
      throw new DomainError('INVALID_FIELD', { field: 'notification.status' })
  }
}

function parseNumber(name: string): number {
  const [, digits] = NOTIFICATION_PATH.exec(parseOwnedName(name).rest) ?? []
  if (digits === undefined) throw invalidName(name)
  return Number(digits)
}

function notFound(name: string): DomainError {
  return new DomainError('NOTIFICATION_NOT_FOUND', { name })
}
