import type { VNode } from 'preact'
import type { ContentsResponse } from '#gen/branchline/v1/content_pb.ts'
import { ContentService } from '#gen/branchline/v1/content_service_pb.ts'
import type { Repository } from '#gen/branchline/v1/repository_pb.ts'
import { useApi } from '../api/client.ts'
import { Command } from '../parts/command.tsx'
import { FileView } from '../parts/file-view.tsx'
import { FolderView } from '../parts/folder-view.tsx'
import { Show, useLoad } from '../parts/load.tsx'
import { findRef, type RefAndPath } from '../parts/refs.ts'
import { RepositoryFrame } from '../parts/repository.tsx'
import type { PageProps } from '../routes.ts'
import { codeHref, repositoryHref } from '../text/addresses.ts'

/** The files of a repository: one folder, or one file. */
export default function CodePage({ owner, repo, rest }: PageProps): VNode {
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
  const { cloneUrl, defaultBranch, permissions } = repository
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
    </>
  )
}

/** What an address leads to. */
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
            <Breadcrumbs name={name} place={{ ref, path }} />
            <a href={`${repositoryHref(name)}/commits/${ref.kind}/${encodeURIComponent(ref.name)}`}>
              History
            </a>
          </div>
          {entry ? (
            <FileView name={name} at={ref} entry={entry} />
          ) : (
            <FolderView name={name} place={{ ref, path }} entries={entries} isCut={truncated} />
          )}
          {path === '' && (
            <Command
              label="Command that clones the repository"
              text={`git clone ${repository.cloneUrl}`}
            />
          )}
        </>
      )}
    </Show>
  )
}

function Breadcrumbs(props: { name: { owner: string; repo: string }; place: RefAndPath }): VNode {
  const { name, place } = props
  const parts = place.path === '' ? [] : place.path.split('/')
  return (
    <nav class="path" aria-label="Path">
      <span class="tag">
        {place.ref.kind}{' '}
        {place.ref.kind === 'commit' ? place.ref.name.slice(0, 10) : place.ref.name}
      </span>{' '}
      <a href={codeHref(name, place.ref, '')}>{name.repo}</a>
      {parts.map((part, i) => {
        const path = parts.slice(0, i + 1).join('/')
        return (
          <span key={path}>
            {' / '}
            {i === parts.length - 1 ? (
              <span aria-current="page">{part}</span>
            ) : (
              <a href={codeHref(name, place.ref, path)}>{part}</a>
            )}
          </span>
        )
      })}
    </nav>
  )
}
