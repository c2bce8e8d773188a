import { IssueViewService } from '#gen/branchline/v1/issue_view_service_pb.ts'
import { LabelService } from '#gen/branchline/v1/label_service_pb.ts'
import { repositoryHref } from '../addresses.ts'
import { type Api, allPages, PAGE } from '../api/client.ts'
import { Icon } from '../components/icon.tsx'
import { goTo } from '../components/navigation.ts'
import { t } from '../language/texts.tsx'
import { routeOf } from '../routes.ts'
import type { TextChoice } from './chooser.tsx'

/**
 * Returns the lists of issues that have a name: the views of the user, and the saved views and labels of
 * the repository on the page. A repository without issues has none.
 */
export async function loadListChoices(api: Api, signal: AbortSignal): Promise<TextChoice[]> {
  const [own, ofRepository] = await Promise.all([
    ownViews(api, signal),
    choicesOfRepository(api, signal),
  ])
  return [...own, ...ofRepository]
}

async function ownViews(api: Api, signal: AbortSignal): Promise<TextChoice[]> {
  if (!api.session.user) return []
  const { views } = await api
    .of(IssueViewService)
    .listUserIssueViews({}, { signal })
    .catch(() => ({ views: [] }))
  return views.map((view) => ({
    key: `own view ${view.id}`,
    picture: <Icon name="search" />,
    text: view.name,
    kind: t('your view of issues'),
    act: () => goTo(`/issues?${new URLSearchParams({ q: view.query })}`),
  }))
}

async function choicesOfRepository(api: Api, signal: AbortSignal): Promise<TextChoice[]> {
  const { owner = '', repo = '' } = routeOf(new URL(location.href))?.props ?? {}
  if (repo === '') return []
  const name = { owner, repo }
  const hrefOf = (filter: Record<string, string>) =>
    `${repositoryHref(name)}/issues?${new URLSearchParams(filter)}`
  const [views, labels] = await Promise.all([
    api.of(IssueViewService).listIssueViews(name, { signal }),
    allPages((page) =>
      api
        .of(LabelService)
        .listRepositoryLabels({ ...name, page, limit: PAGE }, { signal })
        .then(({ labels: items, total }) => ({ items, total })),
    ),
  ]).catch(() => [{ views: [] }, []] as const)
  return [
    ...views.views.map((view) => ({
      key: `view ${view.id}`,
      picture: <Icon name="search" />,
      text: view.name,
      kind: t('view of issues'),
      act: () => goTo(hrefOf({ q: view.query, state: 'all' })),
    })),
    ...labels.map(({ id, name: label }) => ({
      key: `label ${id}`,
      picture: <Icon name="tag" />,
      text: label,
      kind: t('label'),
      act: () => goTo(hrefOf({ labels: label })),
    })),
  ]
}
