import type { VNode } from 'preact'
import { useMemo, useState } from 'preact/hooks'
import type { HttpBody } from '#gen/google/api/httpbody_pb.ts'
import { Field } from '../components/forms.tsx'
import { fragmentName } from '../components/fragments.ts'
import { type Loaded, useLoad } from '../components/load.tsx'
import { useFragment } from '../components/navigation.ts'
import { useChoice } from '../components/stored.ts'
import { plural, T, t } from '../language/texts.tsx'
import { DiffFile, type DiffView, fileFragment, MAX_OPEN_LINES, useNearView } from './diff-file.tsx'
import type { WhiteSpace } from './diff-rows.ts'
import { type DiffFiles, type FileDiff, readDiffFiles } from './diff-text.ts'
import { useHighlighter } from './use-highlighter.ts'

/** Files that appear together when the reader comes near. */
const FILES_OF_A_GROUP = 10

/** A longer list of files is of no use without a filter, and slow. */
const MAX_LISTED = 100

/** Heights of files that are not drawn yet, for the scroll bar. */
const [SUMMARY_REM, LINE_REM] = [4.5, 1.22]

/** The name of a file among the fragments. */
const FILE = /^file-(.+)$/s

/** The changes of several files, one below the other. */
export function Diff({ files, isCut, isComplete }: DiffFiles): VNode {
  const [layout, setLayout] = useChoice('diff-layout', ['unified', 'split'])
  const [whiteSpace, setWhiteSpace] = useState<WhiteSpace>('')
  const highlighter = useHighlighter()
  const view = useMemo(
    () => ({ layout, whiteSpace, highlighter }),
    [layout, whiteSpace, highlighter],
  )
  const [, target = ''] = FILE.exec(fragmentName(useFragment())) ?? []
  const groups = useMemo(() => groupsOf(files), [files])
  if (files.length === 0)
    return isComplete ? <p>{t('No file differs.')}</p> : <p>{t('Loading…')}</p>
  return (
    <section aria-label={t('Changed files')}>
      <p role="status">
        {isComplete
          ? plural(files.length, '{count} changed file', '{count} changed files')
          : plural(
              files.length,
              '{count} changed file so far. More are loading.',
              '{count} changed files so far. More are loading.',
            )}
      </p>
      {isCut && (
        <p class="note">
          <T
            text="The changes are too large to show all of them here. Fetch the commits and use {command} to see the rest."
            command={<code>git diff</code>}
          />
        </p>
      )}
      <div class="row">
        <label>
          {t('Layout')}
          <select
            value={layout}
            onChange={({ currentTarget: { value } }) =>
              setLayout(value === 'split' ? 'split' : 'unified')
            }
          >
            <option value="unified">{t('Unified')}</option>
            <option value="split">{t('Side by side')}</option>
          </select>
        </label>
        <label>
          {t('White space')}
          <select
            value={whiteSpace}
            onChange={({ currentTarget: { value } }) => setWhiteSpace(whiteSpaceOf(value))}
          >
            {WHITE_SPACE.map(([value, text]) => (
              <option key={value} value={value}>
                {text}
              </option>
            ))}
          </select>
        </label>
      </div>
      {files.length > 1 && <FileList files={files} />}
      {groups.map((group, i) => (
        <FileGroup
          key={group[0]?.path}
          files={group}
          view={view}
          target={target}
          isFirst={i === 0}
        />
      ))}
    </section>
  )
}

const WHITE_SPACE: readonly (readonly [WhiteSpace, string])[] = [
  ['', t('Show all changes')],
  ['ignore-eol', t('Ignore changes at the end of lines')],
  ['ignore-change', t('Ignore changes of the amount')],
  ['ignore-all', t('Ignore all white space')],
]

function whiteSpaceOf(value: string): WhiteSpace {
  return WHITE_SPACE.find(([known]) => known === value)?.[0] ?? ''
}

function groupsOf(files: readonly FileDiff[]): FileDiff[][] {
  const groups: FileDiff[][] = []
  for (let i = 0; i < files.length; i += FILES_OF_A_GROUP)
    groups.push(files.slice(i, i + FILES_OF_A_GROUP))
  return groups
}

/** Links to the files, found by a part of their path. */
function FileList({ files }: { files: readonly FileDiff[] }): VNode {
  const [part, setPart] = useState('')
  const [isOpen, setOpen] = useState(false)
  const found = useMemo(
    () => files.filter(({ path }) => path.toLowerCase().includes(part.toLowerCase())),
    [files, part],
  )
  return (
    <details
      class="box"
      onToggle={(event) => setOpen((event.currentTarget as HTMLDetailsElement).open)}
    >
      <summary class="inside">{t('List of files')}</summary>
      {isOpen && (
        <nav aria-label={t('Changed files')}>
          <Field
            label={t('Filter by path')}
            type="search"
            value={part}
            onInput={({ currentTarget }) => setPart(currentTarget.value)}
          />
          <ul class="list">
            {found.slice(0, MAX_LISTED).map(({ path }) => (
              <li key={path}>
                <a href={`#${fileFragment(path)}`}>{path}</a>
              </li>
            ))}
          </ul>
          <p role="status">
            {found.length > MAX_LISTED
              ? t('{count} more. Filter to see them.', { count: found.length - MAX_LISTED })
              : found.length === 0 && t('No path contains this text.')}
          </p>
        </nav>
      )}
    </details>
  )
}

/** Files that are drawn when the reader comes near, and stay then. */
function FileGroup(props: {
  files: readonly FileDiff[]
  view: DiffView
  target: string
  isFirst: boolean
}): VNode {
  const { files, view, target, isFirst } = props
  const [place, isNear] = useNearView()
  if (isNear || isFirst || files.some(({ path }) => path === target))
    return (
      <>
        {files.map((file) => (
          <DiffFile key={file.path} file={file} view={view} isTarget={file.path === target} />
        ))}
      </>
    )
  const rems = files.reduce(
    (sum, { lines: { length } }) =>
      sum + SUMMARY_REM + (length <= MAX_OPEN_LINES ? length * LINE_REM : 0),
    0,
  )
  return <div ref={place} style={{ height: `${rems}rem` }} />
}

/**
 * Loads a diff when the component appears, and when `keys` change. The value grows while it
 * arrives.
 */
export function useDiff(
  open: (signal: AbortSignal) => AsyncIterable<HttpBody>,
  keys: readonly unknown[],
): Loaded<DiffFiles> {
  const [arrived, setArrived] = useState<DiffFiles>()
  const whole = useLoad((signal) => readDiffFiles(open(signal), setArrived), keys)
  return { ...whole, value: whole.value ?? arrived }
}
