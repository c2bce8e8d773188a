import type { VNode } from 'preact'
import { CodeSearchService } from '#gen/branchline/v1/code_search_service_pb.ts'
import { repositoryHref } from '../addresses.ts'
import { useApi } from '../api/client.ts'
import { Checkbox, Field, fieldOf, isChecked, onSubmit } from '../components/forms.tsx'
import { Show, useLoad } from '../components/load.tsx'
import { goTo } from '../components/navigation.ts'
import { Pager, pageOf } from '../components/page.tsx'
import { RowList } from '../keyboard/row-list.tsx'
import { plural, t } from '../language/texts.tsx'
import { RepositoryFrame } from '../repositories/repository.tsx'
import type { PageProps } from '../routes.ts'
import { FoundFileView } from './found-file.tsx'

/** Files on a page. */
const LIMIT = 20

interface RepositoryName {
  readonly owner: string
  readonly repo: string
}

/** Search in the files of a repository. The address has the query. */
export function SearchPage({ owner, repo, query }: PageProps): VNode {
  const text = query.get('q') ?? ''
  const title = text === '' ? t('Search code') : `${text} · ${t('Search code')}`
  const name = { owner, repo }
  return (
    <RepositoryFrame owner={owner} repo={repo} tab="Code" title={title}>
      {() => (
        <>
          <SearchForm key={String(query)} name={name} query={query} />
          {text.trim() !== '' && <Results name={name} query={query} />}
        </>
      )}
    </RepositoryFrame>
  )
}

function SearchForm({ name, query }: { name: RepositoryName; query: URLSearchParams }): VNode {
  const send = (form: HTMLFormElement) => {
    const fields = Object.entries({
      q: fieldOf(form, 'q'),
      path: fieldOf(form, 'path').trim(),
      ref: fieldOf(form, 'ref').trim(),
      regexp: isChecked(form, 'regexp') ? 'true' : '',
      case_sensitive: isChecked(form, 'case_sensitive') ? 'true' : '',
    })
    const asked = new URLSearchParams(fields.filter(([, value]) => value !== ''))
    goTo(`${repositoryHref(name)}/search?${asked}`)
  }
  return (
    <search>
      <form class="row filters" onSubmit={onSubmit(send)}>
        <Field
          label={t('Search code')}
          type="search"
          name="q"
          required
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
          label={t('Branch, tag or commit')}
          name="ref"
          autocapitalize="none"
          defaultValue={query.get('ref') ?? ''}
        />
        <Checkbox
          label={t('Regular expression')}
          name="regexp"
          isChecked={query.get('regexp') === 'true'}
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

function Results({ name, query }: { name: RepositoryName; query: URLSearchParams }): VNode {
  const { of } = useApi()
  const page = pageOf(query)
  const found = useLoad(
    (signal) =>
      of(CodeSearchService).searchCode(
        {
          ...name,
          q: query.get('q') ?? '',
          path: (query.get('path') ?? '').split(' '),
          ref: query.get('ref') ?? '',
          regexp: query.get('regexp') === 'true',
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
      {({ files, total, limit, incomplete, sha }) => (
        <>
          <p role="status">
            {total === 0n
              ? t('No file has such a line.')
              : `${plural(total, '{count} file', '{count} files')}.`}
          </p>
          {incomplete && (
            <p class="note">
              {t(
                'The search ended before it had read all files. A longer text, or paths, find the rest.',
              )}
            </p>
          )}
          <RowList>
            {files.map((file) => (
              <FoundFileView key={file.path} name={name} sha={sha} file={file} />
            ))}
          </RowList>
          <Pager page={page} limit={limit} total={total} />
        </>
      )}
    </Show>
  )
}
