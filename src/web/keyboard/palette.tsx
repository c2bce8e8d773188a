import type { VNode } from 'preact'
import { useEffect, useMemo, useState } from 'preact/hooks'
import { AccountService } from '#gen/branchline/v1/account_service_pb.ts'
import { IssueService } from '#gen/branchline/v1/issue_service_pb.ts'
import { RepositoryService } from '#gen/branchline/v1/repository_service_pb.ts'
import { ownHref } from '../addresses.ts'
import { type Api, useApi } from '../api/client.ts'
import { type Failure, failureOf } from '../api/failure.ts'
import { Avatar } from '../components/avatar.tsx'
import { Icon, type IconName } from '../components/icon.tsx'
import { FailureNote, useLoad } from '../components/load.tsx'
import { goTo } from '../components/navigation.ts'
import { t } from '../language/texts.tsx'
import { type Choice, Chooser, type TextChoice } from './chooser.tsx'
import { fileChoice, useFoundFiles } from './file-finder.tsx'
import type { KeyDialogProps } from './key-choice.ts'
import { loadListChoices } from './list-choices.tsx'
import { loadRepositoryFiles } from './repository-files.ts'

/** Entries of each kind. */
const LIMIT = 5

/** A person who types goes on within this time, so that the server is asked once. */
const PAUSE_MS = 200

/** Pages of all users: the address, the text, the icon. */
const PAGES: readonly (readonly [href: string, text: string, icon: IconName])[] = [
  ['/', t('Home'), 'book-marked'],
  ['/explore', t('Explore'), 'compass'],
  ['/explore/code', t('Search code'), 'search'],
  ['/-/api', t('API'), 'code'],
]

/** Pages of users who are signed in. */
const OWN_PAGES: typeof PAGES = [
  ['/issues', t('Issues and pull requests'), 'circle-dot'],
  ['/notifications', t('Notifications'), 'bell'],
  ['/memos', t('Memos'), 'file'],
  ['/-/import', t('Import a repository'), 'copy'],
  ['/-/organizations', t('Organisations'), 'compass'],
  ['/user/settings', t('Settings'), 'settings'],
  ['/user/settings/keys', t('Settings: keys'), 'lock'],
  ['/user/settings/tokens', t('Settings: access tokens'), 'lock'],
  ['/user/settings/security', t('Settings: security'), 'shield'],
  ['/user/settings/emails', t('Settings: e-mail'), 'settings'],
]

/** One field for everything: pages, repositories, people, issues, pull requests, labels and files. */
export function Palette({ onClose, onOpen }: KeyDialogProps): VNode {
  const api = useApi()
  const [query, setQuery] = useState('')
  const files = useLoad((signal) => loadRepositoryFiles(api, signal), [])
  const matches = useFoundFiles(files.value, query, LIMIT)
  const remote = useRemote(api, query.trim())
  const lists = useLoad((signal) => loadListChoices(api, signal), [])
  const pages = useMemo(() => pageChoices(api, onOpen), [api, onOpen])
  const words = query.toLowerCase().split(/\s+/)
  const isNamed = ({ text }: TextChoice) => words.every((word) => text.toLowerCase().includes(word))
  const choices = [
    ...pages.filter(isNamed).slice(0, query.trim() === '' ? pages.length : LIMIT),
    ...(query.trim() === '' ? [] : (lists.value ?? []).filter(isNamed).slice(0, LIMIT)),
    ...remote.choices,
    ...(query.trim() === '' || !files.value
      ? []
      : matches.map((match) => ({ ...fileChoice(files.value, match), kind: t('file') }))),
  ]
  return (
    <Chooser
      label={t('Find anything')}
      query={query}
      onQuery={setQuery}
      choices={choices}
      status={
        remote.failure ? (
          <FailureNote failure={remote.failure} />
        ) : remote.isLoading ? (
          t('Searching…')
        ) : (
          choices.length === 0 && t('Nothing found.')
        )
      }
      onClose={onClose}
    />
  )
}

