import type { VNode } from 'preact'
import { useMemo, useState } from 'preact/hooks'
import type { ShownText } from '../text/bytes.ts'
import { countLines, type DiffLine, type FileDiff, readDiff } from '../text/diff.ts'
import { Scrolling } from './scrolling.tsx'

/** A file with more lines is closed at first. */
const MAX_OPEN_LINES = 500

/** Files after these are closed at first, so that a large diff appears at once. */
const MAX_OPEN_FILES = 20

/** The changes of several files, one below the other. */
export function Diff({ text, isCut }: ShownText): VNode {
  const files = useMemo(() => readDiff(text), [text])
  if (files.length === 0) return <p>No file differs.</p>
  return (
    <section aria-label="Changed files">
      <p>
        {files.length === 1 ? '1 changed file' : `${files.length.toLocaleString()} changed files`}
      </p>
      {isCut && (
        <p class="note">
          The changes are too large to show all of them here. Fetch the commits and use{' '}
          <code>git diff</code> to see the rest.
        </p>
      )}
      {files.map((file, i) => (
        <File key={file.path} file={file} isOpenAtFirst={i < MAX_OPEN_FILES} />
      ))}
    </section>
  )
}

function File({ file, isOpenAtFirst }: { file: FileDiff; isOpenAtFirst: boolean }): VNode {
  const { path, previousPath, change, isBinary, lines } = file
  const [isOpen, setOpen] = useState(isOpenAtFirst && lines.length <= MAX_OPEN_LINES)
  const { added, removed } = countLines(file)
  return (
    <details
      class="file"
      open={isOpen}
      onToggle={(event) => setOpen((event.currentTarget as HTMLDetailsElement).open)}
    >
      <summary>
        <span class="path">{previousPath ? `${previousPath} → ${path}` : path}</span>
        {change !== 'changed' && <span class="tag">{change}</span>}
        <span class="counts">
          <span class="plus">+{added.toLocaleString()}</span>{' '}
          <span class="minus">−{removed.toLocaleString()}</span>
        </span>
      </summary>
      {isBinary && <p class="inside">A binary file.</p>}
      {!isBinary && lines.length === 0 && <p class="inside">The content is the same.</p>}
      {isOpen && lines.length > 0 && (
        <Scrolling label={`Changes of ${path}`}>
          <table class="diff">
            <tbody>{lines.map(line)}</tbody>
          </table>
        </Scrolling>
      )}
    </details>
  )
}

const SIGNS: Readonly<Record<DiffLine['kind'], string>> = {
  added: '+',
  removed: '−',
  same: ' ',
  hunk: ' ',
  note: ' ',
}

function line({ kind, text, oldNumber, newNumber }: DiffLine, i: number): VNode {
  return (
    <tr key={i} class={kind}>
      <td class="number">{oldNumber}</td>
      <td class="number">{newNumber}</td>
      <td class="sign">{SIGNS[kind]}</td>
      <td class="text">{text}</td>
    </tr>
  )
}
