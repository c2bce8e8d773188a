import type { VNode } from 'preact'
import { IssueCommentService } from '#gen/branchline/v1/issue_comment_service_pb.ts'
import { ReviewService } from '#gen/branchline/v1/review_service_pb.ts'
import { markupBase } from '../addresses.ts'
import { useApi } from '../api/client.ts'
import { Time } from '../components/formats.tsx'
import { Show, useLoad } from '../components/load.tsx'
import { Markup } from '../components/markup.tsx'
import { T, t } from '../language/texts.tsx'
import type { PullName } from '../pulls/reviews.ts'

interface FormerTextsProps {
  readonly name: PullName
  readonly comment: bigint
  /** The review of a comment on a line; undefined for a comment on the conversation. */
  readonly review?: bigint
}

/** The texts that a comment had before its edits, the latest first. */
export function FormerTexts({ name, comment, review }: FormerTextsProps): VNode {
  const { of } = useApi()
  const { owner, repo } = name
  const edits = useLoad(
    async (signal) => {
      const options = { signal }
      const { edits } =
        review === undefined
          ? await of(IssueCommentService).listCommentEdits({ owner, repo, id: comment }, options)
          : await of(ReviewService).listReviewCommentEdits(
              { ...name, id: review, comment },
              options,
            )
      return edits.toReversed()
    },
    [comment],
  )
  return (
    <Show of={edits}>
      {(former) => (
        <section class="note" aria-label={t('Former texts')}>
          {former.length === 0 && <p>{t('There are no former texts.')}</p>}
          {former.map((edit) => (
            <article key={String(edit.id)} aria-label={t('Former text')}>
              <p class="facts">
                <T
                  text="Until {who} changed it {time}:"
                  who={edit.user?.login}
                  time={<Time at={edit.createdAt} />}
                />
              </p>
              <Markup text={edit.body} base={markupBase(name)} />
            </article>
          ))}
        </section>
      )}
    </Show>
  )
}
