import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import type { Memo } from '#gen/branchline/v1/memo_pb.ts'
import { MemoService } from '#gen/branchline/v1/memo_service_pb.ts'
import { State } from '#gen/branchline/v1/state_pb.ts'
import { useApi } from '../api/client.ts'
import { Confirmed } from '../components/confirmed.tsx'
import { FailureNote } from '../components/failure-note.tsx'
import { useAction } from '../components/load.tsx'
import { Markup } from '../components/markup.tsx'
import { Time } from '../components/time.tsx'
import { MemoComments } from './memo-comments.tsx'
import { EditMemo, VISIBILITIES } from './memo-form.tsx'

/** A memo of the user, with what the user can do. */
export function MemoItem({ memo, onChange }: { memo: Memo; onChange: () => void }): VNode {
  const { of } = useApi()
  const [isEditing, setEditing] = useState(false)
  const label = memo.snippet || 'an empty memo'
  const isArchived = memo.state === State.ARCHIVED
  const change = useAction(async (fields: { pinned: boolean } | { state: State }) => {
    const memoChange = { name: memo.name, ...fields }
    await of(MemoService).updateMemo({
      memo: memoChange,
      updateMask: { paths: Object.keys(fields) },
    })
    onChange()
  })
  const remove = async () => {
    await of(MemoService).deleteMemo({ name: memo.name })
    onChange()
  }
  return (
    <article class="entry" aria-label={label}>
      <header>
        <Time at={memo.createTime} />, seen by{' '}
        {VISIBILITIES.find(([value]) => value === memo.visibility)?.[1]}{' '}
        {memo.pinned && <span class="tag">pinned</span>}
      </header>
      {isEditing ? (
        <EditMemo
          memo={memo}
          onSaved={() => {
            setEditing(false)
            onChange()
          }}
        />
      ) : (
        <Markup text={memo.content} base={{ page: '/', raw: '/' }} />
      )}
      {change.failure && <FailureNote failure={change.failure} />}
      <div class="row">
        <button type="button" aria-expanded={isEditing} onClick={() => setEditing(!isEditing)}>
          Edit <span class="hidden">{label}</span>
        </button>
        <button type="button" onClick={() => change.run({ pinned: !memo.pinned })}>
          {memo.pinned ? 'Unpin' : 'Pin'} <span class="hidden">{label}</span>
        </button>
        <button
          type="button"
          onClick={() => change.run({ state: isArchived ? State.NORMAL : State.ARCHIVED })}
        >
          {isArchived ? 'Restore' : 'Archive'} <span class="hidden">{label}</span>
        </button>
        <Confirmed
          action="Delete"
          about={label}
          question="The memo and all comments on it are deleted."
          act={remove}
        />
      </div>
      <MemoComments memo={memo} label={label} />
    </article>
  )
}
