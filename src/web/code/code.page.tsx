import type { VNode } from 'preact'
import type { ContentsResponse } from '#gen/branchline/v1/content_pb.ts'
import { ContentService } from '#gen/branchline/v1/content_service_pb.ts'
import type { Repository } from '#gen/branchline/v1/repository_pb.ts'
import { blameHref, codeHref, encodePath, type RefName, repositoryHref } from '../addresses.ts'
import { useApi } from '../api/client.ts'
import { Command } from '../components/command.tsx'
import { fromBase64, sizeText, Time, textOf } from '../components/formats.tsx'
import { Show, useLoad } from '../components/load.tsx'
import { Markup } from '../components/markup.tsx'
import { RepositoryFrame } from '../repositories/repository.tsx'
import type { PageProps } from '../routes.ts'
import { Download, useIsPublic } from './download.tsx'
import { FileView } from './file-view.tsx'
import { Breadcrumbs, findRef, type RefAndPath, RefChoice } from './refs.tsx'

/** The files of a repository: one folder, or one file. */
export function CodePage({ owner, repo, rest }: PageProps): VNode {
  return (
    <RepositoryFrame owner={owner} repo={repo} tab="Code" title={rest.slice(2).join('/')}>
      {(repository) =>
        repository.empty ? (
          <EmptyRepository repository={repository} />
        ) : (
          <Contents repository={repository} rest={rest} />
        )
      }
    </RepositoryFrame>
  )
}

function EmptyRepository({ repository }: { repository: Repository }): VNode {
  const { cloneUrl, sshUrl, defaultBranch, permissions } = repository
  if (!permissions?.push) return <p>The repository is empty.</p>
  const commands = [
    `git remote add origin ${cloneUrl}`,
    `git push -u origin HEAD:${defaultBranch}`,
  ].join('\n')
  return (
    <>
      <p>The repository is empty. Push what you have:</p>
      <Command label="Commands that push a repository" text={commands} />
      <p>Or begin with a new folder:</p>
      <Command label="Command that clones the repository" text={`git clone ${cloneUrl}`} />
      {sshUrl !== '' && <p>Git over SSH: {sshUrl}</p>}
    </>
  )
}

/** The target of an address. */
interface Place extends RefAndPath {
  readonly entry?: ContentsResponse | undefined
  readonly entries: readonly ContentsResponse[]
  readonly truncated: boolean
}

function Contents({
  repository,
  rest,
}: {
  repository: Repository
  rest: readonly string[]
}): VNode {
  const api = useApi()
  const name = { owner: repository.owner?.login ?? '', repo: repository.name }
  const place = useLoad(
    async (signal): Promise<Place> => {
      const found = await findRef(api, repository, rest, signal)
      const request = { ...name, path: found.path, ref: found.ref.name }
      return { ...found, ...(await api.of(ContentService).getContents(request, { signal })) }
    },
    [rest.join('/')],
  )
  return (
    <Show of={place} isPage>
      {({ ref, path, entry, entries, truncated }) => (
        <>
          <div class="bar">
            <RefChoice name={name} place={{ ref, path }} />
            <Breadcrumbs name={name} place={{ ref, path }} />
            {entry?.type === 'file' && <a href={blameHref(name, ref, path)}>Blame</a>}
            <a href={`${repositoryHref(name)}/commits/${ref.kind}/${encodeURIComponent(ref.name)}`}>
              History
            </a>
          </div>
          {path === '' && <CloneAndDownload repository={repository} at={ref} />}
          {entry ? (
            <FileView repository={repository} at={ref} entry={entry} />
          ) : (
            <FolderView name={name} place={{ ref, path }} entries={entries} isCut={truncated} />
          )}
        </>
      )}
    </Show>
  )
}

/** How a reader gets all files. */
function CloneAndDownload(props: { repository: Repository; at: RefName }): VNode {
  const { repository, at } = props
  return (
    <details>
      <summary>Clone or download</summary>
      <Command
        label="Command that clones the repository"
        text={`git clone ${repository.cloneUrl}`}
      />
      {repository.sshUrl !== '' && (
        <Command
          label="Command that clones the repository over SSH"
          text={`git clone ${repository.sshUrl}`}
        />
      )}
      <div class="buttons">
        <Archive repository={repository} at={at} format="zip">
          ZIP archive
        </Archive>
        <Archive repository={repository} at={at} format="tar.gz">
          tar.gz archive
        </Archive>
      </div>
    </details>
  )
}

function Archive(props: {
  repository: Repository
  at: RefName
  format: 'zip' | 'tar.gz'
  children: string
}): VNode {
  const { of } = useApi()
  const { repository, at, format, children } = props
  const isPublic = useIsPublic(repository)
  const name = { owner: repository.owner?.login ?? '', repo: repository.name }
  const archive = `${at.name}.${format}`
  const file = {
    name: `${repository.name}-${at.name.replaceAll('/', '-')}.${format}`,
    href: `${repositoryHref(name)}/archive/${encodePath(archive)}`,
    bytes: undefined,
    isPublic,
    open: (signal: AbortSignal) => of(ContentService).getArchive({ ...name, archive }, { signal }),
  }
  return <Download file={file}>{children}</Download>
}

interface FolderProps {
  readonly name: { readonly owner: string; readonly repo: string }
  readonly place: RefAndPath
  readonly entries: readonly ContentsResponse[]
  /** Whether there are more entries. */
  readonly isCut: boolean
}

/** A folder: its entries, and its README. */
function FolderView({ name, place, entries, isCut }: FolderProps): VNode {
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
