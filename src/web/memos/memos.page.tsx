import type { VNode } from 'preact'
import { MemoService } from '#gen/branchline/v1/memo_service_pb.ts'
import { State } from '#gen/branchline/v1/state_pb.ts'
import { UserService } from '#gen/branchline/v1/user_service_pb.ts'
import { useApi } from '../api/client.ts'
import { Field, fieldOf, onSubmit } from '../components/field.tsx'
import { Show, useLoad } from '../components/load.tsx'
import { goTo } from '../components/navigation.ts'
import { useTitle } from '../components/page-title.ts'
import { SignInLink } from '../components/sign-in-link.tsx'
import type { PageProps } from '../routes.ts'
import { MemoItem } from './memo.tsx'
import { NewMemo } from './memo-form.tsx'

/** The memos of the user. The address has the filters. */
export default function MemosPage({ query }: PageProps): VNode {
  const { user } = useApi().session
  useTitle('Memos')
  return (
    <>
      <h1>Memos</h1>
      {user ? (
        <Memos user={user.name} query={query} />
      ) : (
        <p>
          Memos are for signed-in users: <SignInLink />
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
      <h2>Your memos</h2>
      <MemoFilter text={text ?? ''} isArchive={isArchive} />
      <Show of={tags}>
        {({ tagCount }) => <Tags counts={Object.entries(tagCount)} current={tag ?? ''} />}
      </Show>
      <Show of={list}>
        {({ memos, nextPageToken }) => (
          <>
            {memos.length === 0 && <p>No memos.</p>}
            {memos.map((memo) => (
              <MemoItem key={memo.name} memo={memo} onChange={reload} />
            ))}
            {nextPageToken !== '' && <a href={hrefOf({ after: nextPageToken })}>Older memos</a>}
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
      <nav class="tabs" aria-label="Filter">
        <a href="/memos" aria-current={isArchive ? undefined : 'page'}>
          Current
        </a>
        <a href="/memos?state=archived" aria-current={isArchive ? 'page' : undefined}>
          Archived
        </a>
      </nav>
      <search>
        <form
          class="row"
          onSubmit={onSubmit((form) => goTo(hrefOf({ q: fieldOf(form, 'q'), after: '' })))}
        >
          <Field label="Search your memos" name="q" type="search" defaultValue={text} />
          <button type="submit">Search</button>
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
    <nav class="tabs" aria-label="Tags">
      {counts
        .toSorted(([one], [other]) => one.localeCompare(other))
        .map(([tag, count]) => (
          <a
            key={tag}
            href={hrefOf({ tag: tag === current ? '' : tag, after: '' })}
            aria-current={tag === current ? 'true' : undefined}
          >
            #{tag} <span class="tag">{count.toLocaleString()}</span>
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
