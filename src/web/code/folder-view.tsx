import type { VNode } from 'preact'
import type { ContentsResponse } from '#gen/branchline/v1/content_pb.ts'
import { ContentService } from '#gen/branchline/v1/content_service_pb.ts'
import { codeHref, encodePath, repositoryHref } from '../addresses.ts'
import { useApi } from '../api/client.ts'
import { fromBase64, sizeText, textOf } from '../components/bytes.ts'
import { Show, useLoad } from '../components/load.tsx'
import { Markup } from '../components/markup.tsx'
import { Time } from '../components/time.tsx'
import type { RefAndPath } from './refs.ts'

interface FolderProps {
  readonly name: { readonly owner: string; readonly repo: string }
  readonly place: RefAndPath
  readonly entries: readonly ContentsResponse[]
  /** Whether there are more entries. */
  readonly isCut: boolean
}

/** A folder: its entries, and its README. */
export function FolderView({ name, place, entries, isCut }: FolderProps): VNode {
  const folders = entries.filter(({ type }) => type === 'dir')
  const others = entries.filter(({ type }) => type !== 'dir')
  const readme = others.find((entry) => /^readme(\.(md|markdown|txt))?$/i.test(entry.name))
  return (
    <>
      <table class="files">
        <caption class="hidden">Files and folders</caption>
        <thead class="hidden">
          <tr>
            <th scope="col">Name</th>
            <th scope="col">Last change</th>
            <th scope="col">Size</th>
          </tr>
        </thead>
        <tbody>
          {[...folders, ...others].map((entry) => (
            <Entry key={entry.path} name={name} place={place} entry={entry} />
          ))}
        </tbody>
      </table>
      {isCut && (
        <p class="note">
          Only the first {entries.length.toLocaleString()} entries are shown. A clone has all of
          them.
        </p>
      )}
      {readme && <Readme name={name} place={place} entry={readme} />}
    </>
  )
}

function Entry(props: Pick<FolderProps, 'name' | 'place'> & { entry: ContentsResponse }): VNode {
  const { name, place, entry } = props
  const { lastCommitSha, lastCommitterDate } = entry
  return (
    <tr>
      <td>
        <span class="kind" aria-hidden="true">
          {entry.type === 'dir' ? '▸' : ' '}
        </span>
        {entry.type === 'submodule' ? (
          <span>
            {entry.name} <span class="tag">submodule {entry.sha.slice(0, 10)}</span>
          </span>
        ) : (
          <a href={codeHref(name, place.ref, entry.path)}>
            {entry.name}
            {entry.type === 'dir' && '/'}
          </a>
        )}
      </td>
      <td>
        {lastCommitSha !== '' && (
          <a href={`${repositoryHref(name)}/commit/${lastCommitSha}`}>
            <Time at={lastCommitterDate} />
          </a>
        )}
      </td>
      <td class="size">{entry.type === 'file' && sizeText(entry.size)}</td>
    </tr>
  )
}

function Readme(props: Pick<FolderProps, 'name' | 'place'> & { entry: ContentsResponse }): VNode {
  const { of } = useApi()
  const { name, place, entry } = props
  const file = useLoad(
    (signal) =>
      of(ContentService).getContents(
        { ...name, path: entry.path, ref: place.ref.name },
        { signal },
      ),
    [entry.path, place.ref.name],
  )
  const base = {
    page: codeHref(name, place.ref, place.path),
    raw: `${repositoryHref(name)}/raw/commit/${encodeURIComponent(place.ref.name)}${place.path === '' ? '' : `/${encodePath(place.path)}`}`,
  }
  return (
    <section class="readme" aria-label={entry.name}>
      <Show of={file}>
        {({ entry: read }) => {
          const text = read?.content === undefined ? undefined : textOf(fromBase64(read.content))
          if (text === undefined) return null
          return /\.(md|markdown)$/i.test(entry.name) ? (
            <Markup text={text} base={base} />
          ) : (
            <pre class="markup">{text}</pre>
          )
        }}
      </Show>
    </section>
  )
}
