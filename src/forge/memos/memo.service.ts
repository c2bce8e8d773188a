import { create, toJsonString } from '@bufbuild/protobuf'
import type { Timestamp } from '@bufbuild/protobuf/wkt'
import type { ServiceImpl } from '@connectrpc/connect'
import {
  type Memo as MemoMessage,
  type MemoRelation,
  MemoRelation_Type,
  MemoRelationSchema,
  MemoSchema,
  Visibility,
} from '#gen/branchline/v1/memo_pb.ts'
import { MemoService } from '#gen/branchline/v1/memo_service_pb.ts'
import { State } from '#gen/branchline/v1/state_pb.ts'
import type { App } from '../app.ts'
import { signedIn } from '../core/access.ts'
import { DomainError } from '../core/errors.ts'
import { callerOf } from '../core/wire/call.ts'
import { defineService } from '../core/wire/define-service.ts'
import {
  type ListIdentity,
  readPageSize,
  readPageToken,
  writePageToken,
} from '../core/wire/lists.ts'
import { readUpdateMask, type UpdatableFields } from '../core/wire/masks.ts'
import { invalidName, userName } from '../core/wire/names.ts'
import { atSecond } from '../core/wire/times.ts'
import { type MemoReader, readerOf } from './memo-access.ts'
import { listMemos, type MemoListing, type MemoPosition, readMemoOrder } from './memo-list.ts'
import { isMemoUid, type MemoDraft, type MemoField, type MemoValues } from './memo-values.ts'
import { type MemoView, readableSnippet } from './memo-view.ts'
import {
  createComment,
  createMemo,
  deleteMemo,
  getMemo,
  getWritableMemo,
  listMemoComments,
  type Memo,
  updateMemo,
} from './memos.ts'

const MEMO_FIELDS: UpdatableFields<MemoField> = {
  mutable: ['content', 'visibility', 'pinned', 'state', 'create_time', 'update_time'],
  fixed: ['name', 'creator', 'tags', 'relations', 'property', 'parent', 'snippet'],
}

/** The range of google.protobuf.Timestamp: the years 1 to 9999. */
const MIN_TIMESTAMP_S = -62_135_596_800n
const MAX_TIMESTAMP_S = 253_402_300_799n
const MAX_NANOS = 999_999_999

/** The request field that contains the memo, for errors. */
type Holder = 'memo' | 'comment'

/** Implements MemoService. */
export function memoService(app: App): ServiceImpl<typeof MemoService> {
  return {
    async createMemo({ memo, memoId }, context) {
      const caller = signedIn(callerOf(context))
      const view = await createMemo(app, caller, draftOf(memo, memoId, 'memo'))
      return memoMessage(view, readerOf(caller))
    },

    async listMemos({ pageSize, pageToken, state, orderBy, filter }, context) {
      const reader = readerOf(callerOf(context))
      const limit = readPageSize(app.settings, pageSize)
      const order = readMemoOrder(orderBy)
      const wanted = stateOf(state, 'state')
      // The text of the filter rather than its terms, because `now` changes between two pages.
      const selection = JSON.stringify([wanted, order, filter.trim()])
      const list: ListIdentity = { method: 'ListMemos', parent: '', filter: selection }
      const after = readPageToken<MemoPosition>(app, list, pageToken)
      return listMessage(
        app,
        list,
        await listMemos(app, reader, wanted, filter, { order, after, limit }),
        reader,
      )
    },

    async getMemo({ name }, context) {
      const reader = readerOf(callerOf(context))
      return memoMessage(await getMemo(app.db, reader, parseMemoName(name)), reader)
    },

    async updateMemo({ memo, updateMask }, context) {
      if (!memo) throw new DomainError('INVALID_FIELD', { field: 'memo' })
      const caller = signedIn(callerOf(context))
      const { uid } = await getWritableMemo(app.db, caller, parseMemoName(memo.name))
      const { fields, all } = readUpdateMask(updateMask, MEMO_FIELDS)
      const view = await updateMemo(app, caller, uid, {
        values: valuesOf(memo, 'memo'),
        fields,
        all,
      })
      return memoMessage(view, readerOf(caller))
    },

    async deleteMemo({ name }, context) {
      await deleteMemo(app, signedIn(callerOf(context)), parseMemoName(name))
      return {}
    },

    async createMemoComment({ name, comment, commentId }, context) {
      const caller = signedIn(callerOf(context))
      const view = await createComment(
        app,
        caller,
        parseMemoName(name),
        draftOf(comment, commentId, 'comment'),
      )
      return memoMessage(view, readerOf(caller))
    },

    async listMemoComments({ name, pageSize, pageToken, orderBy }, context) {
      const reader = readerOf(callerOf(context))
      const uid = parseMemoName(name)
      const limit = readPageSize(app.settings, pageSize)
      const order = readMemoOrder(orderBy)
      const list: ListIdentity = {
        method: 'ListMemoComments',
        parent: uid,
        filter: JSON.stringify(order),
      }
      const after = readPageToken<MemoPosition>(app, list, pageToken)
      return listMessage(
        app,
        list,
        await listMemoComments(app, reader, uid, { order, after, limit }),
        reader,
      )
    },
  }
}

