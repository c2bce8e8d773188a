import type {
  AssetRecord,
  CommentRecord,
  ConversationRecord,
  IssueRecord,
  LabelRecord,
  LineCommentRecord,
  Listed,
  ListedRecords,
  Loadable,
  MilestoneRecord,
  ProjectSource,
  PullRecord,
  ReactionRecord,
  RecordPage,
  ReleaseRecord,
  ReviewRecord,
  SourcePerson,
} from '../project-records.ts'
import { type SourceClient, SourceError } from './source-client.ts'
import { commitIn, type SourceObject } from './source-values.ts'

export const GITHUB_LIMIT = ['per_page', 100] as const

/** The API to which the code below is written (https://docs.github.com/rest/about-the-rest-api/api-versions). */
export const GITHUB_HEADERS = { 'x-github-api-version': '2022-11-28' } as const

const PATHS: Readonly<Record<Listed, string>> = {
  labels: '/labels',
  milestones: '/milestones?state=all',
  issues: '/issues?state=all&sort=created&direction=asc',
  pull_requests: '/pulls?state=all&sort=created&direction=asc',
  releases: '/releases',
}

const STATES: Readonly<Record<string, ReviewRecord['state']>> = {
  APPROVED: 'APPROVED',
  CHANGES_REQUESTED: 'REQUEST_CHANGES',
  COMMENTED: 'COMMENT',
  // GitHub does not say what the review was before.
  DISMISSED: 'COMMENT',
}

/** A project of GitHub or GitHub Enterprise Server (https://docs.github.com/rest). */
export class GithubSource implements ProjectSource {
  readonly headRefs = 'refs/pull/*/head'
  readonly #client: SourceClient
  readonly #path: string

  /** @param project owner and name, as in addresses. */
  constructor(client: SourceClient, project: string) {
    this.#client = client
    this.#path = `/repos/${project}`
  }

  async check(): Promise<void> {
    const project = await this.#client.object(this.#path)
    if (!project.has('full_name'))
      throw new SourceError('the address does not serve the API of such a server')
  }

  async page<K extends Listed>(kind: K, cursor: string): Promise<RecordPage<ListedRecords[K]>> {
    const page = await this.#client.page(this.#path + PATHS[kind], cursor).catch(noneIfOff)
    // Pull requests are in the list of issues, too.
    const items =
      kind === 'issues' ? page.items.filter((item) => !item.has('pull_request')) : page.items
    const records = items.map((item): Loadable<ListedRecords[K]> => {
      const { id } = item
      return { ref: refOf(item), sourceId: id, load: () => this.#readers[kind](item) }
    })
    return { records, next: page.next, total: page.total }
  }

  asset({ url }: AssetRecord): Promise<AsyncIterable<Uint8Array>> {
    return this.#client.open(url)
  }

  readonly #readers: { readonly [K in Listed]: (item: SourceObject) => Promise<ListedRecords[K]> } =
    {
      labels: async (item) => labelOf(item),
      milestones: async (item) => milestoneOf(item),
      issues: (item) => this.#issueOf(item),
      pull_requests: (item) => this.#pullOf(item),
      releases: async (item) => releaseOf(item),
    }

  async #issueOf(item: SourceObject): Promise<IssueRecord> {
    const conversation = await this.#conversationOf(item)
    return { ...conversation, ref: '', stateReason: item.text('state_reason') }
  }

