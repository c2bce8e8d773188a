import { type ComponentChild, Fragment as Group, type RefObject, type VNode } from 'preact'
import { useContext, useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { sizeText } from '../components/formats.tsx'
import { FailureNote } from '../components/load.tsx'
import { Scrolling } from '../components/page.tsx'
import { draftKeys } from '../components/stored.ts'
import { LineForm } from '../conversations/comment-forms.tsx'
import { DiscussionContext } from '../conversations/discussion.ts'
import { ThreadView } from '../conversations/thread.tsx'
import { numberText, plural, t } from '../language/texts.tsx'
import { type Place, placeKey, placeOfKey, placeText, type Thread } from '../pulls/reviews.ts'
import { ViewedContext } from '../pulls/viewed-files.ts'
import { type DiffColours, useColours } from './diff-colours.ts'
import type { Gap } from './diff-gaps.ts'
import {
  linesToShow,
  type MarkedLine,
  type SplitRow,
  sideBySide,
  type WhiteSpace,
} from './diff-rows.ts'
import { countLines, type DiffLine, type FileDiff, lfsSizes } from './diff-text.ts'
import { divideRuns, type Run } from './runs.ts'
import { useGaps } from './use-gaps.ts'
import type { LoadHighlighter } from './use-highlighter.ts'

/** A file with more lines is closed at first. */
export const MAX_OPEN_LINES = 500

/** More lines make a browser slow. */
const MAX_SHOWN_LINES = 10_000

/** How to show changes. */
export interface DiffView {
  readonly layout: 'unified' | 'split'
  readonly whiteSpace: WhiteSpace
  /** The highlighter of the changes. */
  readonly highlighter: LoadHighlighter
}

interface FileProps {
  readonly file: FileDiff
  readonly view: DiffView
  /** Whether the fragment of the address leads to the file. */
  readonly isTarget: boolean
}

/** Returns the fragment that leads to a file. */
export function fileFragment(path: string): string {
  return `file-${encodeURIComponent(path)}`
}

const CHANGES: Readonly<Record<Exclude<FileDiff['change'], 'changed'>, string>> = {
  added: t('added @file'),
  removed: t('removed @file'),
  renamed: t('renamed @file'),
}

/** The changes of one file. A file in Git LFS has its sizes in place of the lines of its pointer. */
export function DiffFile({ file: changed, view, isTarget }: FileProps): VNode {
  const sizes = useMemo(() => lfsSizes(changed), [changed])
  const file = useMemo(() => (sizes ? { ...changed, lines: [] } : changed), [changed, sizes])
  const { path, previousPath, change, isBinary, lines } = file
  const threads = useContext(DiscussionContext)?.threads.get(path)
  const isShort = lines.length <= MAX_OPEN_LINES
  const [isOpen, setOpen] = useState(isShort)
  const place = useRef<HTMLDetailsElement>(null)
  useEffect(() => {
    if (isTarget) place.current?.querySelector('summary')?.focus({ preventScroll: true })
  }, [isTarget])
  const { added, removed } = useMemo(() => countLines(file), [file])
  const mark = useContext(ViewedContext)?.stateOf(path)
  useEffect(() => {
    if (mark === 'VIEWED') setOpen(false)
  }, [mark])
  return (
    <details
      class="file"
      id={fileFragment(path)}
      ref={place}
      open={isOpen}
      onToggle={(event) => setOpen((event.currentTarget as HTMLDetailsElement).open)}
    >
      <summary>
        <span class="path">{previousPath ? `${previousPath} → ${path}` : path}</span>
        {change !== 'changed' && <span class="tag">{CHANGES[change]}</span>}
        {!isShort && !isOpen && <span class="tag">{t('large @file')}</span>}
        {threads && (
          <span class="tag">{plural(threads.length, '{count} thread', '{count} threads')}</span>
        )}
        {mark === 'VIEWED' && <span class="tag">{t('viewed @file')}</span>}
        {mark === 'CHANGED' && <span class="tag">{t('changed since you viewed it')}</span>}
        <span class="counts">
          <span class="plus">+{numberText(added)}</span>{' '}
          <span class="minus">−{numberText(removed)}</span>
        </span>
      </summary>
      {isBinary && <p class="inside">{t('A binary file.')}</p>}
      {sizes && <p class="inside">LFS: {sizesText(sizes)}</p>}
      {!isBinary && !sizes && lines.length === 0 && (
        <p class="inside">{t('The content is the same.')}</p>
      )}
      {isOpen && <FileLines file={file} view={view} threads={threads ?? NO_THREADS} />}
      <ViewedMark path={path} />
    </details>
  )
}

function sizesText({ before, after }: NonNullable<ReturnType<typeof lfsSizes>>): string {
  return [before, after].flatMap((size) => (size === undefined ? [] : sizeText(size))).join(' → ')
}

/** The mark that the user has viewed a file, behind the lines that the user reads before. */
function ViewedMark({ path }: { path: string }): VNode | null {
  const viewed = useContext(ViewedContext)
  if (!viewed) return null
  return (
    <label class="choice inside">
      <input
        type="checkbox"
        checked={viewed.stateOf(path) === 'VIEWED'}
        onChange={({ currentTarget }) => {
          viewed.mark(path, currentTarget.checked)
          // The mark closes the file, and with it the box that has the focus.
          if (currentTarget.checked)
            currentTarget.closest('details')?.querySelector('summary')?.focus()
        }}
      />{' '}
      {t('Viewed @file')}
      <span class="hidden"> {path}</span>
    </label>
  )
}

const NO_THREADS: readonly Thread[] = []

function FileLines(props: { file: FileDiff; view: DiffView; threads: readonly Thread[] }): VNode {
  const { file, view, threads } = props
  const { path } = file
  const discussion = useContext(DiscussionContext)
  const gaps = useGaps(file)
  const lines = useMemo(
    () => linesToShow(gaps.lines.slice(0, MAX_SHOWN_LINES), view.whiteSpace),
    [gaps.lines, view.whiteSpace],
  )
  const [byLine, elsewhere] = useMemo(
    () => divide(threads, lines, discussion?.head),
    [threads, lines, discussion?.head],
  )
  const forms = useForms(path, discussion?.drafts)
  const entry = useMemo(() => lines.find((line) => placeOf(line, path)), [lines, path])
  const remarks: Remarks = {
    path,
    entry,
    threads: byLine,
    gaps: gaps.gaps,
    onOpenGap: gaps.open,
    codeAt: ({ side, line }) =>
      side === 'new' ? lines.find(({ newNumber }) => newNumber === line)?.text : undefined,
    ...forms,
  }
  const [place, isNear] = useNearView()
  const colours = useColours(file, isNear, view.highlighter)
  const Table = view.layout === 'split' ? SplitTable : UnifiedTable
  return (
    <>
      {discussion?.canComment && (
        <FileComment path={path} onOpen={() => forms.onOpen({ path, side: 'new', line: 0 })} />
      )}
      {lines.length > 0 && (
        <Scrolling label={t('Changes of {file}', { file: path })}>
          <div ref={place}>
            <Table lines={lines} colours={colours} remarks={remarks} />
          </div>
        </Scrolling>
      )}
      {gaps.end && lines.length < MAX_SHOWN_LINES && (
        <p class="inside">
          <GapButton gap={gaps.end} path={path} onOpen={() => gaps.open(file.lines.at(-1))} />
        </p>
      )}
      {gaps.failure && <FailureNote failure={gaps.failure} />}
      {file.lines.length > MAX_SHOWN_LINES && (
        <p class="note">
          {t('Only the first {count} lines are shown. A clone has the rest.', {
            count: MAX_SHOWN_LINES,
          })}
        </p>
      )}
      {discussion &&
        hiddenForms(forms.forms, lines, path).map((place) => (
          <LineForm
            key={placeKey(place)}
            discussion={discussion}
            place={place}
            isFocused={forms.forms.get(placeKey(place)) === true}
            onClose={() => forms.onClose(place)}
          />
        ))}
      {discussion &&
        elsewhere.map((thread) => (
          <ThreadView
            key={String(thread.comments[0]?.id)}
            discussion={discussion}
            thread={thread}
          />
        ))}
    </>
  )
}

/** A button that opens a comment on a whole file. */
function FileComment({ path, onOpen }: { path: string; onOpen: () => void }): VNode {
  return (
    <p class="inside">
      <button type="button" class="small" onClick={onOpen}>
        {t('Comment on the file')}
        <span class="hidden"> {path}</span>
      </button>
    </p>
  )
}

/** Separates the threads on lines that are shown from all others. */
function divide(
  threads: readonly Thread[],
  lines: readonly MarkedLine[],
  head: string | undefined,
): readonly [Map<string, Thread[]>, Thread[]] {
  const isShown = ({ place, comments: [first] }: Thread) =>
    lines.some(({ kind, oldNumber, newNumber }) =>
      place.side === 'old'
        ? kind === 'removed' && oldNumber === place.line
        : newNumber === place.line && first?.commitId === head,
    )
  const byLine = new Map<string, Thread[]>()
  const elsewhere: Thread[] = []
  for (const thread of threads) {
    const key = placeKey(thread.place)
    if (isShown(thread)) byLine.set(key, [...(byLine.get(key) ?? []), thread])
    else elsewhere.push(thread)
  }
  return [byLine, elsewhere]
}

/** Returns the places of open forms whose lines have left the changes. */
function hiddenForms(
  forms: Remarks['forms'],
  lines: readonly MarkedLine[],
  path: string,
): readonly Place[] {
  if (forms.size === 0) return []
  const shown = new Set(
    lines.map((line) => placeOf(line, path)).map((place) => place && placeKey(place)),
  )
  return [...forms.keys()].filter((key) => !shown.has(key)).map(placeOfKey)
}

/** The open forms of a file. Forms with a text that was not sent are open after a reload. */
function useForms(
  path: string,
  drafts: string | undefined,
): Pick<Remarks, 'forms' | 'onOpen' | 'onClose'> {
  const [forms, setForms] = useState<ReadonlyMap<string, boolean>>(new Map())
  // The changes can be there before it is known who reads them.
  useEffect(() => {
    if (drafts === undefined) return
    const keys = draftKeys(drafts).map((key) => key.slice(drafts.length))
    const kept = keys.filter((key) => placeOfKey(key).path === path)
    setForms((before) => new Map([...kept.map((key) => [key, false] as const), ...before]))
  }, [path, drafts])
  return {
    forms,
    onOpen: (place) => setForms((before) => new Map(before).set(placeKey(place), true)),
    onClose: (place) =>
      setForms((before) => {
        const after = new Map(before)
        after.delete(placeKey(place))
        return after
      }),
  }
}

/** Elements appear before the reader has scrolled to them. */
const MARGIN = '1000px'

/** Returns whether an element has been near the part of the page that the reader sees. */
export function useNearView(): readonly [place: RefObject<HTMLDivElement | null>, isNear: boolean] {
  const place = useRef<HTMLDivElement>(null)
  const [isNear, setNear] = useState(false)
  useEffect(() => {
    const element = place.current
    if (isNear || !element) return
    const observer = new IntersectionObserver(
      (entries) => {
        if (entries.some(({ isIntersecting }) => isIntersecting)) setNear(true)
      },
      { rootMargin: MARGIN },
    )
    observer.observe(element)
    return () => observer.disconnect()
  }, [isNear])
  return [place, isNear]
}

/** The lines of a file that have remarks. */
interface Remarks {
  readonly path: string
  /** The line that the tab key reaches. From there, the arrow keys go to the others. */
  readonly entry: MarkedLine | undefined
  readonly threads: ReadonlyMap<string, readonly Thread[]>
  /** Lines with a form, and whether the user has just opened the form. */
  readonly forms: ReadonlyMap<string, boolean>
  /** What is left out above lines that begin a hunk. */
  readonly gaps: ReadonlyMap<DiffLine, Gap>
  onOpenGap(line: DiffLine): void
  /** Returns the text of a line that a comment can propose to change. */
  codeAt(place: Place): string | undefined
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
function UnifiedTable({ lines, colours, remarks }: TableProps): VNode {
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
                <td class={`text ${line.kind}`}>
                  <GapAbove line={line} remarks={remarks} />
                  <Words line={line} runs={colours?.of(line)} />
                </td>
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
function SplitTable({ lines, colours, remarks }: TableProps): VNode {
  const rows = useMemo(() => sideBySide(lines), [lines])
  return (
    <table class="diff split" onKeyDown={moveAmongLines}>
      <tbody>
        {rows.map((row, i) => (
          <Group key={rowKey(row, remarks.path) ?? i}>
            {'whole' in row ? (
              <WholeRow line={row.whole} remarks={remarks} />
            ) : (
              <Pair row={row} colours={colours} remarks={remarks} />
            )}
          </Group>
        ))}
      </tbody>
    </table>
  )
}

/** Shows lines that are left out above a hunk. */
function GapAbove({ line, remarks }: { line: MarkedLine; remarks: Remarks }): VNode | null {
  const gap = remarks.gaps.get(line)
  if (!gap) return null
  return (
    <>
      <GapButton gap={gap} path={remarks.path} onOpen={() => remarks.onOpenGap(line)} />{' '}
    </>
  )
}

function GapButton(props: { gap: Gap; path: string; onOpen: () => void }): VNode {
  const { gap, path, onOpen } = props
  const from = String(gap.from)
  const about =
    gap.to === undefined
      ? t('of the lines from {from} of {file}', { from, file: path })
      : t('of the lines {from} to {to} of {file}', { from, to: String(gap.to), file: path })
  return (
    <button type="button" class="small" onClick={onOpen}>
      {t('Show more')}
      <span class="hidden"> {about}</span>
    </button>
  )
}

function rowKey(row: SplitRow, path: string): string | undefined {
  const line = 'whole' in row ? row.whole : (row.right ?? row.left)
  const place = line && placeOf(line, path)
  return place && placeKey(place)
}

function WholeRow({ line, remarks }: { line: MarkedLine; remarks: Remarks }): VNode {
  return (
    <tr class={line.kind}>
      <td class="text" colSpan={4}>
        <GapAbove line={line} remarks={remarks} />
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
      aria-label={t('Comment on {place} @action', { place: placeText(place) })}
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
                code={remarks.codeAt(place)}
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
