import type { VNode } from 'preact'
import type { Label } from '#gen/branchline/v1/label_pb.ts'
import { LabelService } from '#gen/branchline/v1/label_service_pb.ts'
import { repositoryHref } from '../addresses.ts'
import { PAGE, useApi } from '../api/client.ts'
import {
  ActionButton,
  ActionForm,
  Checkbox,
  Confirmed,
  Field,
  fieldOf,
  isChecked,
} from '../components/forms.tsx'
import { LabelTag } from '../components/label-tag.tsx'
import { Show, useLoad } from '../components/load.tsx'
import { Pager, pageOf } from '../components/page.tsx'
import { t } from '../language/texts.tsx'
import { RepositoryFrame } from '../repositories/repository.tsx'
import type { PageProps } from '../routes.ts'

/** The labels of a repository, and for writers the forms that change them. */
export function LabelsPage({ owner, repo, query }: PageProps): VNode {
  return (
    <RepositoryFrame owner={owner} repo={repo} tab="Issues" title={t('Labels')}>
      {({ archived, permissions }) => (
        <Labels
          name={{ owner, repo }}
          page={pageOf(query)}
          isWriter={permissions?.push === true && !archived}
        />
      )}
    </RepositoryFrame>
  )
}

interface LabelsProps {
  readonly name: { readonly owner: string; readonly repo: string }
  readonly page: number
  readonly isWriter: boolean
}

function Labels({ name, page, isWriter }: LabelsProps): VNode {
  const { of } = useApi()
  const list = useLoad(
    (signal) => of(LabelService).listRepositoryLabels({ ...name, page, limit: PAGE }, { signal }),
    [page],
  )
  const base = `${repositoryHref(name)}/issues`
  return (
    <>
      <h2>{t('Labels')}</h2>
      <Show of={list}>
        {({ labels, total, limit }) => (
          <>
            {labels.length === 0 && <p class="empty">{t('No labels.')}</p>}
            <ul class="list">
              {labels.map((label) => (
                <li key={String(label.id)}>
                  <LabelTag
                    label={label}
                    href={`${base}?${new URLSearchParams({ state: 'all', labels: label.name })}`}
                  />
                  {label.isArchived && <span class="tag">{t('archived')}</span>}
                  {label.exclusive && <span class="tag">{t('exclusive')}</span>}
                  {label.description !== '' && <p>{label.description}</p>}
                  {isWriter && <LabelActions name={name} label={label} reload={list.reload} />}
                </li>
              ))}
            </ul>
            <Pager page={page} limit={limit} total={total} />
          </>
        )}
      </Show>
      {isWriter && (
        <>
          <h3>{t('Add a label')}</h3>
          <ActionForm
            label={t('Add a label')}
            submit={t('Create the label')}
            done={t('The label is created.')}
            isEmptied
            act={async (form) => {
              await of(LabelService).createRepositoryLabel({ ...name, ...readLabel(form) })
              list.reload()
            }}
          >
            <LabelFields />
          </ActionForm>
        </>
      )}
    </>
  )
}

interface ActionsProps extends Pick<LabelsProps, 'name'> {
  readonly label: Label
  readonly reload: () => void
}

function LabelActions({ name, label, reload }: ActionsProps): VNode {
  const { of } = useApi()
  const { id, isArchived } = label
  const change = t('Change the label {name}', { name: label.name })
  const edit = async (fields: Partial<ReturnType<typeof readLabel>> & { isArchived?: boolean }) => {
    await of(LabelService).editRepositoryLabel({ ...name, id, ...fields })
    reload()
  }
  return (
    <>
      <details>
        <summary>{change}</summary>
        <ActionForm
          label={change}
          submit={t('Save the label')}
          done={t('Saved.')}
          act={(form) => edit(readLabel(form))}
        >
          <LabelFields label={label} />
        </ActionForm>
      </details>
      <div class="buttons">
        <ActionButton
          text={t(isArchived ? 'Use again' : 'Archive')}
          about={label.name}
          act={() => edit({ isArchived: !isArchived })}
        />
        <Confirmed
          action={t('Delete')}
          about={label.name}
          question={t('All issues and pull requests lose the label {name}.', { name: label.name })}
          act={async () => {
            await of(LabelService).deleteRepositoryLabel({ ...name, id })
            reload()
          }}
        />
      </div>
    </>
  )
}

function LabelFields({ label }: { label?: Label }): VNode {
  return (
    <>
      <Field
        label={t('Name')}
        name="name"
        autocomplete="off"
        maxLength={50}
        required
        defaultValue={label?.name ?? ''}
      />
      <Field
        label={t('Colour')}
        name="color"
        type="color"
        defaultValue={`#${(label?.color ?? '1a56b0').replace(/^#/, '')}`}
      />
      <Field
        label={t('Description')}
        name="description"
        autocomplete="off"
        defaultValue={label?.description ?? ''}
      />
      <Checkbox
        label={t('Exclusive')}
        name="exclusive"
        isChecked={label?.exclusive ?? false}
        hint={t(
          'For names with a slash: an issue has one label of those with the same text before the last slash.',
        )}
      />
    </>
  )
}

function readLabel(form: HTMLFormElement) {
  return {
    name: fieldOf(form, 'name'),
    color: fieldOf(form, 'color'),
    description: fieldOf(form, 'description'),
    exclusive: isChecked(form, 'exclusive'),
  }
}
