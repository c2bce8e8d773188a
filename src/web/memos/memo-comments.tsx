import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import type { Memo } from '#gen/branchline/v1/memo_pb.ts'
import { MemoService } from '#gen/branchline/v1/memo_service_pb.ts'
import { useApi } from '../api/client.ts'
import { ActionForm } from '../components/action-form.tsx'
import { Confirmed } from '../components/confirmed.tsx'
import { fieldOf } from '../components/field.tsx'
import { Show, useLoad } from '../components/load.tsx'
import { Markup } from '../components/markup.tsx'
import { TextArea } from '../components/text-area.tsx'
import { Time } from '../components/time.tsx'

/** The comments on a memo, which load when the reader opens them. */
export function MemoComments({ memo, label }: { memo: Memo; label: string }): VNode {
  const [isOpen, setOpen] = useState(false)
  return (
    <details onToggle={(event) => setOpen((event.currentTarget as HTMLDetailsElement).open)}>
      <summary>
        Comments <span class="hidden">on {label}</span>
      </summary>
      {isOpen && <Comments memo={memo} label={label} />}
    </details>
  )
}

function Comments({ memo: { name }, label }: { memo: Memo; label: string }): VNode {
  const { of } = useApi()
  const [pageToken, setPageToken] = useState('')
  const service = of(MemoService)
  const list = useLoad(
    (signal) =>
      service.listMemoComments({ name, pageToken, orderBy: 'create_time asc' }, { signal }),
    [name, pageToken],
  )
  const add = async (form: HTMLFormElement) => {
    await service.createMemoComment({ name, comment: { content: fieldOf(form, 'content') } })
    list.reload()
  }
  return (
    <>
      <Show of={list}>
        {({ memos, nextPageToken }) => (
          <>
            {memos.length === 0 && <p>No comments.</p>}
            {memos.map((comment) => (
              <Comment key={comment.name} comment={comment} onDeleted={list.reload} />
            ))}
            <p class="row">
              {pageToken !== '' && (
                <button type="button" onClick={() => setPageToken('')}>
                  First comments
                </button>
              )}
              {nextPageToken !== '' && (
                <button type="button" onClick={() => setPageToken(nextPageToken)}>
                  Later comments
                </button>
              )}
            </p>
          </>
        )}
      </Show>
      <ActionForm
        label={`Comment on ${label}`}
        submit="Send the comment"
        done="The comment is sent."
        isEmptied
        act={add}
      >
        <TextArea label="Comment" name="content" rows={3} required hint="Markdown." />
      </ActionForm>
    </>
  )
}

function Comment({ comment, onDeleted }: { comment: Memo; onDeleted: () => void }): VNode {
  const { of, session } = useApi()
  const { name, creator, content, createTime, snippet } = comment
  const login = creator.slice(creator.lastIndexOf('/') + 1)
  return (
    <article class="remark" aria-label={`${login} commented`}>
      <div class="facts">
        <a href={`/${login}`}>{login}</a> <Time at={createTime} />{' '}
        {session.user?.name === creator && (
          <Confirmed
            action="Delete"
            about={`the comment ${snippet}`}
            question="The comment and all comments on it are deleted."
            isSmall
            act={async () => {
              await of(MemoService).deleteMemo({ name })
              onDeleted()
            }}
          />
        )}
      </div>
      <Markup text={content} base={{ page: '/', raw: '/' }} />
    </article>
  )
}