/** Returns the pages of the user, and the tabs of the repository on the page. */
function pageChoices({ session }: Api, onOpen: KeyDialogProps['onOpen']): TextChoice[] {
  const tabs = [...document.querySelectorAll<HTMLAnchorElement>('.repository a[data-key]')]
  const known = session.user ? [...PAGES, ...OWN_PAGES] : PAGES
  return [
    ...tabs.map((tab) => ({
      key: `page ${tab.href}`,
      picture: <Icon name="book-marked" />,
      text: tab.dataset.name ?? '',
      kind: t('in this repository'),
      act: () => goTo(tab.href),
    })),
    ...known.map(([href, text, icon]) => ({
      key: `page ${href}`,
      picture: <Icon name={icon} />,
      text,
      kind: t('page'),
      act: () => goTo(href),
    })),
    {
      key: 'keys',
      picture: <Icon name="info" />,
      text: t('Keys @keyboard'),
      kind: t('list'),
      // When this dialog has closed.
      act: () => onOpen('keys'),
    },
  ]
}

interface Remote {
  readonly choices: readonly Choice[]
  readonly failure: Failure | undefined
  readonly isLoading: boolean
}

const NOTHING: Remote = { choices: [], failure: undefined, isLoading: false }

/** Asks the server for what a query finds, once the user pauses. */
function useRemote(api: Api, query: string): Remote {
  const [state, setState] = useState(NOTHING)
  useEffect(() => {
    if (query === '') return setState(NOTHING)
    const ended = new AbortController()
    const { signal } = ended
    setState(({ choices }) => ({ choices, failure: undefined, isLoading: true }))
    const timer = setTimeout(() => {
      findRemote(api, query, signal).then(
        (choices) => signal.aborted || setState({ choices, failure: undefined, isLoading: false }),
        (error: unknown) =>
          signal.aborted || setState({ choices: [], failure: failureOf(error), isLoading: false }),
      )
    }, PAUSE_MS)
    return () => {
      clearTimeout(timer)
      ended.abort()
    }
  }, [api, query])
  return state
}

async function findRemote(api: Api, q: string, signal: AbortSignal): Promise<Choice[]> {
  const { of, session } = api
  const found = await Promise.all([
    findRepositories(api, q, signal),
    // Strangers may not search among the accounts.
    session.user ? findAccounts(api, q, signal) : [],
    of(IssueService)
      .searchIssues({ q, state: 'all', limit: LIMIT, sort: 'relevance' }, { signal })
      .then(({ issues }) =>
        issues.map(({ title, number, repository, pullRequest, htmlUrl }) =>
          linkChoice({
            picture: <Icon name={pullRequest ? 'git-pull-request' : 'circle-dot'} />,
            text: `${title} ${repository?.fullName ?? ''}#${number}`,
            url: htmlUrl,
            kind: pullRequest ? t('pull request') : t('issue'),
          }),
        ),
      ),
  ])
  return found.flat()
}

async function findRepositories({ of }: Api, q: string, signal: AbortSignal): Promise<Choice[]> {
  const request = { q, limit: LIMIT, sort: 'updated', order: 'desc' }
  const { results } = await of(RepositoryService).searchRepositories(request, { signal })
  return (results?.data ?? []).map(({ fullName, htmlUrl, private: isPrivate }) =>
    linkChoice({
      picture: <Icon name={isPrivate ? 'lock' : 'book-marked'} />,
      text: fullName,
      url: htmlUrl,
      kind: t('repository'),
    }),
  )
}

async function findAccounts({ of }: Api, q: string, signal: AbortSignal): Promise<Choice[]> {
  const { results } = await of(AccountService).searchAccounts({ q, limit: LIMIT }, { signal })
  return (results?.data ?? []).map((account) => {
    const { login, fullName, htmlUrl } = account
    return linkChoice({
      picture: <Avatar name={login} account={account} />,
      text: fullName === '' ? login : `${login} (${fullName})`,
      url: htmlUrl,
      kind: t('account'),
    })
  })
}

function linkChoice(link: { picture: VNode; text: string; url: string; kind: string }): Choice {
  const { picture, text, url, kind } = link
  const href = ownHref(url)
  return { key: `${kind} ${href}`, picture, text, kind, act: () => goTo(href) }
}
