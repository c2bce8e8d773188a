import type { VNode } from 'preact'
import { useMemo } from 'preact/hooks'
import { t } from '../language/texts.tsx'
import { Diff } from './diff.tsx'
import { lineDiff } from './line-diff.ts'

/** The changes that lead from a text to another one. */
export function TextChanges(props: {
  path: string
  /** The path before the change; that of a folder, or empty, for a new file. */
  from: string
  before: string
  after: string
}): VNode {
  const { path, from, before, after } = props
  const files = useMemo(() => {
    const isMoved = from !== '' && from !== path && !from.endsWith('/')
    const file = { path, previousPath: isMoved ? from : undefined, isBinary: false }
    return [{ ...file, change: 'changed' as const, lines: lineDiff(before, after) }]
  }, [path, from, before, after])
  if (files[0]?.lines.length === 0) return <p role="status">{t('The text has no changes.')}</p>
  return <Diff files={files} isCut={false} isComplete />
}