  /** @param item an issue; for a pull request, the issue that GitHub has for each. */
  async #conversationOf(item: SourceObject): Promise<ConversationRecord> {
    const number = item.number('number')
    const path = `${this.#path}/issues/${number}`
    const isClosed = item.text('state') === 'closed'
    return {
      sourceId: item.id,
      number,
      author: personOf(item.part('user')),
      title: item.text('title'),
      body: item.text('body'),
      ...timesOf(item),
      isClosed,
      closeTime: isClosed ? item.time('closed_at') : null,
      dueTime: null,
      lockReason: item.flag('locked') ? item.text('active_lock_reason') : undefined,
      pinOrder: 0,
      labels: item.parts('labels').map((label) => label.text('name')),
      milestone: item.part('milestone').text('title'),
      assignees: item.parts('assignees').map(personOf),
      reactions: await this.#reactionsOf(item, path),
      attachments: [],
      comments: item.number('comments') === 0 ? [] : await this.#commentsOf(path),
      dependsOn: [],
    }
  }

  async #commentsOf(path: string): Promise<CommentRecord[]> {
    const comments: CommentRecord[] = []
    for (const item of await this.#client.every(`${path}/comments`)) {
      comments.push({
        sourceId: item.id,
        author: personOf(item.part('user')),
        body: item.text('body'),
        ...timesOf(item),
        reactions: await this.#reactionsOf(item, `${this.#path}/issues/comments/${item.id}`),
        attachments: [],
      })
    }
    return comments
  }

  /** The text itself has the number of its reactions. */
  async #reactionsOf(item: SourceObject, path: string): Promise<ReactionRecord[]> {
    if (item.part('reactions').number('total_count') === 0) return []
    const reactions = await this.#client.every(`${path}/reactions`)
    return reactions.map((one) => ({
      person: personOf(one.part('user')),
      content: one.text('content'),
    }))
  }

  async #pullOf(item: SourceObject): Promise<PullRecord> {
    const number = item.number('number')
    const [base, head] = [item.part('base'), item.part('head')]
    const mergeTime = item.time('merged_at')
    // The pull request lacks the numbers of its comments and reactions.
    const issue = await this.#client.object(`${this.#path}/issues/${number}`)
    return {
      ...(await this.#conversationOf(issue)),
      sourceId: item.id,
      baseBranch: base.text('ref'),
      headBranch: head.text('ref'),
      isHeadHere: head.part('repo').id !== '0' && head.part('repo').id === base.part('repo').id,
      headCommit: commitIn(head.text('sha')),
      baseCommit: commitIn(base.text('sha')),
      isDraft: item.flag('draft'),
      merge:
        mergeTime === null
          ? undefined
          : {
              commit: commitIn(item.text('merge_commit_sha')),
              time: mergeTime,
              merger: await this.#mergerOf(number),
            },
      reviews: await this.#reviewsOf(number),
    }
  }

  /** Lists do not say who merged. */
  async #mergerOf(number: number): Promise<SourcePerson | undefined> {
    const pull = await this.#client.object(`${this.#path}/pulls/${number}`)
    return pull.has('merged_by') ? personOf(pull.part('merged_by')) : undefined
  }

  async #reviewsOf(number: number): Promise<ReviewRecord[]> {
    const path = `${this.#path}/pulls/${number}`
    const items = await this.#client.every(`${path}/reviews`)
    if (items.length === 0) return []
    const comments = await this.#client.every(`${path}/comments`)
    return items.flatMap((item) => {
      const state = STATES[item.text('state')]
      if (!state) return []
      const createTime = item.time('submitted_at') ?? 0
      const own = comments.filter((one) => String(one.number('pull_request_review_id')) === item.id)
      const review = {
        sourceId: item.id,
        author: personOf(item.part('user')),
        state,
        body: item.text('body'),
        commit: commitIn(item.text('commit_id')),
        isDismissed: item.text('state') === 'DISMISSED',
        createTime,
        updateTime: createTime,
        comments: own.map(lineCommentOf),
      }
      // GitHub has a review without a text for each single reply.
      return review.body === '' && own.length === 0 && state === 'COMMENT' ? [] : [review]
    })
  }
}

function labelOf(item: SourceObject): LabelRecord {
  return {
    sourceId: item.id,
    name: item.text('name'),
    color: item.text('color').toLowerCase(),
    description: item.text('description'),
    isExclusive: false,
    isArchived: false,
  }
}

function milestoneOf(item: SourceObject): MilestoneRecord {
  const isClosed = item.text('state') === 'closed'
  return {
    sourceId: item.id,
    title: item.text('title'),
    description: item.text('description'),
    isClosed,
    dueTime: item.time('due_on'),
    closeTime: isClosed ? item.time('closed_at') : null,
    ...timesOf(item),
  }
}

function lineCommentOf(item: SourceObject): LineCommentRecord {
  const isFile = item.text('subject_type') === 'file'
  return {
    sourceId: item.id,
    author: personOf(item.part('user')),
    body: item.text('body'),
    path: item.text('path'),
    side: item.text('side') === 'LEFT' ? 'old' : 'new',
    line: isFile ? 0 : item.number('line') || item.number('original_line'),
    commit: commitIn(item.text('original_commit_id')) || commitIn(item.text('commit_id')),
    diffHunk: item.text('diff_hunk'),
    isResolved: false,
    ...timesOf(item),
  }
}

function releaseOf(item: SourceObject): ReleaseRecord {
  return {
    sourceId: item.id,
    tag: item.text('tag_name'),
    target: item.text('target_commitish'),
    title: item.text('name'),
    note: item.text('body'),
    isDraft: item.flag('draft'),
    isPrerelease: item.flag('prerelease'),
    author: personOf(item.part('author')),
    createTime: item.time('published_at') ?? item.time('created_at') ?? 0,
    assets: item.parts('assets').map((asset) => ({
      sourceId: asset.id,
      name: asset.text('name'),
      createTime: asset.time('created_at') ?? 0,
      // This address takes the token, which a private project needs.
      url: asset.text('url') || asset.text('browser_download_url'),
    })),
  }
}

function personOf(account: SourceObject): SourcePerson {
  return { id: account.number('id'), login: account.text('login'), name: account.text('name') }
}

function timesOf(item: SourceObject): { createTime: number; updateTime: number } {
  const createTime = item.time('created_at') ?? 0
  return { createTime, updateTime: item.time('updated_at') ?? createTime }
}

function refOf(item: SourceObject): string {
  const number = item.has('title') && !item.has('open_issues') ? item.number('number') : 0
  return number > 0
    ? `#${number}`
    : item.text('tag_name') || item.text('name') || item.text('title') || item.id
}

/** GitHub answers 410 for a project whose issues are off. */
function noneIfOff(error: unknown) {
  const isOff = error instanceof SourceError && (error.status === 404 || error.status === 410)
  if (!isOff) throw error
  return { items: [] as readonly SourceObject[], next: undefined, total: 0 }
}
