import type { RefObject, VNode } from 'preact'
import { useContext, useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { counted } from '../components/formats.tsx'
import { Scrolling } from '../components/page.tsx'
import { draftKeys } from '../components/stored.ts'
import { LineForm } from '../conversations/comment-forms.tsx'
import { DiscussionContext } from '../conversations/discussion.ts'
import { ThreadView } from '../conversations/thread.tsx'
import { type Place, placeKey, placeOfKey, type Thread } from '../pulls/reviews.ts'
import { useColours } from './diff-colours.ts'
import { linesToShow, type MarkedLine, type WhiteSpace } from './diff-rows.ts'
import { placeOf, type Remarks, SplitTable, UnifiedTable } from './diff-table.tsx'
import { countLines, type FileDiff } from './diff-text.ts'
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

/** The changes of one file. */
export function DiffFile({ file, view, isTarget }: FileProps): VNode {
  const { path, previousPath, change, isBinary, lines } = file
  const threads = useContext(DiscussionContext)?.threads.get(path)
  const isShort = lines.length <= MAX_OPEN_LINES
  const [isOpen, setOpen] = useState(isShort)
  const place = useRef<HTMLDetailsElement>(null)
  useEffect(() => {
    if (isTarget) place.current?.querySelector('summary')?.focus({ preventScroll: true })
  }, [isTarget])
  const { added, removed } = useMemo(() => countLines(file), [file])
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
        {change !== 'changed' && <span class="tag">{change}</span>}
        {!isShort && !isOpen && <span class="tag">large</span>}
        {threads && <span class="tag">{counted(threads.length, 'thread')}</span>}
        <span class="counts">
          <span class="plus">+{added.toLocaleString()}</span>{' '}
          <span class="minus">−{removed.toLocaleString()}</span>
        </span>
      </summary>
      {isBinary && <p class="inside">A binary file.</p>}
      {!isBinary && lines.length === 0 && <p class="inside">The content is the same.</p>}
      {isOpen && <FileLines file={file} view={view} threads={threads ?? NO_THREADS} />}
    </details>
  )
}

const NO_THREADS: readonly Thread[] = []

function FileLines(props: { file: FileDiff; view: DiffView; threads: readonly Thread[] }): VNode {
  const { file, view, threads } = props
  const { path } = file
  const discussion = useContext(DiscussionContext)
  const lines = useMemo(
    () => linesToShow(file.lines.slice(0, MAX_SHOWN_LINES), view.whiteSpace),
    [file, view.whiteSpace],
  )
  const [byLine, elsewhere] = useMemo(
    () => divide(threads, lines, discussion?.head),
    [threads, lines, discussion?.head],
  )
  const forms = useForms(path, discussion?.drafts)
  const entry = useMemo(() => lines.find((line) => placeOf(line, path)), [lines, path])
  const remarks: Remarks = { path, entry, threads: byLine, ...forms }
  const [place, isNear] = useNearView()
  const colours = useColours(file, isNear, view.highlighter)
  const Table = view.layout === 'split' ? SplitTable : UnifiedTable
  return (
    <>
      {lines.length > 0 && (
        <Scrolling label={`Changes of ${path}`}>
          <div ref={place}>
            <Table lines={lines} colours={colours} remarks={remarks} />
          </div>
        </Scrolling>
      )}
      {file.lines.length > MAX_SHOWN_LINES && (
        <p class="note">
          Only the first {MAX_SHOWN_LINES.toLocaleString()} lines are shown. A clone has the rest.
        </p>
      )}
      {discussion &&
        hiddenForms(forms.forms, lines, path).map((place) => (
          <LineForm
            key={placeKey(place)}
            discussion={discussion}
            place={place}
            isFocused={false}
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
