import type { VNode } from 'preact'
import { CodeSearchService } from '#gen/branchline/v1/code_search_service_pb.ts'
import { useApi } from '../api/client.ts'
import { Checkbox, Field, fieldOf, isChecked, onSubmit } from '../components/forms.tsx'
import { Show, useLoad } from '../components/load.tsx'
import { goTo } from '../components/navigation.ts'
import { Pager, pageOf, useTitle } from '../components/page.tsx'
import { RowList } from '../keyboard/row-list.tsx'
import { plural, t } from '../language/texts.tsx'
import type { PageProps } from '../routes.ts'
import { FoundFileView } from './found-file.tsx'

/** Files on a page. */
const LIMIT = 20

/** Search in the code of all repositories that the user may read. The address has the query. */
export function ExploreCodePage({ query }: PageProps): VNode {
  const text = query.get('q') ?? ''
  useTitle(text === '' ? t('Search code') : `${text} · ${t('Search code')}`)
  return (
    <>
      <h1>{t('Search code')}</h1>
      <SearchForm key={String(query)} query={query} />
      {text.trim() !== '' && <Results query={query} />}
    </>
  )
}

function SearchForm({ query }: Pick<PageProps, 'query'>): VNode {
  const send = (form: HTMLFormElement) => {
    const fields = Object.entries({
      q: fieldOf(form, 'q'),
      path: fieldOf(form, 'path').trim(),
      owner: fieldOf(form, 'owner').trim(),
      case_sensitive: isChecked(form, 'case_sensitive') ? 'true' : '',
    })
    goTo(`/explore/code?${new URLSearchParams(fields.filter(([, value]) => value !== ''))}`)
  }
  return (
    <search>
      <form class="row filters" onSubmit={onSubmit(send)}>
        <Field
          label={t('Search code')}
          type="search"
          name="q"
          required
          minLength={3}
          maxLength={200}
          autocapitalize="none"
          defaultValue={query.get('q') ?? ''}
        />
        <Field
          label={t('Paths')}
          name="path"
          placeholder="src/**/*.ts !test"
          autocapitalize="none"
          defaultValue={query.get('path') ?? ''}
        />
        <Field
          label={t('Owner')}
          name="owner"
          autocapitalize="none"
          defaultValue={query.get('owner') ?? ''}
        />
        <Checkbox
          label={t('Match case')}
          name="case_sensitive"
          isChecked={query.get('case_sensitive') === 'true'}
        />
        <button type="submit">{t('Search')}</button>
      </form>
    </search>
  )
}

function Results({ query }: Pick<PageProps, 'query'>): VNode {
  const { of } = useApi()
  const page = pageOf(query)
  const found = useLoad(
    (signal) =>
      of(CodeSearchService).searchAllCode(
        {
          q: query.get('q') ?? '',
          path: (query.get('path') ?? '').split(' '),
          owner: query.get('owner') ?? '',
          caseSensitive: query.get('case_sensitive') === 'true',
          page,
          limit: LIMIT,
        },
        { signal },
      ),
    [String(query)],
  )
  return (
    <Show of={found}>
      {({ files, total, limit, incomplete }) => (
        <>
          <p role="status">
            {total === 0n
              ? t('No file has such a line.')
              : `${plural(total, '{count} file', '{count} files')}.`}
          </p>
          {incomplete && (
            <p class="note">
              {t('There may be more files. A longer text, paths or an owner find the rest.')}
            </p>
          )}
          <RowList>
            {files.map(
              ({ owner, repo, sha, file }) =>
                file && (
                  <FoundFileView
                    key={`${owner}/${repo}/${file.path}`}
                    name={{ owner, repo }}
                    sha={sha}
                    file={file}
                    showsRepository
                  />
                ),
            )}
          </RowList>
          <Pager page={page} limit={limit} total={total} />
        </>
      )}
    </Show>
  )
}
