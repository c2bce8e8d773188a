import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import type { GitHook } from '#gen/branchline/v1/git_hook_pb.ts'
import { GitHookService } from '#gen/branchline/v1/git_hook_service_pb.ts'
import { InstanceService } from '#gen/branchline/v1/instance_service_pb.ts'
import { useApi } from '../api/client.ts'
import { ActionForm, Confirmed, TextArea } from '../components/forms.tsx'
import { Show, useLoad } from '../components/load.tsx'
import { T, t } from '../language/texts.tsx'
import type { PageProps } from '../routes.ts'
import { RepositorySettings } from './repository-settings.tsx'

/** Description of each hook, by its name. */
const PURPOSES: Readonly<Record<string, string>> = {
  'pre-receive': t('Runs before refs move, and can refuse all of them.'),
  update: t('Runs before each ref moves, and can refuse the ref.'),
  'post-receive': t('Runs after refs have moved.'),
}

/** The Git hooks of a repository, for administrators of the instance. */
export function GitHooksPage({ owner, repo }: PageProps): VNode {
  return (
    <RepositorySettings owner={owner} repo={repo} page="Git hooks">
      {({ archived }) => <GitHooks name={{ owner, repo }} isFrozen={archived} />}
    </RepositorySettings>
  )
}

interface HooksProps {
  readonly name: { readonly owner: string; readonly repo: string }
  readonly isFrozen: boolean
}

function GitHooks({ name, isFrozen }: HooksProps): VNode {
  const { of } = useApi()
  const { owner, repo } = name
  const loaded = useLoad(
    async (signal) => {
      const settings = await of(InstanceService).getRepositorySettings({}, { signal })
      if (settings.gitHooksDisabled) return null
      return (await of(GitHookService).listGitHooks(name, { signal })).gitHooks
    },
    [owner, repo],
  )
  return (
    <Show of={loaded}>
      {(hooks) =>
        hooks === null ? (
          <Closed />
        ) : (
          <>
            <p>
              {t(
                'A hook is a script that runs on the machine of the server when refs of the repository move.',
              )}
            </p>
            {hooks.map((hook) => (
              <Hook
                key={hook.name}
                name={name}
                isFrozen={isFrozen}
                hook={hook}
                reload={loaded.reload}
              />
            ))}
          </>
        )
      }
    </Show>
  )
}

function Closed(): VNode {
  return (
    <p>
      <T
        text="Git hooks are for administrators of the server, and only where the server was started with {option}."
        option={<code>--git-hooks on</code>}
      />
    </p>
  )
}

function Hook(props: HooksProps & { hook: GitHook; reload: () => void }): VNode {
  const { of } = useApi()
  const { name, isFrozen, hook, reload } = props
  const { isActive, content = '' } = hook
  const [script, setScript] = useState(content)
  const request = { ...name, id: hook.name }
  return (
    <section aria-labelledby={hook.name}>
      <h3 id={hook.name}>
        {hook.name} {isActive && <span class="tag">{t('active')}</span>}
      </h3>
      <p>{PURPOSES[hook.name]}</p>
      {isFrozen ? (
        isActive && <pre class="message">{content}</pre>
      ) : (
        <ActionForm
          label={hook.name}
          submit={t('Save {hook}', { hook: hook.name })}
          done={t('Saved.')}
          act={async () => {
            await of(GitHookService).editGitHook({ ...request, content: script })
            reload()
          }}
        >
          <TextArea
            label={t('Script of {hook}', { hook: hook.name })}
            rows={8}
            spellcheck={false}
            value={script}
            onInput={(event) => setScript(event.currentTarget.value)}
            hint={t('Without an interpreter in its first line, the script runs in the shell.')}
          />
        </ActionForm>
      )}
      {isActive && !isFrozen && (
        <Confirmed
          action={t('Remove')}
          about={t('the script of {hook}', { hook: hook.name })}
          question={t('The script is deleted.')}
          act={async () => {
            await of(GitHookService).deleteGitHook(request)
            setScript('')
            reload()
          }}
        />
      )}
    </section>
  )
}
