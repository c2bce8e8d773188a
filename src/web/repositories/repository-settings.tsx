import type { ComponentChildren, VNode } from 'preact'
import type { Repository } from '#gen/branchline/v1/repository_pb.ts'
import { User_Role } from '#gen/branchline/v1/user_pb.ts'
import { repositoryHref } from '../addresses.ts'
import { useApi } from '../api/client.ts'
import { SignInLink } from '../components/page.tsx'
import { Tabs } from '../components/tabs.tsx'
import { t } from '../language/texts.tsx'
import { RepositoryFrame } from './repository.tsx'

const PAGES = [
  ['', 'General', t('General')],
  ['/branches', 'Branch rules', t('Branch rules')],
  ['/collaborators', 'Collaborators', t('Collaborators')],
  ['/hooks', 'Webhooks', t('Webhooks')],
  ['/keys', 'Deploy keys', t('Deploy keys')],
  ['/tags', 'Tag rules', t('Tag rules')],
  ['/maintenance', 'Maintenance', t('Maintenance')],
  ['/hooks/git', 'Git hooks', t('Git hooks')],
] as const

/** A page for administrators of the instance only. */
const GIT_HOOKS = 'Git hooks'

interface SettingsProps {
  readonly owner: string
  readonly repo: string
  readonly page: (typeof PAGES)[number][1]
  readonly children: (repository: Repository, reload: () => void) => ComponentChildren
}

/** Frame of all pages of the settings of a repository. */
export function RepositorySettings({ owner, repo, page, children }: SettingsProps): VNode {
  const base = `${repositoryHref({ owner, repo })}/settings`
  const isAdmin = useApi().session.user?.role === User_Role.ADMIN
  const pages = PAGES.filter(([, name]) => isAdmin || name !== GIT_HOOKS)
  const heading = PAGES.find(([, name]) => name === page)?.[2] ?? ''
  return (
    <RepositoryFrame
      owner={owner}
      repo={repo}
      tab="Settings"
      title={`${heading} · ${t('Settings')}`}
    >
      {(repository, reload) =>
        repository.permissions?.admin ? (
          <>
            <Tabs label={t('Settings')}>
              {pages.map(([path, name, text]) => (
                <a key={path} href={base + path} aria-current={name === page ? 'page' : undefined}>
                  {text}
                </a>
              ))}
            </Tabs>
            <h2>{heading}</h2>
            {repository.archived && (
              <p class="note">
                {t(
                  'The repository is archived. Restore the repository in the general settings to change anything else.',
                )}
              </p>
            )}
            {children(repository, reload)}
          </>
        ) : (
          <Closed />
        )
      }
    </RepositoryFrame>
  )
}

function Closed(): VNode {
  const { session } = useApi()
  return (
    <>
      <h2>{t('Settings')}</h2>
      <p>{t('Only administrators of the repository see and change its settings.')}</p>
      {!session.user && (
        <p>
          <SignInLink />
        </p>
      )}
    </>
  )
}
