import { type Condition, readFilter } from '../../../platform/filters/conditions.ts'
import { choiceField, type FilterSchema } from '../../../platform/filters/schema.ts'
import type { AccountsApp } from '../../accounts/ports.ts'
import { accountField } from '../../accounts/users/account-field.ts'
import { findUserIdsByNameKeys } from '../../accounts/users/users.rows.ts'
import { nowSeconds } from '../../core/core.ts'
import type { NotificationStatus, NotificationType } from '../schema.ts'
import type { NotificationTerm } from './notifications.rows.ts'

/** A term of the filter, with the sender by name. */
type WrittenTerm =
  | Exclude<NotificationTerm, { kind: 'sender' }>
  | { readonly kind: 'sender'; readonly keys: readonly string[] }

const STATUSES: readonly NotificationStatus[] = ['UNREAD', 'ARCHIVED']
const TYPES: readonly NotificationType[] = ['MEMO_COMMENT', 'MEMO_MENTION']

const NOTIFICATION_FILTER: FilterSchema<WrittenTerm> = {
  logic: ['and'],
  fields: {
    status: choiceField(STATUSES, ['=', '!='], (among) => ({ kind: 'status', among })),
    type: choiceField(TYPES, ['=', '!='], (among) => ({ kind: 'type', among })),
    sender: accountField(['='], (keys) => ({ kind: 'sender', keys })),
    create_time: {
      type: 'time',
      term: (operator, seconds) => ({ kind: 'create_time', operator, seconds }),
    },
  },
}

/**
 * Parses the filter of ListUserNotifications, as the proto file describes it. A sender that does
 * not exist matches no notification.
 *
 * @returns the terms that a notification must meet, all of them; empty for a blank filter.
 * @throws INVALID_FILTER
 */
export async function readNotificationFilter(
  app: AccountsApp,
  filter: string,
): Promise<NotificationTerm[]> {
  const condition = readFilter(filter, NOTIFICATION_FILTER, nowSeconds(app.clock))
  const written = condition ? conjuncts(condition) : []
  const ids = await findUserIdsByNameKeys(
    app.db,
    written.flatMap((term) => (term.kind === 'sender' ? term.keys : [])),
  )
  return written.map((term) => {
    if (term.kind !== 'sender') return term
    return { kind: 'sender', ids: term.keys.flatMap((key) => ids.get(key) ?? []) }
  })
}

/** Returns the terms of a condition without `or`, and complements negated terms. */
function conjuncts(condition: Condition<WrittenTerm>): WrittenTerm[] {
  if (condition.kind === 'term') return [condition.term]
  if (condition.kind === 'not') return conjuncts(condition.condition).map(complement)
  return condition.conditions.flatMap(conjuncts)
}

function complement(term: WrittenTerm): WrittenTerm {
  switch (term.kind) {
    case 'status':
      return { kind: 'status', among: STATUSES.filter((status) => !term.among.includes(status)) }
    case 'type':
      return { kind: 'type', among: TYPES.filter((type) => !term.among.includes(type)) }
    default:
      throw new Error(`a filter of notifications cannot negate ${term.kind}`)
  }
}
