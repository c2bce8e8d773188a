import type { VNode } from 'preact'
import { CommitService } from '#gen/branchline/v1/commit_service_pb.ts'
import type { ContentsResponse } from '#gen/branchline/v1/content_pb.ts'
import { ContentService } from '#gen/branchline/v1/content_service_pb.ts'
import type { Repository } from '#gen/branchline/v1/repository_pb.ts'
import { blameHref, codeHref, encodePath, type RefName, repositoryHref } from '../addresses.ts'
import { useApi } from '../api/client.ts'
import { Command } from '../components/command.tsx'
import { fromBase64, sizeText, Time, textOf } from '../components/formats.tsx'
import { Icon, type IconName } from '../components/icon.tsx'
import { Later, Show, useLoad } from '../components/load.tsx'
import { Markup } from '../components/markup.tsx'
import { Menu } from '../components/menu.tsx'
import { T, t } from '../language/texts.tsx'
import { RepositoryFrame } from '../repositories/repository.tsx'
import type { PageProps } from '../routes.ts'
import { Download, useIsPublic } from './download.tsx'
import { FileView } from './file-view.tsx'
import { Breadcrumbs, findRef, type RefAndPath, RefChoice } from './refs.tsx'
import { WriteLinks } from './write-links.tsx'

const loadSyncFork = async () => (await import('./sync-fork.tsx')).SyncFork

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
  if (!permissions?.push) return <p>{t('The repository is empty.')}</p>
  const base = repositoryHref({ owner: repository.owner?.login ?? '', repo: repository.name })
  const branch = encodeURIComponent(defaultBranch)
  const commands = [
    `git remote add origin ${cloneUrl}`,
    `git push -u origin HEAD:${defaultBranch}`,
  ].join('\n')
  return (
    <>
      <p>
        <T
          text="The repository is empty. {create}, {upload}, or push what you have:"
          create={<a href={`${base}/_new/${branch}`}>{t('Create a file')}</a>}
          upload={<a href={`${base}/_upload/${branch}`}>{t('upload files')}</a>}
        />
      </p>
      <Command label={t('Commands that push a repository')} text={commands} />
      <p>{t('Or begin with a new folder:')}</p>
      <Command label={t('Command that clones the repository')} text={`git clone ${cloneUrl}`} />
      {sshUrl !== '' && <p>{t('Git over SSH: {url}', { url: sshUrl })}</p>}
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
            <a href={`${repositoryHref(name)}/search?${refQuery(ref, repository)}`}>
              {t('Search code')}
            </a>
            <WriteLinks
              repository={repository}
              place={{ ref, path }}
              isFile={entry !== undefined}
            />
            {entry?.type === 'file' && (
              <a href={blameHref(name, ref, path)} data-key="b">
                {t('Blame')}
              </a>
            )}
            <a href={`${repositoryHref(name)}/commits/${ref.kind}/${encodeURIComponent(ref.name)}`}>
              <Icon name="history" /> {t('History')}
            </a>
            {path === '' && ref.kind === 'branch' && mayUpdate(repository) && repository.parent && (
              <Later
                load={loadSyncFork}
                with={{
                  name,
                  parent: repository.parent,
                  branch: ref.name,
                  onChange: place.reload,
                }}
              />
            )}
            {path === '' && <CloneAndDownload repository={repository} at={ref} />}
          </div>
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

/** Returns whether the user may bring the commits of the parent into a fork. */
function mayUpdate({ fork, archived, permissions }: Repository): boolean {
  return fork && !archived && permissions?.push === true
}

/** Names a revision for the search, unless the search takes it by itself. */
function refQuery(ref: RefName, { defaultBranch }: Repository): string {
  const isDefault = ref.kind === 'branch' && ref.name === defaultBranch
  return String(new URLSearchParams(isDefault ? {} : { ref: ref.name }))
}

/** How a reader gets all files. */
function CloneAndDownload(props: { repository: Repository; at: RefName }): VNode {
  const { repository, at } = props
  return (
    <Menu
      className="main"
      isPanel
      button={
        <>
          <Icon name="code" /> {t('Clone or download')} <Icon name="chevron-down" />
        </>
      }
    >
      <Command
        label={t('Command that clones the repository')}
        text={`git clone ${repository.cloneUrl}`}
      />
      {repository.sshUrl !== '' && (
        <Command
          label={t('Command that clones the repository over SSH')}
          text={`git clone ${repository.sshUrl}`}
        />
      )}
      <div class="buttons">
        <Archive repository={repository} at={at} format="zip">
          {t('ZIP archive')}
        </Archive>
        <Archive repository={repository} at={at} format="tar.gz">
          {t('tar.gz archive')}
        </Archive>
      </div>
    </Menu>
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

/** The most commits that the API has on one page. */
const SUBJECTS = 50

interface FolderProps {
  readonly name: { readonly owner: string; readonly repo: string }
  readonly place: RefAndPath
  readonly entries: readonly ContentsResponse[]
  /** Whether there are more entries. */
  readonly isCut: boolean
}

/** A folder: its entries, and its README. */
function FolderView({ name, place, entries, isCut }: FolderProps): VNode {
  const subjects = useSubjects(name, place)
  const folders = entries.filter(({ type }) => type === 'dir')
  const others = entries.filter(({ type }) => type !== 'dir')
  const readme = others.find((entry) => /^readme(\.(md|markdown|txt))?$/i.test(entry.name))
  return (
    <>
      <table class="files">
        <caption class="hidden">{t('Files and folders')}</caption>
        <thead class="hidden">
          <tr>
            <th scope="col">{t('Name')}</th>
            <th scope="col">{t('Last commit')}</th>
            <th scope="col">{t('Last change')}</th>
            <th scope="col">{t('Size')}</th>
          </tr>
        </thead>
        <tbody>
          {[...folders, ...others].map((entry) => (
            <Entry key={entry.path} {...{ name, place, entry, subjects }} />
          ))}
        </tbody>
      </table>
      {isCut && (
        <p class="note">
          {t('Only the first {count} entries are shown. A clone has all of them.', {
            count: entries.length,
          })}
        </p>
      )}
      {readme && <Readme name={name} place={place} entry={readme} />}
    </>
  )
}

const ENTRY_ICONS: Readonly<Record<string, IconName>> = {
  dir: 'folder',
  symlink: 'file-symlink',
  submodule: 'book-marked',
}

/**
 * Returns the subjects of the newest commits of a folder by their ids. They come after the entries,
 * which show without them.
 */
function useSubjects(
  { owner, repo }: FolderProps['name'],
  { ref, path }: RefAndPath,
): ReadonlyMap<string, string> | undefined {
  const { of } = useApi()
  const { value } = useLoad(
    async (signal) => {
      const request = { owner, repo, sha: ref.name, path, limit: SUBJECTS, stat: false }
      const { commits } = await of(CommitService).listCommits(
        { ...request, files: false, verification: false },
        { signal },
      )
      return new Map(
        commits.map(({ sha, commit }) => [sha, commit?.message.split('\n', 1)[0] ?? '']),
      )
    },
    [ref.name, path],
  )
  return value
}

interface EntryProps extends Pick<FolderProps, 'name' | 'place'> {
  readonly entry: ContentsResponse
  readonly subjects: ReadonlyMap<string, string> | undefined
}

function Entry({ name, place, entry, subjects }: EntryProps): VNode {
  const { lastCommitSha, lastCommitterDate } = entry
  const commit = `${repositoryHref(name)}/commit/${lastCommitSha}`
  const subject = subjects?.get(lastCommitSha)
  return (
    <tr>
      <td>
        <span class="kind">
          <Icon name={ENTRY_ICONS[entry.type] ?? 'file'} />
        </span>{' '}
        {entry.type === 'submodule' ? (
          <span>
            {entry.name}{' '}
            <span class="tag">{t('submodule {commit}', { commit: entry.sha.slice(0, 10) })}</span>
          </span>
        ) : (
          <a href={codeHref(name, place.ref, entry.path)}>
            {entry.name}
            {entry.type === 'dir' && '/'}
          </a>
        )}
      </td>
      <td class="subject">{subject !== undefined && <a href={commit}>{subject}</a>}</td>
      <td>
        {lastCommitSha !== '' && (
          <a href={commit}>
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
