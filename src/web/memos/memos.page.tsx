import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { type Memo, Visibility } from '#gen/branchline/v1/memo_pb.ts'
import { MemoService } from '#gen/branchline/v1/memo_service_pb.ts'
import { State } from '#gen/branchline/v1/state_pb.ts'
import { UserService } from '#gen/branchline/v1/user_service_pb.ts'
import { useApi } from '../api/client.ts'
import { Time } from '../components/formats.tsx'
import { ActionForm, Confirmed, Field, fieldOf, onSubmit, TextArea } from '../components/forms.tsx'
import { FailureNote, Show, useAction, useLoad } from '../components/load.tsx'
import { Markup } from '../components/markup.tsx'
import { goTo } from '../components/navigation.ts'
import { SignInLink, useTitle } from '../components/page.tsx'
import { numberText, T, t } from '../language/texts.tsx'
import type { PageProps } from '../routes.ts'

/** The memos of the user. The address has the filters. */
export function MemosPage({ query }: PageProps): VNode {
  const { user } = useApi().session
  useTitle(t('Memos'))
  return (
    <>
      <h1>{t('Memos')}</h1>
      {user ? (
        <Memos user={user.name} query={query} />
      ) : (
        <p>
          {t('Memos are for signed-in users:')} <SignInLink />
        </p>
      )}
    </>
  )
}

function Memos({ user, query }: { user: string; query: URLSearchParams }): VNode {
  const { of } = useApi()
  const [text, tag, after] = ['q', 'tag', 'after'].map((name) => query.get(name) ?? '')
  const isArchive = query.get('state') === 'archived'
  const list = useLoad(
    (signal) =>
      of(MemoService).listMemos(
        {
          filter: filterOf(user, text, tag),
          state: isArchive ? State.ARCHIVED : State.NORMAL,
          orderBy: 'pinned, create_time',
          pageToken: after ?? '',
        },
        { signal },
      ),
    [user, text, tag, isArchive, after],
  )
  const tags = useLoad((signal) => of(UserService).getUserStats({ name: user }, { signal }), [user])
  const reload = () => {
    list.reload()
    tags.reload()
  }
  return (
    <>
      <NewMemo onSaved={reload} />
      <h2>{t('Your memos')}</h2>
      <MemoFilter text={text ?? ''} isArchive={isArchive} />
      <Show of={tags}>
        {({ tagCount }) => <Tags counts={Object.entries(tagCount)} current={tag ?? ''} />}
      </Show>
      <Show of={list}>
        {({ memos, nextPageToken }) => (
          <>
            {memos.length === 0 && <p class="empty">{t('No memos.')}</p>}
            {memos.map((memo) => (
              <MemoItem key={memo.name} memo={memo} onChange={reload} />
            ))}
            {nextPageToken !== '' && (
              <a href={hrefOf({ after: nextPageToken })}>{t('Older memos')}</a>
            )}
          </>
        )}
      </Show>
    </>
  )
}

/** Returns the condition of a list, in the language of the API. */
function filterOf(user: string, text = '', tag = ''): string {
  return [
    `creator == ${JSON.stringify(user)}`,
    text !== '' && `content.contains(${JSON.stringify(text)})`,
    tag !== '' && `${JSON.stringify(tag)} in tags`,
  ]
    .filter(Boolean)
    .join(' && ')
}

function MemoFilter({ text, isArchive }: { text: string; isArchive: boolean }): VNode {
  return (
    <>
      <nav class="tabs" aria-label={t('Filter')}>
        <a href="/memos" aria-current={isArchive ? undefined : 'page'}>
          {t('Current @memos')}
        </a>
        <a href="/memos?state=archived" aria-current={isArchive ? 'page' : undefined}>
          {t('Archived @memos')}
        </a>
      </nav>
      <search>
        <form
          class="row"
          onSubmit={onSubmit((form) => goTo(hrefOf({ q: fieldOf(form, 'q'), after: '' })))}
        >
          <Field label={t('Search your memos')} name="q" type="search" defaultValue={text} />
          <button type="submit">{t('Search')}</button>
        </form>
      </search>
    </>
  )
}

function Tags(props: {
  counts: readonly (readonly [tag: string, count: number])[]
  current: string
}): VNode | null {
  const { counts, current } = props
  if (counts.length === 0) return null
  return (
    <nav class="tabs" aria-label={t('Tags')}>
      {counts
        .toSorted(([one], [other]) => one.localeCompare(other))
        .map(([tag, count]) => (
          <a
            key={tag}
            href={hrefOf({ tag: tag === current ? '' : tag, after: '' })}
            aria-current={tag === current ? 'true' : undefined}
          >
            #{tag} <span class="tag">{numberText(count)}</span>
          </a>
        ))}
    </nav>
  )
}

/** Returns the present address with other filters. An empty one is left out. */
function hrefOf(changes: Readonly<Record<string, string>>): string {
  const query = new URLSearchParams(location.search)
  for (const [name, value] of Object.entries(changes))
    if (value === '') query.delete(name)
    else query.set(name, value)
  return `/memos?${query}`
}

