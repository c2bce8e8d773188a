import { create } from '@bufbuild/protobuf'
import type { ServiceImpl } from '@connectrpc/connect'
import { type IssueFacets, IssueFacetsSchema } from '#gen/branchline/v1/issue_facets_pb.ts'
import {
  type IssueQueryNode,
  IssueQueryNodeSchema,
  IssueQueryService,
} from '#gen/branchline/v1/issue_query_service_pb.ts'
import type { App } from '../app.ts'
import { callerOf } from '../core/wire/call.ts'
import { defineService } from '../core/wire/define-service.ts'
import { type ListIdentity, readPageToken, writePageToken } from '../core/wire/lists.ts'
import { readNumberedPage } from '../core/wire/pages.ts'
import { conversationMessage, issueMessage } from './issue.message.ts'
import {
  type ConversationPage,
  type Facets,
  listIssues,
  type PageOfIssues,
  searchIssues,
} from './issue-lists.ts'
import { explainQuery } from './query/explain.ts'
import { printQuery, printValue, printWord } from './query/print.ts'
import type { Condition } from './query/schema.ts'
import { findSimilarIssues } from './similar-issues.ts'

/** Implements IssueQueryService. */
function issueQueryService(app: App): ServiceImpl<typeof IssueQueryService> {
  return {
    async findSimilarIssues({ index, ...request }, context) {
      const caller = callerOf(context)
      const views = await findSimilarIssues(app, caller, { ...request, number: Number(index) })
      return { issues: views.map((view) => issueMessage(app, caller, view)) }
    },

    async queryIssues(request, context) {
      const caller = callerOf(context)
      const { owner, repo } = request
      const list = issueListOf(request)
      const page = readIssuePage(app, list, request)
      const query = {
        ...NO_FILTERS,
        ...request,
        state: request.state === '' ? 'all' : request.state,
        view: Number(request.view),
      }
      const found =
        owner === '' && repo === ''
          ? await searchIssues(app, caller, query, page)
          : await listIssues(app, caller, request, query, page)
      return {
        items: found.conversations.map((view) => conversationMessage(app, caller, view)),
        ...(found.facets && { facets: facetsMessage(found.facets) }),
        nextPageToken: nextPageToken(app, list, found),
        total: BigInt(found.total),
      }
    },

    async explainIssueQuery({ owner, repo, query, position }, context) {
      const caller = callerOf(context)
      const found = await explainQuery(app, caller, { owner, repo }, query, position)
      const { condition, sort } = found.query ?? {}
      return {
        ...(condition && { tree: nodeMessage(condition) }),
        canonical: found.query ? printQuery(found.query) : '',
        sort: sort ? `${sort.key}-${sort.direction}` : '',
        completions: [...found.completions],
        ...(found.error && {
          error: { ...found.error, position: Number(found.error.position) },
        }),
      }
    },
  }
}

/** The filters of lists that a query has other words for. */
const NO_FILTERS = {
  labels: '',
  milestones: '',
  q: '',
  since: undefined,
  before: undefined,
  createdBy: '',
  assignedBy: '',
  mentionedBy: '',
  owner: '',
  team: '',
  priorityRepoId: 0,
  assigned: false,
  created: false,
  mentioned: false,
  reviewRequested: false,
  reviewed: false,
}

/** Returns the counts of a list as a message. */
export function facetsMessage({ counts, isCapped }: Facets): IssueFacets {
  const messages = (of: Facets['counts']['labels']) =>
    (of ?? []).map(({ name, count }) => ({ name, count: BigInt(count) }))
  return create(IssueFacetsSchema, {
    labels: messages(counts.labels),
    milestones: messages(counts.milestones),
    assignees: messages(counts.assignees),
    states: messages(counts.states),
    isCapped,
  })
}

function nodeMessage(condition: Condition): IssueQueryNode {
  const { kind } = condition
  switch (condition.kind) {
    case 'and':
    case 'or':
      return create(IssueQueryNodeSchema, { kind, items: condition.items.map(nodeMessage) })
    case 'not':
      return create(IssueQueryNodeSchema, { kind, items: [nodeMessage(condition.item)] })
    case 'words':
      return create(IssueQueryNodeSchema, {
        kind,
        values: condition.words.map(printWord),
        parts: [...condition.parts],
      })
    default:
      return create(IssueQueryNodeSchema, {
        kind,
        qualifier: condition.qualifier,
        values: condition.values.map(printValue),
      })
  }
}

/** The page that a request for issues asks for. */
interface PageRequest {
  readonly page: number
  readonly limit: number
  /** Token of the page; empty to use the number. */
  readonly pageToken: string
}

/** Returns the list that a request asks for. The next page may have another size, other facets and states. */
export function issueListOf({
  $typeName,
  page,
  limit,
  pageToken,
  facets,
  pullStates,
  ...filters
}: PageRequest & {
  readonly $typeName: string
  readonly facets: string
  readonly pullStates: boolean
}): ListIdentity {
  const filter = JSON.stringify(filters, (_, value: unknown) =>
    typeof value === 'bigint' ? String(value) : value,
  )
  return { method: $typeName, parent: '', filter }
}

/** @throws INVALID_PAGE_TOKEN */
export function readIssuePage(app: App, list: ListIdentity, request: PageRequest): PageOfIssues {
  const numbered = readNumberedPage(app.settings, request)
  const after = readPageToken(app, list, request.pageToken)
  return after ? { ...numbered, offset: 0, after } : { ...numbered, after }
}

/** Returns the token of the page after a page; empty for the last one. */
export function nextPageToken(app: App, list: ListIdentity, { next }: ConversationPage): string {
  return next ? writePageToken(app, list, next) : ''
}

export const issueQueries = defineService(IssueQueryService, issueQueryService)
