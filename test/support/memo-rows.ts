import type { App } from '../../src/forge/app.ts'
import { nowSeconds } from '../../src/forge/core/core.ts'
import type { User } from '../../src/forge/core/schema.ts'
import type { MemoView } from '../../src/forge/memos/memo-view.ts'
import type { Memo } from '../../src/forge/memos/schema.ts'

let made = 0

/**
 * Stores a memo past the rules, for tests of what reads memos. A comment gets the visibility of its
 * root, as the rules would give it.
 *
 * @param parent the memo that it comments on.
 */
export async function storeMemo(
  app: App,
  creator: User,
  fields: Partial<Memo> = {},
  parent?: MemoView,
): Promise<MemoView> {
  const time = nowSeconds(app.clock)
  const content = fields.content ?? ''
  const memo = await app.db
    .insertInto('memos')
    .values({
      uid: `memo-${++made}`,
      creator_id: creator.id,
      parent_id: parent?.memo.id ?? null,
      root_id: parent ? (parent.memo.root_id ?? parent.memo.id) : null,
      state: 'NORMAL',
      visibility: parent?.memo.visibility ?? 'PUBLIC',
      content,
      title: '',
      snippet: content.slice(0, 64),
      pinned: 0,
      has_link: 0,
      has_code: 0,
      has_task_list: 0,
      has_incomplete_tasks: 0,
      create_time: time,
      update_time: time,
      ...fields,
    })
    .returningAll()
    .executeTakeFirstOrThrow()
  const { root_creator_id, root_state } = parent?.memo ?? {
    root_creator_id: creator.id,
    root_state: memo.state,
  }
  return { memo: { ...memo, root_creator_id, root_state }, creator, tags: [], parent: parent?.memo }
}
