import type { VNode } from 'preact'
import { RepositoryService } from '#gen/branchline/v1/repository_service_pb.ts'
import type { User } from '#gen/branchline/v1/user_pb.ts'
import { FirstRun, SignUpLink } from '../accounts/sign-up.tsx'
import { useApi } from '../api/client.ts'
import { Command } from '../components/command.tsx'
import { Later, Show, useLoad } from '../components/load.tsx'
import { Pager, pageOf, SignInLink, useTitle } from '../components/page.tsx'
import { T, t } from '../language/texts.tsx'
import type { PageProps } from '../routes.ts'
import { NewRepository, RepositoryList } from './repository-list.tsx'

/** The first page: set-up on a new instance, a greeting for strangers, and otherwise repositories. */
export function Home({ query }: PageProps): VNode {
  const { user } = useApi().session
  const { firstRun = 'no' } = document.documentElement.dataset
  if (user) return <Dashboard user={user} page={pageOf(query)} />
  return firstRun === 'no' ? <Greeting /> : <FirstRun isHere={firstRun === 'here'} />
}

function Greeting(): VNode {
  useTitle(t('Git repositories and pull requests'))
  return (
    <>
      <h1>Branchline</h1>
      <p>{t('A self-hosted home for Git repositories and pull requests.')}</p>
      <p>
        <T
          text="{signIn} or {explore}."
          signIn={<SignInLink />}
          explore={<a href="/explore">{t('explore the public repositories')}</a>}
        />
      </p>
      <p>
        <SignUpLink />
      </p>
    </>
  )
}

const loadWaitingWork = async () => (await import('../issues/waiting-work.tsx')).WaitingWork

function Dashboard({ user, page }: { user: User; page: number }): VNode {
  const { of } = useApi()
  useTitle(t('Home'))
  const list = useLoad(
    (signal) => of(RepositoryService).listMyRepositories({ page }, { signal }),
    [page],
  )
  const isNew = list.value?.total === 0n
  return (
    <div class="with-aside">
      <div>
        <h1>{t('Home')}</h1>
        {isNew && <NextSteps username={user.username} />}
        <Later load={loadWaitingWork} with={{}} />
      </div>
      <aside aria-labelledby="your-repositories">
        <h2 id="your-repositories">{t('Your repositories')}</h2>
        <NewRepository />
        <p>
          <a href="/-/import">{t('Import a repository')}</a>,{' '}
          <a href="/-/organizations">{t('your organisations')}</a>
        </p>
        <Show of={list}>
          {({ repositories, total, limit }) => (
            <>
              {total > 0n && <RepositoryList repositories={repositories} />}
              <Pager page={page} limit={limit} total={total} />
            </>
          )}
        </Show>
      </aside>
    </div>
  )
}

/** First steps, each with the command to copy. */
function NextSteps({ username }: { username: string }): VNode {
  const { origin } = location
  return (
    <section aria-labelledby="next-steps">
      <h2 id="next-steps">{t('Next steps')}</h2>
      <h3>{t('Push a repository that you have')}</h3>
      <p>{t('Create a repository with this page first, without files. Then, in your folder:')}</p>
      <Command
        label={t('Commands that push a repository')}
        text={`git remote add origin ${origin}/${username}/NAME.git\ngit push -u origin HEAD`}
      />
      <h3>{t('Create a token for scripts')}</h3>
      <p>
        <T
          text="On the page of {page}, or by a command:"
          page={<a href="/user/settings/tokens">{t('access tokens')}</a>}
        />
      </p>
      <Command
        label={t('Command that creates a token')}
        text={`curl -u ${username} -H 'content-type: application/json' \\\n  -d '{"name":"scripts","scopes":["write:repository"]}' \\\n  ${origin}/api/v1/users/${username}/tokens`}
      />
      <h3>{t('Add an SSH key that signs your commits')}</h3>
      <p>
        <T
          text="On the page of {page}, or by a command:"
          page={<a href="/user/settings/keys">{t('keys')}</a>}
        />
      </p>
      <Command
        label={t('Command that adds a key')}
        text={`curl -u ${username} -H 'content-type: application/json' \\\n  -d "{\\"title\\":\\"laptop\\",\\"key\\":\\"$(cat ~/.ssh/id_ed25519.pub)\\"}" \\\n  ${origin}/api/v1/user/keys`}
      />
      <h3>{t('Invite somebody')}</h3>
      <p>{t('An administrator creates the account on the machine of the server:')}</p>
      <Command
        label={t('Command that creates an account')}
        text="node dist/main.js user create --data ./data --username bob --password-stdin < password.txt"
      />
    </section>
  )
}
