import type { VNode } from 'preact'
import { useEffect, useMemo, useState } from 'preact/hooks'
import type { ContentsResponse } from '#gen/branchline/v1/content_pb.ts'
import { ContentService } from '#gen/branchline/v1/content_service_pb.ts'
import type { Repository } from '#gen/branchline/v1/repository_pb.ts'
import { codeHref, encodePath, type RefName, repositoryHref } from '../addresses.ts'
import { useApi } from '../api/client.ts'
import { fromBase64, sizeText, textOf, toBase64 } from '../components/formats.tsx'
import { namedLines } from '../components/fragments.ts'
import { Later, Show, useLoad } from '../components/load.tsx'
import { Fragment, Markup } from '../components/markup.tsx'
import { useFragment } from '../components/navigation.ts'
import { Scrolling } from '../components/page.tsx'
import { pictureType } from '../components/pictures.ts'
import { t } from '../language/texts.tsx'
import { isCodeOwnersFile } from './code-owners-file.ts'
import { Download, saveFile, useIsPublic } from './download.tsx'
import { readFile } from './received.ts'
import type { ColouredLines } from './runs.ts'
import { useHighlighter } from './use-highlighter.ts'

/** Larger files have no colours, since these would take more than a moment. */
const MAX_COLOURED_CHARACTERS = 200_000

/** Longer files are cut, since a browser lays out so many lines slowly. */
const MAX_SHOWN_CHARACTERS = 1_000_000

/** Longer files have numbers without links. */
const MAX_LINKED_LINES = 10_000

const loadCodeOwnerErrors = async () => (await import('./code-owner-errors.tsx')).CodeOwnerErrors

interface FileProps {
  readonly repository: Repository
  readonly at: RefName
  readonly entry: ContentsResponse
}

/** A file: text with colours, a picture, or a download. */
export function FileView({ repository, at, entry }: FileProps): VNode {
  const bytes = useMemo(
    () => (entry.content === undefined ? undefined : fromBase64(entry.content)),
    [entry.content],
  )
  if (entry.lfsOid !== undefined) return <LfsFile repository={repository} at={at} entry={entry} />
  return (
    <section aria-label={entry.path} data-lines={entry.type === 'file' ? '' : undefined}>
      <p class="facts">
        {sizeText(entry.size)} {bytes && <SaveButton name={entry.name} bytes={bytes} />}
      </p>
      {isCodeOwnersFile(entry.path) && repository.permissions?.push && (
        <Later
          load={loadCodeOwnerErrors}
          with={{ name: nameOf(repository), at, paths: [entry.path] }}
        />
      )}
      {entry.type === 'symlink' && (
        <p>{t('A symbolic link to {target}.', { target: entry.target ?? '' })}</p>
      )}
      {entry.type === 'file' && bytes === undefined && (
        <LargeFile repository={repository} at={at} entry={entry} />
      )}
      {entry.type === 'file' && bytes && (
        <Content repository={repository} at={at} entry={entry} bytes={bytes} />
      )}
    </section>
  )
}

/** Saves the bytes that the page has already, since a link could not say who the user is. */
function SaveButton({ name, bytes }: { name: string; bytes: Uint8Array<ArrayBuffer> }): VNode {
  return (
    <button type="button" onClick={() => saveFile(name, new Blob([bytes]))}>
      {t('Download')}
    </button>
  )
}

/** A larger file in Git LFS is for a download. */
const MAX_LFS_BYTES = 1024 ** 2

/** A file in Git LFS: its object, as a file of that size. */
function LfsFile({ repository, at, entry }: FileProps): VNode {
  const { of } = useApi()
  const name = nameOf(repository)
  const size = Number(entry.lfsSize ?? 0n)
  const open = (signal: AbortSignal) =>
    of(ContentService).getRawFile(
      { ...name, ref: at.name, path: entry.path, form: 'media' },
      { signal },
    )
  const isShown = size <= MAX_LFS_BYTES
  const object = useLoad(
    async (signal) => {
      const blob = isShown ? await readFile(open(signal), MAX_LFS_BYTES, () => {}) : undefined
      return { bytes: blob && new Uint8Array(await blob.arrayBuffer()) }
    },
    [repository.id, at.name, entry.lfsOid, entry.path],
  )
  return (
    <section aria-label={entry.path}>
      <p class="facts">
        {sizeText(size)} <span class="tag">LFS</span> <code>{entry.lfsOid}</code>
      </p>
      <Show of={object}>
        {({ bytes }) => {
          if (!bytes) return <LargeFile repository={repository} at={at} entry={entry} />
          // The server sends the pointer in place of an object that it does not have.
          const isMissing = bytes.length !== size
          return (
            <>
              {isMissing ? (
                <p class="note">{t('The server does not have the content of this file.')}</p>
              ) : (
                <SaveButton name={entry.name} bytes={bytes} />
              )}
              {isMissing || <Content repository={repository} at={at} entry={entry} bytes={bytes} />}
            </>
          )
        }}
      </Show>
    </section>
  )
}

function nameOf({ owner, name }: Repository): { owner: string; repo: string } {
  return { owner: owner?.login ?? '', repo: name }
}

