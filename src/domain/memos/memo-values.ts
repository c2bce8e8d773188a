import { randomInt } from 'node:crypto'
import type { RootedMemo } from '../../storage/memos/memos.ts'
import type { MemoChanges, NewMemo } from '../../storage/schema/memos.ts'
import type { AccountsApp } from '../accounts/ports.ts'
import { nowSeconds } from '../core/core.ts'
import { DomainError } from '../core/errors.ts'
import { analyzeMemo } from './content.ts'

/** What UpdateMemo may change. */
export type MemoField =
  | 'content'
  | 'visibility'
  | 'pinned'
  | 'state'
  | 'create_time'
  | 'update_time'

/** Values for a memo; those of fields that an update does not name are not looked at. */
export interface MemoValues {
  readonly content: string
  /** Undefined when the request leaves it out. */
  readonly visibility: RootedMemo['visibility'] | undefined
  readonly pinned: boolean
  readonly state: RootedMemo['state']
  /** Unix seconds; undefined when the request leaves it out. */
  readonly create_time: number | undefined
  /** Unix seconds; undefined when the request leaves it out. */
  readonly update_time: number | undefined
}

/** A memo to make. */
export interface MemoDraft extends MemoValues {
  /** Last segment of its name; empty to have one made. */
  readonly uid: string
}

/** The field of a request that holds a memo. */
type Holder = 'memo' | 'comment'

/** What is stored of a draft, whoever makes it and wherever it goes. */
export type DraftColumns = Omit<NewMemo, 'creator_id' | 'parent_id' | 'root_id' | 'visibility'>

/** It stands in URLs and commands as it is, and a double click selects it whole. */
const UID = /^[A-Za-z0-9](?:[A-Za-z0-9-]{0,34}[A-Za-z0-9])?$/

const UID_ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

/** 131 random bits: no two are the same, and nobody guesses one. */
const UID_CHARACTERS = 22

/** Of an id that is refused, in the error. */
const MAX_ECHOED_CHARACTERS = 64

/** Whether a text can be the last segment of a memo's name. */
export function isMemoUid(text: string): boolean {
  return UID.test(text)
}

/**
 * Checks a draft, and reads what its content says.
 *
 * @throws INVALID_MEMO_ID, INVALID_FIELD
 */
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
 * Checks the values of an update, and reads what its content says.
 *
 * @param all whether the update was for every field rather than for named ones: then those that the
 *   request leaves out are passed over.
 * @returns the columns to write, as far as the fields reach, and the tags of the content if that is
 *   among them.
 * @throws INVALID_FIELD
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

/** The columns that follow from a content, and its tags. */
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
  // randomInt draws again instead of folding, so that every character is as likely as any other.
  return Array.from(
    { length: UID_CHARACTERS },
    () => UID_ALPHABET[randomInt(UID_ALPHABET.length)],
  ).join('')
}
