import { type ComponentChild, Fragment as Group, type VNode } from 'preact'
import { useContext, useMemo } from 'preact/hooks'
import { LineForm } from '../conversations/comment-forms.tsx'
import { DiscussionContext } from '../conversations/discussion.ts'
import { ThreadView } from '../conversations/thread.tsx'
import { type Place, placeKey, placeText, type Thread } from '../pulls/reviews.ts'
import type { DiffColours } from './diff-colours.ts'
import { type MarkedLine, type SplitRow, sideBySide } from './diff-rows.ts'
import type { DiffLine } from './diff-text.ts'
import { divideRuns, type Run } from './runs.ts'

/** The lines of a file that have remarks. */
export interface Remarks {
  readonly path: string
  /** The line that the tab key reaches. From there, the arrow keys go to the others. */
  readonly entry: MarkedLine | undefined
  readonly threads: ReadonlyMap<string, readonly Thread[]>
  /** Lines with a form, and whether the user has just opened the form. */
  readonly forms: ReadonlyMap<string, boolean>
  onOpen(place: Place): void
  onClose(place: Place): void
}

interface TableProps {
  readonly lines: readonly MarkedLine[]
  /** Absent until the colours are there. */
  readonly colours: DiffColours | undefined
  readonly remarks: Remarks
}

/** Old and new lines below each other. */
export function UnifiedTable({ lines, colours, remarks }: TableProps): VNode {
  return (
    <table class="diff" onKeyDown={moveAmongLines}>
      <tbody>
        {lines.map((line, i) => {
          const place = placeOf(line, remarks.path)
          return (
            // A form keeps its line when other lines come or go.
            <Group key={place ? placeKey(place) : i}>
              <tr class={line.kind}>
                <td class="number">
                  {line.kind === 'removed' ? (
                    <LineNumber line={line} side="old" remarks={remarks} />
                  ) : (
                    line.oldNumber
                  )}
                </td>
                <td class="number">
                  <LineNumber line={line} side="new" remarks={remarks} />
                </td>
                <td class="sign">{SIGNS[line.kind]}</td>
                <LineText line={line} colours={colours} />
              </tr>
              {place && <RemarkRow places={[place]} remarks={remarks} />}
            </Group>
          )
        })}
      </tbody>
    </table>
  )
}

/** Old lines on the left, new ones on the right. */
export function SplitTable({ lines, colours, remarks }: TableProps): VNode {
  const rows = useMemo(() => sideBySide(lines), [lines])
  return (
    <table class="diff split" onKeyDown={moveAmongLines}>
      <tbody>
        {rows.map((row, i) => (
          <Group key={rowKey(row, remarks.path) ?? i}>
            {'whole' in row ? (
              <WholeRow line={row.whole} />
            ) : (
              <Pair row={row} colours={colours} remarks={remarks} />
            )}
          </Group>
        ))}
      </tbody>
    </table>
  )
}

function rowKey(row: SplitRow, path: string): string | undefined {
  const line = 'whole' in row ? row.whole : (row.right ?? row.left)
  const place = line && placeOf(line, path)
  return place && placeKey(place)
}

function WholeRow({ line }: { line: MarkedLine }): VNode {
  return (
    <tr class={line.kind}>
      <td class="text" colSpan={4}>
        {line.text}
      </td>
    </tr>
  )
}

function Pair(
  props: Omit<TableProps, 'lines'> & { row: Exclude<SplitRow, { whole: unknown }> },
): VNode {
  const { row, colours, remarks } = props
  const { left, right } = row
  const places = (left === right ? [right] : [left, right])
    .map((line) => line && placeOf(line, remarks.path))
    .filter((place) => place !== undefined)
  return (
    <>
      <tr>
        <td class={`number ${left?.kind ?? 'absent'}`}>
          {left?.kind === 'removed' ? (
            <LineNumber line={left} side="old" remarks={remarks} />
          ) : (
            left?.oldNumber
          )}
        </td>
        <LineText line={left} colours={colours} />
        <td class={`number ${right?.kind ?? 'absent'}`}>
          {right && <LineNumber line={right} side="new" remarks={remarks} />}
        </td>
        <LineText line={right} colours={colours} />
      </tr>
      <RemarkRow places={places} remarks={remarks} />
    </>
  )
}