/** Returns a memo as proto3 JSON, as its creator sees it. */
export function memoPayload(view: MemoView): string {
  return toJsonString(MemoSchema, memoMessage(view, { userId: view.creator.id, publicOnly: false }))
}

/** Returns a memo as a reader sees it. */
export function memoMessage(view: MemoView, reader: MemoReader): MemoMessage {
  const { memo, creator, tags, parent } = view
  // Equals the result of `create`, in a fraction of the time.
  const message: MemoMessage = {
    $typeName: 'branchline.v1.Memo',
    name: memoName(memo),
    state: State[memo.state],
    creator: userName(creator),
    createTime: atSecond(memo.create_time),
    updateTime: atSecond(memo.update_time),
    content: memo.content,
    visibility: Visibility[memo.visibility],
    tags: [...tags],
    pinned: memo.pinned === 1,
    relations: [],
    property: {
      $typeName: 'branchline.v1.Memo.Property',
      hasLink: memo.has_link === 1,
      hasTaskList: memo.has_task_list === 1,
      hasCode: memo.has_code === 1,
      hasIncompleteTasks: memo.has_incomplete_tasks === 1,
      title: memo.title,
    },
    snippet: memo.snippet,
  }
  if (parent) {
    message.parent = memoName(parent)
    message.relations = [relationTo(message.parent, view, reader)]
  }
  return message
}

function relationTo(parentName: string, view: MemoView, reader: MemoReader): MemoRelation {
  return create(MemoRelationSchema, {
    type: MemoRelation_Type.COMMENT,
    memo: { name: memoName(view.memo), snippet: view.memo.snippet },
    relatedMemo: { name: parentName, snippet: readableSnippet(view, reader) ?? '' },
  })
}

function listMessage(
  app: App,
  list: ListIdentity,
  { memos, next }: MemoListing,
  reader: MemoReader,
) {
  return {
    memos: memos.map((view) => memoMessage(view, reader)),
    nextPageToken: next ? writePageToken(app, list, next) : '',
  }
}

function memoName({ uid }: Pick<Memo, 'uid'>): string {
  return `memos/${uid}`
}

function parseMemoName(name: string): string {
  const uid = name.startsWith('memos/') ? name.slice('memos/'.length) : ''
  if (!isMemoUid(uid)) throw invalidName(name)
  return uid
}

function draftOf(memo: MemoMessage | undefined, uid: string, holder: Holder): MemoDraft {
  if (!memo) throw new DomainError('INVALID_FIELD', { field: holder })
  return { ...valuesOf(memo, holder), uid }
}

function valuesOf(memo: MemoMessage, holder: Holder): MemoValues {
  return {
    content: memo.content,
    visibility: visibilityOf(memo.visibility, `${holder}.visibility`),
    pinned: memo.pinned,
    state: stateOf(memo.state, `${holder}.state`),
    create_time: secondsOf(memo.createTime, `${holder}.create_time`),
    update_time: secondsOf(memo.updateTime, `${holder}.update_time`),
  }
}

function visibilityOf(visibility: Visibility, field: string): Memo['visibility'] | undefined {
  switch (visibility) {
    case Visibility.PRIVATE:
      return 'PRIVATE'
    case Visibility.PROTECTED:
      return 'PROTECTED'
    case Visibility.PUBLIC:
      return 'PUBLIC'
    case Visibility.VISIBILITY_UNSPECIFIED:
      return undefined
    default:
      throw new DomainError('INVALID_FIELD', { field })
  }
}

/** The default is NORMAL. */
function stateOf(state: State, field: string): Memo['state'] {
  switch (state) {
    case State.STATE_UNSPECIFIED:
    case State.NORMAL:
      return 'NORMAL'
    case State.ARCHIVED:
      return 'ARCHIVED'
    default:
      throw new DomainError('INVALID_FIELD', { field })
  }
}

/** Returns whole Unix seconds. Fractions are dropped. */
function secondsOf(timestamp: Timestamp | undefined, field: string): number | undefined {
  if (!timestamp) return undefined
  const { seconds, nanos } = timestamp
  if (seconds < MIN_TIMESTAMP_S || seconds > MAX_TIMESTAMP_S || nanos < 0 || nanos > MAX_NANOS) {
    throw new DomainError('INVALID_FIELD', { field })
  }
  return Number(seconds)
}

export const memos = defineService(MemoService, memoService)
