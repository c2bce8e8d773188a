import type {
  AssetRecord,
  AttachmentRecord,
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
import { commitIn, type SourceObject, uuidIn } from './source-values.ts'

/** Pages of Gitea have 50 entries at most, unless the operator changed that. */
export const GITEA_LIMIT = ['limit', 50] as const

const PATHS: Readonly<Record<Listed, string>> = {
  labels: '/labels',
  milestones: '/milestones?state=all',
  issues: '/issues?state=all&type=issues',
  pull_requests: '/pulls?state=all&sort=oldest',
  releases: '/releases',
}

const STATES: Readonly<Record<string, ReviewRecord['state']>> = {
  APPROVED: 'APPROVED',
  REQUEST_CHANGES: 'REQUEST_CHANGES',
  COMMENT: 'COMMENT',
}

/** A project of Gitea, Forgejo, or a server with their API (https://docs.gitea.com/api). */
export class GiteaSource implements ProjectSource {
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
    const { items, next, total } = await this.#client
      .page(this.#path + PATHS[kind], cursor)
      .catch(noneIfOff)
    const records = items.map((item): Loadable<ListedRecords[K]> => {
      const { id } = item
      return { ref: refOf(item), sourceId: id, load: () => this.#readers[kind](item) }
    })
    return { records, next, total }
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
    return { ...conversation, ref: item.text('ref'), stateReason: item.text('state_reason') }
  }

  async #conversationOf(item: SourceObject): Promise<ConversationRecord> {
    const number = item.number('number')
    const path = `${this.#path}/issues/${number}`
    const isClosed = item.text('state') === 'closed'
    return {
      sourceId: item.id,
      number,
      author: authorOf(item),
      title: item.text('title'),
      body: item.text('body'),
      ...timesOf(item),
      isClosed,
      closeTime: isClosed ? item.time('closed_at') : null,
      dueTime: item.time('due_date'),
      lockReason: item.flag('is_locked') ? item.text('lock_reason') : undefined,
      pinOrder: item.number('pin_order'),
      labels: item.parts('labels').map((label) => label.text('name')),
      milestone: item.part('milestone').text('title'),
      assignees: item.parts('assignees').map(personOf),
      reactions: await this.#reactionsOf(`${path}/reactions`),
      attachments: await this.#attachmentsOf(item, path),
      comments: item.number('comments') === 0 ? [] : await this.#commentsOf(path),
      dependsOn: await this.#dependenciesOf(path),
    }
  }

  /** Gitea answers all comments at once, without their reactions. */
  async #commentsOf(path: string): Promise<CommentRecord[]> {
    const comments: CommentRecord[] = []
    for (const item of await this.#client.all(`${path}/comments`)) {
      const reactions = `${this.#path}/issues/comments/${item.id}/reactions`
      comments.push({
        sourceId: item.id,
        author: authorOf(item),
        body: item.text('body'),
        ...timesOf(item),
        reactions: await this.#reactionsOf(reactions),
        attachments: item.parts('assets').map(attachmentOf),
      })
    }
    return comments
  }

  async #reactionsOf(path: string): Promise<ReactionRecord[]> {
    const items = await this.#client.all(path).catch(nothingIfOff)
    return items.map((item) => ({
      person: item.person('user', 'login', 'full_name'),
      content: item.text('content'),
    }))
  }

  /** A pull request does not say which files it has. */
  async #attachmentsOf(item: SourceObject, path: string): Promise<AttachmentRecord[]> {
    const isSaid = item.has('assets') || !item.text('body').includes('/attachments/')
    const files = isSaid
      ? item.parts('assets')
      : await this.#client.all(`${path}/assets`).catch(nothingIfOff)
    return files.map(attachmentOf)
  }

  async #dependenciesOf(path: string): Promise<number[]> {
    const items = await this.#client.every(`${path}/dependencies`).catch(nothingIfOff)
    const here = this.#path.slice('/repos/'.length).toLowerCase()
    return items
      .filter((item) => item.part('repository').text('full_name').toLowerCase() === here)
      .map((item) => item.number('number'))
  }

  async #pullOf(item: SourceObject): Promise<PullRecord> {
    const [base, head] = [item.part('base'), item.part('head')]
    const path = `${this.#path}/pulls/${item.number('number')}`
    const commit = item.text('merge_commit_sha')
    const mergeTime = item.time('merged_at')
    return {
      ...(await this.#conversationOf(item)),
      baseBranch: base.text('ref'),
      headBranch: head.text('ref').replace(/^refs\/pull\/\d+\/head$/, ''),
      isHeadHere: head.number('repo_id') > 0 && head.number('repo_id') === base.number('repo_id'),
      headCommit: commitIn(head.text('sha')),
      baseCommit: commitIn(item.text('merge_base')) || commitIn(base.text('sha')),
      // The title says that a pull request is a draft.
      isDraft: false,
      merge: item.flag('merged')
        ? {
            commit: commitIn(commit),
            time: mergeTime ?? timesOf(item).updateTime,
            merger: item.has('merged_by') ? personOf(item.part('merged_by')) : undefined,
          }
        : undefined,
      reviews: await this.#reviewsOf(path),
    }
  }

  async #reviewsOf(path: string): Promise<ReviewRecord[]> {
    const reviews: ReviewRecord[] = []
    for (const item of await this.#client.every(`${path}/reviews`)) {
      const state = STATES[item.text('state')]
      if (!state) continue
      const createTime = item.time('submitted_at') ?? 0
      const hasComments = item.number('comments_count') > 0
      reviews.push({
        sourceId: item.id,
        author: authorOf(item),
        state,
        body: item.text('body'),
        commit: commitIn(item.text('commit_id')),
        isDismissed: item.flag('dismissed'),
        createTime,
        updateTime: item.time('updated_at') ?? createTime,
        comments: hasComments
          ? (await this.#client.all(`${path}/reviews/${item.id}/comments`)).map(lineCommentOf)
          : [],
      })
    }
    return reviews
  }
}