const SIGNS: Readonly<Record<DiffLine['kind'], string>> = {
  added: '+',
  removed: '−',
  same: ' ',
  hunk: ' ',
  note: ' ',
}

function LineText(props: {
  line: MarkedLine | undefined
  colours: DiffColours | undefined
}): VNode {
  const { line, colours } = props
  return (
    <td class={`text ${line?.kind ?? 'absent'}`}>
      {line && <Words line={line} runs={colours?.of(line)} />}
    </td>
  )
}

/** The text of a line. Words that differ have the colour of plain text, which their mark is for. */
function Words(props: { line: MarkedLine; runs: readonly Run[] | undefined }): VNode {
  const { line, runs } = props
  const parts = line.parts ?? [{ text: line.text, isChanged: false }]
  if (!runs)
    return (
      <>{parts.map(({ text, isChanged }, i) => (isChanged ? <mark key={i}>{text}</mark> : text))}</>
    )
  const divided = divideRuns(
    runs,
    parts.map(({ text }) => text.length),
  )
  return (
    <>
      {parts.map(({ text, isChanged }, i) =>
        isChanged ? <mark key={i}>{text}</mark> : divided[i]?.map(colouredText),
      )}
    </>
  )
}

function colouredText({ text, classes }: Run, index: number): ComponentChild {
  return classes.reduceRight<ComponentChild>(
    (inner, name) => (
      <span key={index} class={name}>
        {inner}
      </span>
    ),
    text,
  )
}

/** The place that a comment on a line has; undefined for lines between the changes. */
export function placeOf({ oldNumber, newNumber }: DiffLine, path: string): Place | undefined {
  if (newNumber !== undefined) return { path, side: 'new', line: newNumber }
  if (oldNumber !== undefined) return { path, side: 'old', line: oldNumber }
  return undefined
}

/** The number of a line, which opens a comment on the line. */
function LineNumber(props: {
  line: MarkedLine
  side: 'old' | 'new'
  remarks: Remarks
}): VNode | null {
  const discussion = useContext(DiscussionContext)
  const { line, side, remarks } = props
  const number = side === 'old' ? line.oldNumber : line.newNumber
  if (number === undefined) return null
  if (!discussion?.canComment) return <>{number}</>
  const place: Place = { path: remarks.path, side, line: number }
  return (
    <button
      type="button"
      class="pick"
      tabIndex={line === remarks.entry ? 0 : -1}
      aria-label={`Comment on ${placeText(place)}`}
      onClick={() => remarks.onOpen(place)}
    >
      {number}
    </button>
  )
}

/** Moves the focus from line to line, since a key for each of hundreds of lines is too much. */
function moveAmongLines(event: KeyboardEvent & { currentTarget: HTMLTableElement }): void {
  const { key, target, currentTarget } = event
  const step = key === 'ArrowDown' ? 1 : key === 'ArrowUp' ? -1 : 0
  if (step === 0 || !(target instanceof HTMLElement) || !target.matches('.pick')) return
  const all = [...currentTarget.querySelectorAll<HTMLElement>('.pick')]
  const next = all[all.indexOf(target) + step]
  if (!next) return
  event.preventDefault()
  target.tabIndex = -1
  next.tabIndex = 0
  next.focus()
}

/** The comments and forms below a line. */
function RemarkRow(props: { places: readonly Place[]; remarks: Remarks }): VNode | null {
  const discussion = useContext(DiscussionContext)
  const { places, remarks } = props
  const keys = places.map((place) => ({ place, key: placeKey(place) }))
  if (!discussion || !keys.some(({ key }) => remarks.threads.has(key) || remarks.forms.has(key)))
    return null
  return (
    <tr class="remarks">
      <td colSpan={4}>
        {keys.map(({ place, key }) => (
          <Group key={key}>
            {remarks.threads.get(key)?.map((thread) => (
              <ThreadView
                key={String(thread.comments[0]?.id)}
                discussion={discussion}
                thread={thread}
              />
            ))}
            {remarks.forms.has(key) && (
              <LineForm
                discussion={discussion}
                place={place}
                isFocused={remarks.forms.get(key) === true}
                onClose={() => remarks.onClose(place)}
              />
            )}
          </Group>
        ))}
      </td>
    </tr>
  )
}
