import type { VNode } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { InstanceService } from '#gen/branchline/v1/instance_service_pb.ts'
import { MirrorService } from '#gen/branchline/v1/mirror_service_pb.ts'
import { useApi } from '../api/client.ts'
import { ActionForm, Checkbox, Field, fieldOf, isChecked } from '../components/forms.tsx'
import { Show, useLoad } from '../components/load.tsx'
import { goTo } from '../components/navigation.ts'
import { SignInLink, useTitle } from '../components/page.tsx'
import { t } from '../language/texts.tsx'

/** Imports a repository from another server. */
export function ImportPage(): VNode {
  const { session } = useApi()
  useTitle(t('Import a repository'))
  return (
    <>
      <h1>{t('Import a repository')}</h1>
      {session.user ? (
        <ImportIfPossible />
      ) : (
        <p>
          {t('This page is for signed-in users:')} <SignInLink />
        </p>
      )}
    </>
  )
}

function ImportIfPossible(): VNode {
  const { of } = useApi()
  const settings = useLoad(
    (signal) => of(InstanceService).getRepositorySettings({}, { signal }),
    [],
  )
  return (
    <Show of={settings}>
      {({ migrationsDisabled }) =>
        migrationsDisabled ? <p>{t('This server imports no repositories.')}</p> : <ImportForm />
      }
    </Show>
  )
}

function ImportForm(): VNode {
  const { of } = useApi()
  // The server ends an import whose client has gone.
  const running = useRef<AbortController | undefined>(undefined)
  const [isRunning, setRunning] = useState(false)
  useEffect(() => () => running.current?.abort(), [])
  const start = async (form: HTMLFormElement) => {
    const ended = new AbortController()
    running.current = ended
    const request = {
      cloneAddr: fieldOf(form, 'address'),
      repoName: fieldOf(form, 'name'),
      private: isChecked(form, 'private'),
      mirror: isChecked(form, 'mirror'),
      authUsername: fieldOf(form, 'username'),
      authPassword: fieldOf(form, 'password'),
    }
    setRunning(true)
    try {
      const { signal } = ended
      const { fullName } = await of(MirrorService).migrateRepository(request, { signal })
      goTo(`/${fullName}`)
    } catch (error) {
      // The user knows.
      if (!ended.signal.aborted) throw error
    } finally {
      setRunning(false)
    }
  }
  return (
    <div class="narrow">
      <ActionForm label={t('Import')} submit={t('Import the repository')} act={start}>
        <Source />
      </ActionForm>
      <div role="status">{isRunning && <Progress />}</div>
      {isRunning && (
        <button type="button" onClick={() => running.current?.abort()}>
          {t('Cancel the import')}
        </button>
      )}
    </div>
  )
}

function Source(): VNode {
  return (
    <>
      <Field
        label={t('Address')}
        name="address"
        type="url"
        required
        hint={t('The HTTP or HTTPS address that git clone takes.')}
      />
      <Field
        label={t('Name of the new repository')}
        name="name"
        autocapitalize="none"
        autocomplete="off"
        required
      />
      <Checkbox label={t('Private')} name="private" />
      <Checkbox
        label={t('Mirror')}
        name="mirror"
        hint={t('The repository follows the other one, and takes no pushes.')}
      />
      <details>
        <summary>{t('The other server asks for a password')}</summary>
        <Field
          label={t('Username there')}
          name="username"
          autocapitalize="none"
          autocomplete="off"
        />
        <Field
          label={t('Password or token there')}
          name="password"
          type="password"
          autocomplete="off"
        />
      </details>
    </>
  )
}

/** The server does not say how much is left. */
function Progress(): VNode {
  return (
    <>
      <p id="import-progress">{t('The server fetches the repository. Leave this page open.')}</p>
      <progress aria-labelledby="import-progress" />
    </>
  )
}
