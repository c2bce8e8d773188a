import type { VNode } from 'preact'
import { RepositoryService } from '#gen/branchline/v1/repository_service_pb.ts'
import { useApi } from '../api/client.ts'
import { Field, fieldOf, onSubmit } from '../components/forms.tsx'
import { Show, useLoad } from '../components/load.tsx'
import { goTo } from '../components/navigation.ts'
import { Pager, pageOf, useTitle } from '../components/page.tsx'
import { T, t } from '../language/texts.tsx'
import type { PageProps } from '../routes.ts'
import { RepositoryList } from './repository-list.tsx'

/** The repositories of the instance, with a search. */
export function Explore({ query }: PageProps): VNode {
  const { of } = useApi()
  useTitle(t('Explore'))
  const [q, topic, page] = [query.get('q') ?? '', query.get('topic') ?? '', pageOf(query)]
  const search = useLoad(
    (signal) =>
      of(RepositoryService).searchRepositories(
        {
          ...(topic === '' ? { q, includeDesc: true } : { q: topic, topic: true }),
          page,
          sort: 'updated',
          order: 'desc',
        },
        { signal },
      ),
    [q, topic, page],
  )
  return (
    <>
      <h1>{t('Explore')}</h1>
      <search>
        <form
          class="row"
          onSubmit={onSubmit((form) =>
            goTo(`/explore?q=${encodeURIComponent(fieldOf(form, 'q'))}`),
          )}
        >
          <Field label={t('Search repositories')} name="q" type="search" defaultValue={q} />
          <button type="submit">{t('Search')}</button>
        </form>
      </search>
      {topic !== '' && (
        <h2>
          <T text="Repositories with the topic {topic}" topic={<span class="tag">{topic}</span>} />
        </h2>
      )}
      <Show of={search}>
        {({ results, total, limit }) => (
          <>
            <RepositoryList repositories={results?.data ?? []} />
            <Pager page={page} limit={limit} total={total} />
          </>
        )}
      </Show>
    </>
  )
}
