import type { ComponentChildren, VNode } from 'preact'
import type { Repository } from '#gen/branchline/v1/repository_pb.ts'
import { RepositoryService } from '#gen/branchline/v1/repository_service_pb.ts'
import { repositoryHref } from '../addresses.ts'
import { useApi } from '../api/client.ts'
import { Website } from '../components/formats.tsx'
import { Icon, type IconName } from '../components/icon.tsx'
import { Later, type Loaded, Show, useLoad } from '../components/load.tsx'
import { NotFound, useIsKnownMissing, useTitle } from '../components/page.tsx'
import { Tabs } from '../components/tabs.tsx'
import { numberText, t } from '../language/texts.tsx'
import { useFeeds } from './feeds.ts'

const loadActions = async () => (await import('./repository-actions.tsx')).RepositoryActions

const loadTransfer = async () => (await import('./offered-transfer.tsx')).OfferedTransfer

type Tab =
  | 'Code'
  | 'Issues'
  | 'Pull requests'
  | 'Commits'
  | 'Branches'
  | 'Tags'
  | 'Releases'
  | 'Settings'

const ICONS: Readonly<Record<Tab, IconName>> = {
  Code: 'code',
  Issues: 'circle-dot',
  'Pull requests': 'git-pull-request',
  Commits: 'history',
  Branches: 'git-branch',
  Tags: 'tag',
  Releases: 'package',
  Settings: 'settings',
}

const TEXTS: Readonly<Record<Tab, string>> = {
  Code: t('Code'),
  Issues: t('Issues'),
  'Pull requests': t('Pull requests'),
  Commits: t('Commits'),
  Branches: t('Branches'),
  Tags: t('Tags'),
  Releases: t('Releases'),
  Settings: t('Settings'),
}

/** The second keys of the tabs, after `g`. `keyboard/key-list.tsx` has them for the user. */
const KEYS: Readonly<Record<Tab, string>> = {
  Code: 'c',
  Issues: 'i',
  'Pull requests': 'p',
  Commits: 'h',
  Branches: 'b',
  Tags: 't',
  Releases: 'r',
  Settings: 's',
}

interface FrameProps {
  readonly owner: string
  readonly repo: string
  readonly tab: Tab
  /** Subject of the page, for its title. */
  readonly title: string
  readonly children: (repository: Repository, reload: () => void) => ComponentChildren
}

/** Frame of all pages of a repository. */
export function RepositoryFrame(props: FrameProps): VNode {
  return useIsKnownMissing() ? <NotFound /> : <FoundRepository {...props} />
}

function FoundRepository(props: FrameProps): VNode {
  const { of } = useApi()
  const { owner, repo } = props
  const repository = useLoad(
    (signal) => of(RepositoryService).getRepository({ owner, repo }, { signal }),
    [owner, repo],
  )
  return <FrameOf {...props} repository={repository} />
}

/** The frame around a repository that the page loads together with something else. */
export function FrameOf(props: FrameProps & { readonly repository: Loaded<Repository> }): VNode {
  const { session } = useApi()
  const { repository, owner, repo, tab, title, children } = props
  useTitle(title === '' ? `${owner}/${repo}` : `${title} · ${owner}/${repo}`)
  return (
    <Show of={repository} isPage>
      {(value) => (
        <>
          <RepositoryHeader repository={value} tab={tab} reload={repository.reload} />
          {isOffered(value, session.user?.username) && (
            <Later load={loadTransfer} with={{ repository: value }} />
          )}
          {children(value, repository.reload)}
        </>
      )}
    </Show>
  )
}

function RepositoryHeader(props: { repository: Repository; tab: Tab; reload: () => void }): VNode {
  const { session } = useApi()
  const { repository, tab, reload } = props
  useFeeds(repository)
  const { owner, name, description, website, topics, archived, fork, mirror } = repository
  const login = owner?.login ?? ''
  const base = repositoryHref({ owner: login, repo: name })
  const marks = [
    repository.private && t('private'),
    archived && t('archived'),
    fork && t('fork'),
    mirror && t('mirror'),
  ].filter((mark) => mark !== false)
  return (
    <header class="repository">
      <h1>
        <a href={`/${login}`}>{login}</a> / <a href={base}>{name}</a>{' '}
        {marks.map((mark) => (
          <span key={mark} class="tag">
            {mark}
          </span>
        ))}
      </h1>
      {description !== '' && <p>{description}</p>}
      {tab === 'Code' && <Website url={website} />}
      {tab === 'Code' && topics.length > 0 && <Topics topics={topics} />}
      {tab === 'Code' && session.user && (
        <Later
          load={loadActions}
          with={{
            name: { owner: login, repo: name },
            repository,
            user: session.user.username,
            reload,
          }}
        />
      )}
      <RepositoryTabs repository={repository} tab={tab} base={base} />
    </header>
  )
}

/** The ways to the parts of a repository that it has and that the reader may open. */
function RepositoryTabs(props: { repository: Repository; tab: Tab; base: string }): VNode {
  const { repository, tab, base } = props
  const branch = encodeURIComponent(repository.defaultBranch)
  const tabs: readonly (readonly [Tab, string])[] = [
    ['Code', base],
    ...(repository.hasIssues ? [['Issues', `${base}/issues`] as const] : []),
    ...(repository.hasPullRequests ? [['Pull requests', `${base}/pulls`] as const] : []),
    ['Commits', `${base}/commits/branch/${branch}`],
    ['Branches', `${base}/branches`],
    ['Tags', `${base}/tags`],
    ...(repository.hasReleases ? [['Releases', `${base}/releases`] as const] : []),
    ...(repository.permissions?.admin ? [['Settings', `${base}/settings`] as const] : []),
  ]
  const counts: Partial<Record<Tab, bigint>> = {
    Issues: repository.openIssuesCount,
    'Pull requests': repository.openPrCounter,
  }
  return (
    <Tabs label={t('Repository')}>
      {tabs.map(([name, href]) => (
        <a
          key={name}
          href={href}
          aria-current={name === tab ? 'page' : undefined}
          data-key={`g ${KEYS[name]}`}
          data-name={TEXTS[name]}
        >
          <Icon name={ICONS[name]} />
          {TEXTS[name]}
          {!!counts[name] && <span class="tag">{numberText(counts[name])}</span>}
        </a>
      ))}
    </Tabs>
  )
}

/** Topics of a repository, which lead to the repositories with the same topic. */
function Topics({ topics }: { topics: readonly string[] }): VNode {
  return (
    <ul class="topics" aria-label={t('Topics')}>
      {topics.map((topic) => (
        <li key={topic}>
          <a class="tag" href={`/explore?topic=${encodeURIComponent(topic)}`}>
            {topic}
          </a>
        </li>
      ))}
    </ul>
  )
}

/** Returns whether a transfer of a repository waits for a user. */
function isOffered({ repoTransfer }: Repository, username: string | undefined): boolean {
  return username !== undefined && repoTransfer?.recipient?.login === username
}
