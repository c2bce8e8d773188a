import type { VNode } from 'preact'
import { useMemo } from 'preact/hooks'
import type { CodeSuggestion, PullReviewComment } from '#gen/branchline/v1/review_pb.ts'
import { SuggestionService } from '#gen/branchline/v1/suggestion_service_pb.ts'
import { useApi } from '../api/client.ts'
import { FailureNote, useAction } from '../components/load.tsx'
import type { LinkBase } from '../components/markdown.ts'
import { Markup } from '../components/markup.tsx'
import { Scrolling } from '../components/page.tsx'
import { say } from '../components/toast.tsx'
import { plural, t } from '../language/texts.tsx'
import type { Discussion } from './discussion.ts'
import { suggestedChange } from './suggested-lines.ts'

interface SuggestionProps {
  readonly discussion: Discussion
  readonly comment: PullReviewComment
  readonly suggestion: CodeSuggestion
}

interface SuggestionTextProps {
  readonly comment: PullReviewComment
  readonly suggestion: CodeSuggestion
  readonly base: LinkBase
}

/** The text of a comment that proposes code, as a difference where the replaced lines are known. */
export function SuggestionText({ comment, suggestion, base }: SuggestionTextProps): VNode {
  const { body, diffHunk, position, user, path } = comment
  const change = useMemo(
    () => suggestedChange({ body, diffHunk, position, suggestion }),
    [body, diffHunk, position, suggestion],
  )
  if (!change) return <Markup text={body} base={base} />
  const { before, lines, after } = change
  const title = t('Change of {lines} of {path} that {who} suggests', {
    lines: rangeText(suggestion),
    path,
    who: user?.login ?? '',
  })
  return (
    <>
      {before.trim() !== '' && <Markup text={before} base={base} />}
      <Scrolling label={title}>
        <table class="diff">
          <tbody>
            {lines.map(({ kind, text }, i) => (
              <tr key={i} class={kind}>
                <td class="sign">{kind === 'added' ? '+' : '−'}</td>
                <td class={`text ${kind}`}>{text}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </Scrolling>
      {after.trim() !== '' && <Markup text={after} base={base} />}
    </>
  )
}

/** Applies what a comment proposes, at once or together with others. */
export function SuggestionActions({ discussion, comment, suggestion }: SuggestionProps): VNode {
  const { id, path, user } = comment
  const { chosen, choose } = discussion
  const applying = useApplying(discussion, [id])
  const lines = rangeText(suggestion)
  const about = { who: user?.login ?? '', lines, path }
  return (
    <div class="buttons suggestion">
      <span class="facts">{t('Suggestion for {lines}', { lines })}</span>
      <button
        type="button"
        aria-label={t('Apply the suggestion of {who} for {lines} of {path}', about)}
        disabled={applying.isRunning}
        onClick={() => applying.run()}
      >
        {t('Apply')}
      </button>
      <button
        type="button"
        aria-label={t('Apply with others: the suggestion of {who} for {lines} of {path}', about)}
        aria-pressed={chosen.has(id)}
        onClick={() => choose(id)}
      >
        {t('Apply with others')}
      </button>
      {applying.failure && <FailureNote failure={applying.failure} />}
    </div>
  )
}

/** Applies the suggestions that the user has chosen, in one commit. */
export function ChosenSuggestions({ discussion }: { discussion: Discussion }): VNode {
  const { chosen, choose } = discussion
  const applying = useApplying(discussion, [...chosen])
  return (
    <section class="note" aria-label={t('Chosen suggestions')}>
      <p role="status">
        {plural(chosen.size, '{count} suggestion chosen.', '{count} suggestions chosen.')}
      </p>
      {applying.failure && <FailureNote failure={applying.failure} />}
      <button
        class="main"
        type="button"
        disabled={applying.isRunning}
        onClick={() => applying.run()}
      >
        {plural(chosen.size, 'Apply the suggestion', 'Apply {count} suggestions in one commit')}
      </button>{' '}
      <button type="button" onClick={() => chosen.forEach(choose)}>
        {t('Choose none')}
      </button>
    </section>
  )
}

function useApplying(discussion: Discussion, comments: readonly bigint[]) {
  const { of } = useApi()
  const { name, head, chosen, choose, reload } = discussion
  return useAction(async () => {
    // What arrives after this page was shown is not changed.
    await of(SuggestionService).applySuggestions({
      ...name,
      comments: [...comments],
      headCommitId: head,
    })
    for (const id of comments) if (chosen.has(id)) choose(id)
    say(plural(comments.length, '{count} suggestion applied.', '{count} suggestions applied.'))
    reload()
  })
}

function rangeText({ fromLine, toLine }: CodeSuggestion): string {
  const [from, to] = [String(fromLine), String(toLine)]
  return from === to ? t('line {line}', { line: from }) : t('lines {from} to {to}', { from, to })
}
