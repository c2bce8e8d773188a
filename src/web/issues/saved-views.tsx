import type { VNode } from 'preact'
import { IssueViewService } from '#gen/branchline/v1/issue_view_service_pb.ts'
import { repositoryHref } from '../addresses.ts'
import { useApi } from '../api/client.ts'
import { ActionForm, Confirmed, Field, fieldOf } from '../components/forms.tsx'
import { Show, useLoad } from '../components/load.tsx'
import { t } from '../language/texts.tsx'

interface SavedViewsProps {
  readonly name: { readonly owner: string; readonly repo: string }
  /** The list that shows the views: issues or pull requests. */
  readonly folder: 'issues' | 'pulls'
  /** The query of the list; empty for none. */
  readonly query: string
  readonly isWriter: boolean
}

/** The queries that the writers of a repository have named, and the form that names the present one. */
export function SavedViews({ name, folder, query, isWriter }: SavedViewsProps): VNode {
  const { of } = useApi()
  const { owner, repo } = name
  const saved = useLoad(
    async (signal) =>
      (await of(IssueViewService).listIssueViews({ owner, repo }, { signal })).views,
    [owner, repo],
  )
  const hrefOf = (text: string) =>
    `${repositoryHref(name)}/${folder}?${new URLSearchParams({ q: text, state: 'all' })}`
  const save = async (form: HTMLFormElement) => {
    const view = { owner, repo, name: fieldOf(form, 'name'), query }
    await of(IssueViewService).createIssueView(view)
    saved.reload()
  }
  return (
    <Show of={saved}>
      {(views) => {
        const shown = views.find((view) => view.query === query && query !== '')
        return (
          <>
            {views.length > 0 && (
              <nav class="bar" aria-label={t('Views')}>
                {views.map((view) => (
                  <a
                    key={String(view.id)}
                    href={hrefOf(view.query)}
                    aria-current={view === shown ? 'page' : undefined}
                  >
                    {view.name}
                  </a>
                ))}
              </nav>
            )}
            {isWriter && shown && (
              <Confirmed
                action={t('Delete the view')}
                about={shown.name}
                question={t('The view is deleted for all readers of the repository.')}
                act={async () => {
                  await of(IssueViewService).deleteIssueView({ owner, repo, id: shown.id })
                  saved.reload()
                }}
              />
            )}
            {isWriter && query !== '' && !shown && (
              <ActionForm
                label={t('Save the search')}
                submit={t('Save as a view')}
                act={save}
                isEmptied
                isRow
              >
                <Field label={t('Name of the view')} name="name" maxLength={255} required />
              </ActionForm>
            )}
          </>
        )
      }}
    </Show>
  )
}
