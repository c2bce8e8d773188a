import { randomInt } from 'node:crypto'
import type { AccountsApp } from '../accounts/ports.ts'
import { nowSeconds } from '../core/core.ts'
import { DomainError } from '../core/errors.ts'
import { analyzeMemo } from './content/content.ts'
import type { RootedMemo } from './memos.rows.ts'
import type { MemoChanges, NewMemo } from './schema.ts'

/** The fields that UpdateMemo can change. */
export type MemoField =
  | 'content'
  | 'visibility'
  | 'pinned'
  | 'state'
  | 'create_time'
  | 'update_time'

/** Values for a memo. An update ignores the values of fields that it does not name. */
export interface MemoValues {
  readonly content: string
  /** Undefined when the request does not set it. */
  readonly visibility: RootedMemo['visibility'] | undefined
  readonly pinned: boolean
  readonly state: RootedMemo['state']
  /** Unix seconds; undefined when the request does not set it. */
  readonly create_time: number | undefined
  /** Unix seconds; undefined when the request does not set it. */
  readonly update_time: number | undefined
}

/** A memo to create. */
export interface MemoDraft extends MemoValues {
  /** The last segment of the resource name. Empty for a generated one. */
  readonly uid: string
}

/** The request field that contains the memo, for errors. */
type Holder = 'memo' | 'comment'

/** The columns of a new memo that follow from its draft alone. */
type DraftColumns = Omit<NewMemo, 'creator_id' | 'parent_id' | 'root_id' | 'visibility'>

/** Needs no escaping in URLs and on command lines, and a double click selects all of it. */
const UID = /^[A-Za-z0-9](?:[A-Za-z0-9-]{0,34}[A-Za-z0-9])?$/

const UID_ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

/** 131 random bits: unique, and impossible to guess. */
const UID_CHARACTERS = 22

/** The maximum number of characters of an invalid id that an error repeats. */
const MAX_ECHOED_CHARACTERS = 64

/** Returns whether a text can be the last segment of a memo's resource name. */
export function isMemoUid(text: string): boolean {
  return UID.test(text)
}

/** Validates a draft and analyzes its content. */
export function readDraft(
  app: AccountsApp,
  draft: MemoDraft,
  holder: Holder,
): { readonly columns: DraftColumns; readonly tags: readonly string[] } {
  if (draft.uid !== '' && !isMemoUid(draft.uid)) {
    throw new DomainError('INVALID_MEMO_ID', { memo_id: draft.uid.slice(0, MAX_ECHOED_CHARACTERS) })
  }
  const { columns, tags } = readContent(app, draft.content, holder)
  const now = nowSeconds(app.clock)
  return {
    columns: {
      ...columns,
      uid: draft.uid || newUid(),
      state: draft.state,
      pinned: Number(draft.pinned),
      create_time: draft.create_time ?? now,
      update_time: draft.update_time ?? now,
    },
    tags,
  }
}

/**
 * Validates the values of an update and analyzes the content.
 *
 * @param all whether the update has no field mask. Then fields without a value are not changed.
 * @returns the columns to write, and the tags of the content if the update changes the content.
 */
export function readValues(
  app: AccountsApp,
  values: MemoValues,
  fields: ReadonlySet<MemoField>,
  all: boolean,
): { readonly columns: MemoChanges; readonly tags: readonly string[] } {
  const missing = (['visibility', 'create_time', 'update_time'] as const).find(
    (field) => fields.has(field) && values[field] === undefined,
  )
  if (missing !== undefined && !all)
    throw new DomainError('INVALID_FIELD', { field: `memo.${missing}` })
  const { visibility, create_time, update_time } = values
  const { columns, tags } = fields.has('content')
    ? readContent(app, values.content, 'memo')
    : { columns: {}, tags: [] }
  return {
    columns: {
      ...columns,
      ...(fields.has('visibility') && visibility !== undefined && { visibility }),
      ...(fields.has('create_time') && create_time !== undefined && { create_time }),
      ...(fields.has('update_time') && update_time !== undefined && { update_time }),
      ...(fields.has('pinned') && { pinned: Number(values.pinned) }),
      ...(fields.has('state') && { state: values.state }),
    },
    tags,
  }
}

/** Returns the columns that follow from a content, and its tags. */
function readContent(app: AccountsApp, content: string, holder: Holder) {
  const maxBytes = app.settings.memoContentBytes
  if (Buffer.byteLength(content) > maxBytes) {
    throw new DomainError('INVALID_FIELD', {
      field: `${holder}.content`,
      max_bytes: String(maxBytes),
    })
  }
  const { tags, title, snippet, hasLink, hasCode, hasTaskList, hasIncompleteTasks } =
    analyzeMemo(content)
  const columns = {
    content,
    title,
    snippet,
    has_link: Number(hasLink),
    has_code: Number(hasCode),
    has_task_list: Number(hasTaskList),
    has_incomplete_tasks: Number(hasIncompleteTasks),
  }
  return { columns, tags }
}

function newUid(): string {
  // `randomInt` has no modulo bias, so all characters are equally likely.
  return Array.from(
    { length: UID_CHARACTERS },
    () => UID_ALPHABET[randomInt(UID_ALPHABET.length)],
  ).join('')
}