/** A file that the API does not send with its facts. */
function LargeFile({ repository, at, entry }: FileProps): VNode {
  const { of } = useApi()
  const isPublic = useIsPublic(repository)
  const name = nameOf(repository)
  const isLfs = entry.lfsOid !== undefined
  const place = `${encodeURIComponent(at.name)}/${encodePath(entry.path)}`
  const file = {
    name: entry.name,
    href: isLfs
      ? `/api/v1/repos${repositoryHref(name)}/media/${place}`
      : `${repositoryHref(name)}/raw/commit/${place}`,
    bytes: Number(entry.lfsSize ?? entry.size),
    isPublic,
    open: (signal: AbortSignal) =>
      of(ContentService).getRawFile(
        { ...name, ref: at.name, path: entry.path, form: isLfs ? 'media' : '' },
        { signal },
      ),
  }
  return (
    <div class="note">
      <p>{t('The file is too large to show here.')}</p>
      <Download file={file}>{t('Download {file}', { file: entry.name })}</Download>
    </div>
  )
}

function Content(props: FileProps & { bytes: Uint8Array }): VNode {
  const { repository, at, entry, bytes } = props
  const name = nameOf(repository)
  const picture = pictureType(entry.name)
  const text = textOf(bytes)
  const lines = namedLines(useFragment())
  if (picture !== undefined)
    return (
      <img class="picture" src={`data:${picture};base64,${toBase64(bytes)}`} alt={entry.name} />
    )
  if (text === undefined) return <p class="note">{t('A binary file.')}</p>
  // A text in Markdown shows no lines.
  if (lines || !/\.(md|markdown)$/i.test(entry.name))
    return <Source text={text} path={entry.path} />
  const folder = entry.path.split('/').slice(0, -1).join('/')
  const raw = `${repositoryHref(name)}/raw/commit/${encodeURIComponent(at.name)}`
  const base = {
    page: codeHref(name, at, folder),
    raw: folder === '' ? raw : `${raw}/${encodePath(folder)}`,
  }
  return <Markup text={text} base={base} />
}

/**
 * The numbers of lines, which are links to the lines as far as a browser lays them out quickly. A
 * screen reader and the tab key pass over them.
 */
function LineNumbers({ count }: { count: number }): VNode {
  const { first, last } = namedLines(useFragment()) ?? { first: 0, last: 0 }
  const isMarked = (number: number) => number >= first && number <= last
  const numbers = Array.from({ length: count }, (_, i) => i + 1)
  return (
    <pre class="numbers" aria-hidden="true">
      {count > MAX_LINKED_LINES ? (
        <>
          {textWithNumbers(numbers.filter((number) => number < first))}
          <span id={`L${first}`} class="marked">
            {textWithNumbers(numbers.filter(isMarked))}
          </span>
          {textWithNumbers(numbers.filter((number) => number >= first && number > last))}
        </>
      ) : (
        numbers.map((number) => (
          <a
            key={number}
            id={`L${number}`}
            class={isMarked(number) ? 'marked' : undefined}
            href={`#L${number}`}
            tabIndex={-1}
          >
            {`${number}\n`}
          </a>
        ))
      )}
    </pre>
  )
}

function textWithNumbers(numbers: readonly number[]): string {
  return numbers.map((number) => `${number}\n`).join('')
}

/** The lines of a text. Colours appear when their script has loaded. */
function Source({ text, path }: { text: string; path: string }): VNode {
  const shown = text.slice(0, MAX_SHOWN_CHARACTERS)
  const [colours, setColours] = useState<DocumentFragment>()
  const load = useHighlighter()
  useEffect(() => {
    const ended = new AbortController()
    const colour = async () => {
      const highlighter = await load()
      const [lines] = (await highlighter.highlight([shown], path, ended.signal)) ?? []
      if (!ended.signal.aborted) setColours(lines && elementsOf(lines))
    }
    // The plain text stays.
    if (shown.length <= MAX_COLOURED_CHARACTERS) colour().catch(() => undefined)
    return () => ended.abort()
  }, [shown, path, load])
  const count = shown.replace(/\n$/, '').split('\n').length
  return (
    <>
      {shown.length < text.length && (
        <p class="note">{t('Only the beginning is shown. Download the file to see all of it.')}</p>
      )}
      <Scrolling className="source" label={t('Content of {file}', { file: path })}>
        <LineNumbers count={count} />
        <pre>{colours ? <Fragment of={colours} tag="code" /> : <code>{shown}</code>}</pre>
      </Scrolling>
    </>
  )
}

/** Returns the elements of a text with colours. */
function elementsOf(lines: ColouredLines): DocumentFragment {
  const content = document.createDocumentFragment()
  for (const [i, runs] of lines.entries()) {
    if (i > 0) content.append('\n')
    for (const { text, classes } of runs) content.append(elementOf(text, classes))
  }
  return content
}

function elementOf(text: string, classes: readonly string[]): Node {
  return classes.reduceRight<Node>((inner, className) => {
    const span = document.createElement('span')
    span.className = className
    span.append(inner)
    return span
  }, document.createTextNode(text))
}
