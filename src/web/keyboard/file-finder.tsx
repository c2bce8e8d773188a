import type { VNode } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { codeHref } from '../addresses.ts'
import { useApi } from '../api/client.ts'
import { Icon } from '../components/icon.tsx'
import { FailureNote, useLoad } from '../components/load.tsx'
import { goTo } from '../components/navigation.ts'
import { t } from '../language/texts.tsx'
import { type Choice, Chooser } from './chooser.tsx'
import type { FuzzyMatch } from './fuzzy.ts'
import type { KeyDialogProps } from './key-choice.ts'
import { loadRepositoryFiles, type RepositoryFiles } from './repository-files.ts'

/** Files in the list. A person types another letter rather than reading on. */
const LIMIT = 30

/** Finds a file of the repository by letters of its path. */
export function FileFinder({ onClose }: KeyDialogProps): VNode {
  const api = useApi()
  const [query, setQuery] = useState('')
  const files = useLoad((signal) => loadRepositoryFiles(api, signal), [])
  const found = useFoundFiles(files.value, query, LIMIT)
  return (
    <Chooser
      label={t('Find a file')}
      query={query}
      onQuery={setQuery}
      choices={files.value ? found.map((match) => fileChoice(files.value, match)) : []}
      status={
        files.failure ? (
          <FailureNote failure={files.failure} />
        ) : (
          statusOf(files.value, found.length)
        )
      }
      onClose={onClose}
    />
  )
}

function statusOf(files: RepositoryFiles | undefined, count: number): string {
  if (!files) return t('Loading…')
  const none = count === 0 ? t('No file.') : ''
  return files.isTruncated ? `${none} ${t('Only a part of the files is in the list.')}` : none
}

/** Returns the files that match a query best. Those of the query before stay until they are found. */
export function useFoundFiles(
  files: RepositoryFiles | undefined,
  query: string,
  limit: number,
): readonly FuzzyMatch[] {
  const [found, setFound] = useState<readonly FuzzyMatch[]>([])
  useEffect(() => {
    const ended = new AbortController()
    files?.paths.find(query, limit, ended.signal).then(
      (matches) => ended.signal.aborted || setFound(matches),
      // Another query has taken its place.
      () => undefined,
    )
    return () => ended.abort()
  }, [files, query, limit])
  return found
}

/** Returns a file as something to choose. */
export function fileChoice(files: RepositoryFiles | undefined, match: FuzzyMatch): Choice {
  const { text: path } = match
  return {
    key: `file ${path}`,
    picture: <Icon name="file" />,
    text: <Marked match={match} />,
    act: () => files && goTo(codeHref(files.name, files.ref, path)),
  }
}

/** A text with marks at the letters of the query. */
function Marked({ match: { text, positions } }: { match: FuzzyMatch }): VNode {
  const runs: { readonly start: number; end: number }[] = []
  for (const position of positions) {
    const last = runs.at(-1)
    if (last?.end === position) last.end += 1
    else runs.push({ start: position, end: position + 1 })
  }
  return (
    <>
      {runs.map(({ start, end }, i) => (
        <span key={start}>
          {text.slice(runs[i - 1]?.end ?? 0, start)}
          <mark>{text.slice(start, end)}</mark>
        </span>
      ))}
      {text.slice(runs.at(-1)?.end ?? 0)}
    </>
  )
}
