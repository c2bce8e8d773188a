import type { VNode } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { IssueCommentService } from '#gen/branchline/v1/issue_comment_service_pb.ts'
import type { PullRequest } from '#gen/branchline/v1/pull_request_pb.ts'
import type { Repository } from '#gen/branchline/v1/repository_pb.ts'
import { ReviewService } from '#gen/branchline/v1/review_service_pb.ts'
import { useApi } from '../api/client.ts'
import { codeHref, repositoryHref } from '../text/addresses.ts'
import { Checks } from './checks.tsx'
import { FailureNote } from './failure-note.tsx'
import { onSubmit } from './field.tsx'
import { Show, useAction, useLoad } from './load.tsx'
import { Markup } from './markup.tsx'
import { MergeBox } from './merge-box.tsx'
import { SignInLink } from './sign-in-link.tsx'
import { Time } from './time.tsx'

/** The API has at most so many entries on a page. */
const PAGE = 50

interface ConversationProps {
  readonly repository: Repository
  readonly name: { readonly owner: string; readonly repo: string; readonly index: bigint }
  readonly pull: PullRequest
  /** Grows when something has happened. */
  readonly version: number
  readonly onChange: () => void
}

/** Something that somebody said. */
interface Entry {
  /** The fragment that `html_url` has. */
  readonly key: string
  readonly who: string
  readonly did: string
  readonly at: PullRequest['createdAt']
  readonly body: string
}

/** What people said about a pull request, its checks, and how to merge it. */
export function Conversation(props: ConversationProps): VNode {
  const { name, pull, version, repository, onChange } = props
  const api = useApi()
  const entries = useLoad((signal) => readEntries(api, name, signal), [version])
  return (
    <>
      <EntryView
        name={name}
        entry={{
          key: '',
          who: pull.user?.login ?? '',
          did: 'opened',
          at: pull.createdAt,
          body: pull.body,
        }}
      />
      <Show of={entries}>
        {(list) => list.map((entry) => <EntryView key={entry.key} name={name} entry={entry} />)}
      </Show>
      <Checks name={name} sha={pull.head?.sha ?? ''} version={version} />
      <MergeBox repository={repository} name={name} pull={pull} onMerged={onChange} />
      <NewComment name={name} onSent={entries.reload} />
    </>
  )
}

const DID: Readonly<Record<string, string>> = {
  APPROVED: 'approved the changes',
  REQUEST_CHANGES: 'asked for changes',
  COMMENT: 'reviewed',
  REQUEST_REVIEW: 'was asked for a review',
}

/** Reads all comments and reviews, in the order of time. */
async function readEntries(
  { of }: ReturnType<typeof useApi>,
  name: ConversationProps['name'],
  signal: AbortSignal,
): Promise<Entry[]> {
  const comments = allPages((page) =>
    of(IssueCommentService)
      .listIssueComments({ ...name, page, limit: PAGE }, { signal })
      .then(({ comments: items, total }) => ({ items, total })),
  )
  const reviews = allPages((page) =>
    of(ReviewService)
      .listReviews({ ...name, page, limit: PAGE }, { signal })
      .then(({ reviews: items, total }) => ({ items, total })),
  )
  const [allComments, allReviews] = await Promise.all([comments, reviews])
  const entries = [
    ...allComments.map(({ id, user, createdAt, body }) => ({
      key: `issuecomment-${id}`,
      who: user?.login ?? '',
      did: 'commented',
      at: createdAt,
      body,
    })),
    ...allReviews.map(({ id, user, team, submittedAt, body, state }) => ({
      key: `review-${id}`,
      who: user?.login ?? team?.name ?? '',
      did: DID[state] ?? 'reviewed',
      at: submittedAt,
      body,
    })),
  ]
  return entries.sort((one, other) => Number((one.at?.seconds ?? 0n) - (other.at?.seconds ?? 0n)))
}

async function allPages<Item>(
  read: (page: number) => Promise<{ items: readonly Item[]; total: bigint }>,
): Promise<Item[]> {
  const all: Item[] = []
  for (let page = 1; ; page++) {
    const { items, total } = await read(page)
    all.push(...items)
    if (items.length === 0 || all.length >= total) return all
  }
}

function EntryView({ name, entry }: { name: ConversationProps['name']; entry: Entry }): VNode {
  const { key, who, did, at, body } = entry
  const place = useRef<HTMLElement>(null)
  useEffect(() => {
    // The browser looked for the fragment before the entry was there.
    if (key !== '' && location.hash === `#${key}`) place.current?.scrollIntoView()
  }, [key])
  const base = {
    page: codeHref(name, { kind: 'branch', name: 'HEAD' }, ''),
    raw: `${repositoryHref(name)}/raw/commit/HEAD`,
  }
  return (
    <article id={key || undefined} ref={place} class="entry" aria-label={`${who} ${did}`}>
      <header>
        <a href={`/${who}`}>{who}</a> {did} <Time at={at} />
      </header>
      {body !== '' && <Markup text={body} base={base} />}
    </article>
  )
}

function NewComment({
  name,
  onSent,
}: {
  name: ConversationProps['name']
  onSent: () => void
}): VNode {
  const { of, session } = useApi()
  // The text stays when sending it fails.
  const [body, setBody] = useState('')
  const sending = useAction(async () => {
    await of(IssueCommentService).createIssueComment({ ...name, body })
    setBody('')
    onSent()
  })
  if (!session.user)
    return (
      <p>
        <SignInLink /> to comment.
      </p>
    )
  return (
    <form onSubmit={onSubmit(() => sending.run())}>
      {sending.failure && <FailureNote failure={sending.failure} />}
      <label>
        Comment
        <textarea
          rows={4}
          required
          value={body}
          onInput={(event) => setBody(event.currentTarget.value)}
        />
      </label>
      <button type="submit" disabled={sending.isRunning}>
        Send the comment
      </button>
    </form>
  )
}