function labelOf(item: SourceObject): LabelRecord {
  return {
    sourceId: item.id,
    name: item.text('name'),
    color: item.text('color').replace(/^#/, '').toLowerCase(),
    description: item.text('description'),
    isExclusive: item.flag('exclusive'),
    isArchived: item.flag('is_archived'),
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
  const newLine = item.number('position')
  const oldLine = item.number('original_position')
  return {
    sourceId: item.id,
    author: authorOf(item),
    body: item.text('body'),
    path: item.text('path'),
    side: newLine === 0 && oldLine > 0 ? 'old' : 'new',
    line: newLine || oldLine,
    commit: commitIn(item.text('original_commit_id')) || commitIn(item.text('commit_id')),
    diffHunk: item.text('diff_hunk'),
    isResolved: item.has('resolver'),
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
    assets: item.parts('assets').map(assetOf),
  }
}

function assetOf(asset: SourceObject): AssetRecord {
  return {
    sourceId: asset.id,
    name: asset.text('name'),
    createTime: asset.time('created_at') ?? 0,
    url: asset.text('browser_download_url'),
  }
}

function attachmentOf(file: SourceObject): AttachmentRecord {
  const asset = assetOf(file)
  return { ...asset, uuid: uuidIn(file.text('uuid')), link: asset.url }
}

/** Returns the author: of a text that the other server has imported, the one before. */
function authorOf(item: SourceObject): SourcePerson {
  const login = item.text('original_author')
  if (login !== '') return { id: item.number('original_author_id'), login, name: '' }
  return personOf(item.part('user'))
}

/** The accounts that stand for deleted ones and for the server have negative ids. */
function personOf(account: SourceObject): SourcePerson {
  const id = account.number('id')
  if (id === 0) return { id, login: '', name: '' }
  return { id, login: account.text('login'), name: account.text('full_name') }
}

function timesOf(item: SourceObject): { createTime: number; updateTime: number } {
  const createTime = item.time('created_at') ?? 0
  return { createTime, updateTime: item.time('updated_at') ?? createTime }
}

/** Returns how the list of errors names a record. */
function refOf(item: SourceObject): string {
  const number = item.number('number')
  return number > 0
    ? `#${number}`
    : item.text('tag_name') || item.text('name') || item.text('title') || item.id
}

/** The project may have no issues, pull requests or releases. */
function noneIfOff(error: unknown) {
  return { items: nothingIfOff(error), next: undefined, total: 0 }
}

function nothingIfOff(error: unknown): readonly SourceObject[] {
  if (error instanceof SourceError && error.status === 404) return []
  throw error
}
