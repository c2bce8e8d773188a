import type { ComponentChildren, VNode } from 'preact'
import type { Repository } from '#gen/branchline/v1/repository_pb.ts'
import { User_Role } from '#gen/branchline/v1/user_pb.ts'
import { repositoryHref } from '../addresses.ts'
import { useApi } from '../api/client.ts'
import { SignInLink } from '../components/page.tsx'
import { Tabs } from '../components/tabs.tsx'
import { RepositoryFrame } from './repository.tsx'

const PAGES = [
  ['', 'General'],
  ['/branches', 'Branch rules'],
  ['/collaborators', 'Collaborators'],
  ['/hooks', 'Webhooks'],
  ['/keys', 'Deploy keys'],
  ['/tags', 'Tag rules'],
  ['/maintenance', 'Maintenance'],
  ['/hooks/git', 'Git hooks'],
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
  const pages = PAGES.filter(([, text]) => isAdmin || text !== GIT_HOOKS)
  return (
    <RepositoryFrame owner={owner} repo={repo} tab="Settings" title={`${page} · Settings`}>
      {(repository, reload) =>
        repository.permissions?.admin ? (
          <>
            <Tabs label="Settings">
              {pages.map(([path, text]) => (
                <a key={path} href={base + path} aria-current={text === page ? 'page' : undefined}>
                  {text}
                </a>
              ))}
            </Tabs>
            <h2>{page}</h2>
            {repository.archived && (
              <p class="note">
                The repository is archived. Restore the repository in the general settings to change
                anything else.
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
      <h2>Settings</h2>
      <p>Only administrators of the repository see and change its settings.</p>
      {!session.user && (
        <p>
          <SignInLink />
        </p>
      )}
    </>
  )
}
