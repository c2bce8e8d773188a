import type { VNode } from 'preact'
import {
  type ListRepositoriesResponse,
  RepositoryService,
} from '#gen/branchline/v1/repository_service_pb.ts'
import { StarService } from '#gen/branchline/v1/star_service_pb.ts'
import type { User } from '#gen/branchline/v1/user_pb.ts'
import { useApi } from '../api/client.ts'
import { Avatar } from '../components/avatar.tsx'
import { Time } from '../components/formats.tsx'
import { Show, useLoad } from '../components/load.tsx'
import { NotFound, Pager, pageOf, useIsKnownMissing, useTitle } from '../components/page.tsx'
import { T, t } from '../language/texts.tsx'
import { OrganizationSummary } from '../organizations/organization-summary.tsx'
import { RepositoryList } from '../repositories/repository-list.tsx'
import type { PageProps } from '../routes.ts'
import { AccountPicture, findOwner, hasPicture } from './account.tsx'

/** A user or an organisation, and the repositories. */
export function AccountPage(props: PageProps): VNode {
  return useIsKnownMissing() ? <NotFound /> : <Account {...props} />
}

function Account({ owner, query }: PageProps): VNode {
  const api = useApi()
  useTitle(owner)
  const account = useLoad((signal) => findOwner(api, owner, signal), [owner])
  const page = pageOf(query)
  const areStarred = query.get('tab') === 'starred'
  return (
    <Show of={account} isPage>
      {(found) => (
        <>
          <h1>
            <Avatar name={owner} /> {owner}
          </h1>
          {found?.$typeName === 'branchline.v1.Organization' ? (
            <OrganizationSummary organization={found}>
              <Repositories owner={owner} page={page} areStarred={false} />
            </OrganizationSummary>
          ) : (
            <div class="with-aside first">
              <aside aria-label={t('Profile')}>{found && <UserSummary user={found} />}</aside>
              <div>
                <UserTabs owner={owner} areStarred={areStarred} />
                <Repositories owner={owner} page={page} areStarred={areStarred} />
              </div>
            </div>
          )}
        </>
      )}
    </Show>
  )
}

/** Profile of a user. */
function UserSummary({ user }: { user: User }): VNode {
  const { name, displayName, description, createTime } = user
  return (
    <>
      {hasPicture(user) && <AccountPicture name={name} alt="" />}
      {displayName !== '' && <p>{displayName}</p>}
      {description !== '' && <p>{description}</p>}
      <p class="facts">
        <T text="Joined {time}" time={<Time at={createTime} />} />
      </p>
    </>
  )
}

function UserTabs({ owner, areStarred }: { owner: string; areStarred: boolean }): VNode {
  const current = (isCurrent: boolean) => (isCurrent ? 'page' : undefined)
  return (
    <nav class="tabs" aria-label={t('Repositories')}>
      <a href={`/${owner}`} aria-current={current(!areStarred)}>
        {t('Repositories')}
      </a>
      <a href={`/${owner}?tab=starred`} aria-current={current(areStarred)}>
        {t('Starred')}
      </a>
    </nav>
  )
}

/** Fields of the responses of both lists. */
type RepositoryPage = Pick<ListRepositoriesResponse, 'repositories' | 'total' | 'limit'>

function Repositories(props: { owner: string; page: number; areStarred: boolean }): VNode {
  const { of } = useApi()
  const { owner: username, page, areStarred } = props
  const list = useLoad(
    (signal): Promise<RepositoryPage> =>
      areStarred
        ? of(StarService).listUserStarredRepositories({ username, page }, { signal })
        : of(RepositoryService).listUserRepositories({ username, page }, { signal }),
    [username, page, areStarred],
  )
  return (
    <Show of={list} isPage>
      {({ repositories, total, limit }) => (
        <>
          <RepositoryList repositories={repositories} />
          <Pager page={page} limit={limit} total={total} />
        </>
      )}
    </Show>
  )
}
