import type { VNode } from 'preact'
import { readDiff } from '../code/diff-text.ts'
import { Scrolling } from '../components/page.tsx'
import { t } from '../language/texts.tsx'
import { placeText, type Thread } from '../pulls/reviews.ts'
import type { Discussion } from './discussion.ts'
import { ThreadView } from './thread.tsx'

/** A thread of a review in a conversation, below the lines that the thread is about. */
export function EntryThread(props: { discussion: Discussion; thread: Thread }): VNode {
  return (
    <div>
      <Hunk thread={props.thread} />
      <ThreadView {...props} />
    </div>
  )
}

/** A reader of the conversation needs the line and a few before it. */
const HUNK_LINES = 4

/** The line that a thread is about, with the lines before it. */
function Hunk({ thread }: { thread: Thread }): VNode | null {
  const hunk = thread.comments[0]?.diffHunk ?? ''
  const [file] = readDiff(`diff --git a/x b/x\n${hunk}`)
  const lines = file?.lines.filter(({ kind }) => kind !== 'hunk').slice(-HUNK_LINES) ?? []
  if (lines.length === 0) return null
  return (
    <Scrolling label={t('Changes before {place}', { place: placeText(thread.place) })}>
      <table class="diff">
        <tbody>
          {lines.map(({ kind, text, oldNumber, newNumber }, i) => (
            <tr key={i} class={kind}>
              <td class="number">{newNumber ?? oldNumber}</td>
              <td class="text">{text}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Scrolling>
  )
}