/** A memo of the user, with what the user can do. */
function MemoItem({ memo, onChange }: { memo: Memo; onChange: () => void }): VNode {
  const { of } = useApi()
  const [isEditing, setEditing] = useState(false)
  const label = memo.snippet || t('an empty memo')
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
        <T text={seenBy(memo.visibility)} time={<Time at={memo.createTime} />} />{' '}
        {memo.pinned && <span class="tag">{t('pinned @state')}</span>}
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
          {t('Edit')} <span class="hidden">{label}</span>
        </button>
        <button type="button" onClick={() => change.run({ pinned: !memo.pinned })}>
          {memo.pinned ? t('Unpin') : t('Pin')} <span class="hidden">{label}</span>
        </button>
        <button
          type="button"
          onClick={() => change.run({ state: isArchived ? State.NORMAL : State.ARCHIVED })}
        >
          {isArchived ? t('Restore') : t('Archive')} <span class="hidden">{label}</span>
        </button>
        <Confirmed
          action={t('Delete')}
          about={label}
          question={t('The memo and all comments on it are deleted.')}
          act={remove}
        />
      </div>
      <MemoComments memo={memo} label={label} />
    </article>
  )
}

/** The comments on a memo, which load when the reader opens them. */
function MemoComments({ memo, label }: { memo: Memo; label: string }): VNode {
  const [isOpen, setOpen] = useState(false)
  return (
    <details onToggle={(event) => setOpen((event.currentTarget as HTMLDetailsElement).open)}>
      <summary>
        {t('Comments')} <span class="hidden">{t('on {memo}', { memo: label })}</span>
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
            {memos.length === 0 && <p class="empty">{t('No comments.')}</p>}
            {memos.map((comment) => (
              <Comment key={comment.name} comment={comment} onDeleted={list.reload} />
            ))}
            <p class="row">
              {pageToken !== '' && (
                <button type="button" onClick={() => setPageToken('')}>
                  {t('First comments')}
                </button>
              )}
              {nextPageToken !== '' && (
                <button type="button" onClick={() => setPageToken(nextPageToken)}>
                  {t('Later comments')}
                </button>
              )}
            </p>
          </>
        )}
      </Show>
      <ActionForm
        label={t('Comment on {memo}', { memo: label })}
        submit={t('Send the comment')}
        done={t('The comment is sent.')}
        isEmptied
        act={add}
      >
        <TextArea label={t('Comment')} name="content" rows={3} required hint="Markdown." />
      </ActionForm>
    </>
  )
}

function Comment({ comment, onDeleted }: { comment: Memo; onDeleted: () => void }): VNode {
  const { of, session } = useApi()
  const { name, creator, content, createTime, snippet } = comment
  const login = creator.slice(creator.lastIndexOf('/') + 1)
  return (
    <article class="remark" aria-label={t('{login} commented', { login })}>
      <div class="facts">
        <a href={`/${login}`}>{login}</a> <Time at={createTime} />{' '}
        {session.user?.name === creator && (
          <Confirmed
            action={t('Delete')}
            about={t('the comment {snippet}', { snippet })}
            question={t('The comment and all comments on it are deleted.')}
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

/** Description of each visibility of a memo. */
const VISIBILITIES: readonly (readonly [Visibility, string])[] = [
  [Visibility.PRIVATE, t('only you')],
  [Visibility.PROTECTED, t('all users')],
  [Visibility.PUBLIC, t('everybody')],
]

function seenBy(visibility: Visibility) {
  if (visibility === Visibility.PUBLIC) return '{time}, seen by everybody'
  return visibility === Visibility.PROTECTED
    ? '{time}, seen by all users'
    : '{time}, seen by only you'
}

/** The editor of a new memo. */
function NewMemo({ onSaved }: { onSaved: () => void }): VNode {
  const { of } = useApi()
  const create = async (form: HTMLFormElement) => {
    await of(MemoService).createMemo({ memo: fieldsOf(form) })
    onSaved()
  }
  return (
    <ActionForm act={create} submit={t('Save the memo')} done={t('The memo is saved.')} isEmptied>
      <MemoFields label={t('New memo')} />
    </ActionForm>
  )
}

/** The editor of a memo that is there. */
function EditMemo({ memo, onSaved }: { memo: Memo; onSaved: () => void }): VNode {
  const { of } = useApi()
  const save = async (form: HTMLFormElement) => {
    await of(MemoService).updateMemo({
      memo: { name: memo.name, ...fieldsOf(form) },
      updateMask: { paths: ['content', 'visibility'] },
    })
    onSaved()
  }
  return (
    <ActionForm act={save} submit={t('Save the changes')}>
      <MemoFields label={t('Text')} memo={memo} />
    </ActionForm>
  )
}

function fieldsOf(form: HTMLFormElement): { content: string; visibility: Visibility } {
  return { content: fieldOf(form, 'content'), visibility: Number(fieldOf(form, 'visibility')) }
}

function MemoFields({ label, memo }: { label: string; memo?: Memo }): VNode {
  return (
    <>
      <TextArea
        label={label}
        name="content"
        rows={6}
        required
        defaultValue={memo?.content}
        hint={t('Markdown. #word is a tag, and @name mentions somebody.')}
      />
      <label>
        {t('Who sees it')}
        <select name="visibility">
          {VISIBILITIES.map(([value, text]) => (
            <option key={value} value={value} selected={value === memo?.visibility}>
              {text}
            </option>
          ))}
        </select>
      </label>
    </>
  )
}
