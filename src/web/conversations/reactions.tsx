import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { ReactionService } from '#gen/branchline/v1/reaction_service_pb.ts'
import { useApi } from '../api/client.ts'
import { FailureNote, useAction } from '../components/load.tsx'
import { numberText, t } from '../language/texts.tsx'
import type { PullName } from '../pulls/reviews.ts'
import type { ReactionCounts } from './reaction-counts.ts'

/** The reactions that the API has, with their picture and their name for people. */
const KINDS: readonly (readonly [content: string, picture: string, text: string])[] = [
  ['+1', '👍', t('Thumbs up')],
  ['-1', '👎', t('Thumbs down')],
  ['laugh', '😄', t('Laugh')],
  ['hooray', '🎉', t('Hooray')],
  ['confused', '😕', t('Confused')],
  ['heart', '❤️', t('Heart')],
  ['rocket', '🚀', t('Rocket')],
  ['eyes', '👀', t('Eyes')],
]

interface ReactionsProps {
  readonly name: PullName
  /** Number of the comment; 0 for the conversation itself. */
  readonly comment: bigint
  /** Whose text it is, for screen readers. */
  readonly who: string
  readonly counts: ReactionCounts
  /** Whether the user may react. */
  readonly canReact: boolean
}

/** The reactions to a text, and buttons to react. */
export function Reactions({ name, comment, who, counts, canReact }: ReactionsProps): VNode {
  const [isOpen, setOpen] = useState(false)
  const { of } = useApi()
  const present = counts.of.get(comment) ?? []
  const reacting = useAction(async (content: string) => {
    const { owner, repo, index } = name
    const mine = present.some((count) => count.content === content && count.reacted)
    const service = of(ReactionService)
    if (comment === 0n) {
      const request = { owner, repo, index, content }
      await (mine ? service.deleteIssueReaction(request) : service.createIssueReaction(request))
    } else {
      const request = { owner, repo, id: comment, content }
      await (mine
        ? service.deleteIssueCommentReaction(request)
        : service.createIssueCommentReaction(request))
    }
    setOpen(false)
    counts.reload()
  })
  const shown = KINDS.flatMap(([content, picture, text]) => {
    const found = present.find((count) => count.content === content)
    return found || isOpen ? [{ content, picture, text, found }] : []
  })
  return (
    <fieldset class="reactions">
      <legend class="hidden">{t('Reactions to what {who} wrote', { who })}</legend>
      {shown.map(({ content, picture, text, found }) => (
        <button
          key={content}
          type="button"
          class="small"
          aria-label={t('{reaction}: {count}', { reaction: text, count: found?.count ?? 0 })}
          aria-pressed={found?.reacted === true}
          disabled={!canReact || reacting.isRunning}
          onClick={() => reacting.run(content)}
        >
          {picture} {found && numberText(found.count)}
        </button>
      ))}
      {canReact && (
        <button
          type="button"
          class="small"
          aria-expanded={isOpen}
          aria-label={t('React to what {who} wrote', { who })}
          onClick={() => setOpen(!isOpen)}
        >
          {t('React')}
        </button>
      )}
      {reacting.failure && <FailureNote failure={reacting.failure} />}
    </fieldset>
  )
}
