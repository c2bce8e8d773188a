import type { VNode } from 'preact'
import type { DeployKey } from '#gen/branchline/v1/deploy_key_pb.ts'
import { DeployKeyService } from '#gen/branchline/v1/deploy_key_service_pb.ts'
import { useApi } from '../api/client.ts'
import { Time } from '../components/formats.tsx'
import {
  ActionForm,
  Checkbox,
  Confirmed,
  Field,
  fieldOf,
  isChecked,
  TextArea,
} from '../components/forms.tsx'
import { Show, useLoad } from '../components/load.tsx'
import { Pager, pageOf } from '../components/page.tsx'
import { T, t } from '../language/texts.tsx'
import type { PageProps } from '../routes.ts'
import { RepositorySettings } from './repository-settings.tsx'

interface RepositoryName {
  readonly owner: string
  readonly repo: string
}

/** The deploy keys of a repository. */
export function DeployKeysPage({ owner, repo, query }: PageProps): VNode {
  return (
    <RepositorySettings owner={owner} repo={repo} page="Deploy keys">
      {({ archived }) => (
        <DeployKeys name={{ owner, repo }} page={pageOf(query)} isFrozen={archived} />
      )}
    </RepositorySettings>
  )
}

function DeployKeys(props: { name: RepositoryName; page: number; isFrozen: boolean }): VNode {
  const { of } = useApi()
  const { name, page, isFrozen } = props
  const service = of(DeployKeyService)
  const list = useLoad(
    (signal) => service.listDeployKeys({ ...name, page }, { signal }),
    [name.owner, name.repo, page],
  )
  return (
    <>
      <p>
        {t(
          'A deploy key is an SSH key of the repository instead of a user. Where Git over SSH is on, the key fetches from this repository, and pushes to it unless it is read-only.',
        )}
      </p>
      <Show of={list}>
        {({ keys, total, limit }) => (
          <>
            {total === 0n && <p class="empty">{t('No deploy keys.')}</p>}
            <ul class="list">
              {keys.map((key) => (
                <KeyItem
                  key={String(key.id)}
                  deployKey={key}
                  remove={
                    isFrozen
                      ? undefined
                      : async () => {
                          await service.deleteDeployKey({ ...name, id: key.id })
                          list.reload()
                        }
                  }
                />
              ))}
            </ul>
            <Pager page={page} limit={limit} total={total} />
          </>
        )}
      </Show>
      {!isFrozen && <NewKey name={name} onAdded={list.reload} />}
    </>
  )
}

function KeyItem(props: {
  deployKey: DeployKey
  /** Undefined if the key cannot be deleted. */
  remove: (() => Promise<unknown>) | undefined
}): VNode {
  const { deployKey, remove } = props
  const { title, readOnly, fingerprint, key, createdAt } = deployKey
  return (
    <li>
      <strong>{title}</strong> <span class="tag">{readOnly ? t('read') : t('read and write')}</span>
      <p>
        <code>{fingerprint}</code>
      </p>
      <p class="facts">
        <T text="{type}, added {time}" type={key.split(' ', 1)[0]} time={<Time at={createdAt} />} />
      </p>
      {remove && (
        <Confirmed
          action={t('Delete')}
          about={t('the deploy key {name}', { name: title })}
          question={t('Other repositories keep the key.')}
          act={remove}
        />
      )}
    </li>
  )
}

function NewKey({ name, onAdded }: { name: RepositoryName; onAdded: () => void }): VNode {
  const { of } = useApi()
  const add = async (form: HTMLFormElement) => {
    await of(DeployKeyService).createDeployKey({
      ...name,
      title: fieldOf(form, 'title'),
      key: fieldOf(form, 'key').trim(),
      readOnly: !isChecked(form, 'write'),
    })
    onAdded()
  }
  return (
    <>
      <h3>{t('Add a deploy key')}</h3>
      <ActionForm
        label={t('Add a deploy key')}
        submit={t('Add the deploy key')}
        done={t('The deploy key is added.')}
        isEmptied
        act={add}
      >
        <Field label={t('Name of the deploy key')} name="title" maxLength={255} required />
        <TextArea
          label={t('Public SSH key')}
          name="key"
          rows={4}
          required
          spellcheck={false}
          hint={t('One line, which begins with ssh-ed25519 or another type.')}
        />
        <Checkbox label={t('The key may write')} name="write" />
      </ActionForm>
    </>
  )
}
