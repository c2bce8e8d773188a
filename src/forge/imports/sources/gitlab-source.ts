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

export const GITLAB_LIMIT = ['per_page', 100] as const

const PATHS: Readonly<Record<Listed, string>> = {
  labels: '/labels',
  milestones: '/milestones',
  issues: '/issues?scope=all&order_by=created_at&sort=asc',
  pull_requests: '/merge_requests?scope=all&order_by=created_at&sort=asc',
  releases: '/releases',
}

/** The names of reactions there and here. */
const REACTIONS: Readonly<Record<string, string>> = {
  thumbsup: '+1',
  thumbsdown: '-1',
  laughing: 'laugh',
  tada: 'hooray',
  confused: 'confused',
  heart: 'heart',
  rocket: 'rocket',
  eyes: 'eyes',
}

/** Code in Markdown, where `!1` names no merge request. */
const CODE = /(```[\s\S]*?```|`[^`\n]*`)/

const MERGE_REQUEST = /(?<![\w/!])!(\d{1,9})\b/g

/**
 * A project of GitLab (https://docs.gitlab.com/api/rest). GitLab counts merge requests apart from issues.
 * Here their numbers follow those of the issues.
 */
export class GitlabSource implements ProjectSource {
  readonly headRefs = 'refs/merge-requests/*/head'
  readonly #client: SourceClient
  readonly #path: string
  readonly #offset: number

  /**
   * @param project groups and name, as in addresses.
   * @param offset the highest number of an issue when the import began. Later issues are left out.
   */
  constructor(client: SourceClient, project: string, offset: number) {
    this.#client = client
    this.#path = `/projects/${encodeURIComponent(project)}`
    this.#offset = offset
  }

  async check(): Promise<void> {
    const project = await this.#client.object(this.#path)
    if (!project.has('path_with_namespace'))
      throw new SourceError('the address does not serve the API of such a server')
  }

  /** Returns the highest number of an issue; 0 for none. */
  async highestIssue(): Promise<number> {
    const path = `${this.#path}/issues?scope=all&order_by=created_at&sort=desc`
    const { items } = await this.#client.page(path, '').catch(noneIfOff)
    return Math.max(0, ...items.map((item) => item.number('iid')))
  }

  async page<K extends Listed>(kind: K, cursor: string): Promise<RecordPage<ListedRecords[K]>> {
    const page = await this.#client.page(this.#path + PATHS[kind], cursor).catch(noneIfOff)
    const items =
      kind === 'issues'
        ? page.items.filter((item) => item.number('iid') <= this.#offset)
        : page.items
    const records = items.map((item): Loadable<ListedRecords[K]> => {
      const sourceId = kind === 'releases' ? item.text('tag_name') : item.id
      return { ref: refOf(kind, item), sourceId, load: () => this.#readers[kind](item) }
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
      releases: async (item) => this.#releaseOf(item),
    }

  async #issueOf(item: SourceObject): Promise<IssueRecord> {
    // The project here may have more readers.
    if (item.flag('confidential')) throw new SourceError('the issue is confidential')
    const path = `${this.#path}/issues/${item.number('iid')}`
    const comments =
      item.number('user_notes_count') === 0
        ? []
        : (await this.#client.every(`${path}/notes?order_by=created_at&sort=asc`))
            .filter((note) => !note.flag('system') && !isHidden(note))
            .map((note) => this.#commentOf(note))
    const conversation = await this.#conversationOf(item, path, item.number('iid'))
    return { ...conversation, comments, ref: '', stateReason: '' }
  }

  async #conversationOf(
    item: SourceObject,
    path: string,
    number: number,
  ): Promise<ConversationRecord> {
    const isClosed = item.text('state') === 'closed'
    const day = item.text('due_date')
    return {
      sourceId: item.id,
      number,
      author: personOf(item.part('author')),
      title: item.text('title'),
      body: this.#text(item, 'description'),
      ...timesOf(item),
      isClosed,
      closeTime: isClosed ? item.time('closed_at') : null,
      dueTime: day === '' ? null : endOf(day),
      lockReason: item.flag('discussion_locked') ? '' : undefined,
      pinOrder: 0,
      labels: item.texts('labels'),
      milestone: item.part('milestone').text('title'),
      assignees: item.parts('assignees').map(personOf),
      reactions: await this.#reactionsOf(path),
      attachments: [],
      comments: [],
      dependsOn: [],
    }
  }

  async #reactionsOf(path: string): Promise<ReactionRecord[]> {
    const items = await this.#client.every(`${path}/award_emoji`)
    return items.flatMap((item) => {
      const content = REACTIONS[item.text('name')]
      return content === undefined ? [] : [{ person: personOf(item.part('user')), content }]
    })
  }

  #commentOf(note: SourceObject): CommentRecord {
    const author = personOf(note.part('author'))
    return {
      sourceId: note.id,
      author,
      body: this.#text(note, 'body'),
      ...timesOf(note),
      reactions: [],
      attachments: [],
    }
  }

  async #pullOf(item: SourceObject): Promise<PullRecord> {
    const path = `${this.#path}/merge_requests/${item.number('iid')}`
    // Lists lack the commits of the difference.
    const whole = await this.#client.object(path)
    const discussions = await this.#client.every(`${path}/discussions`)
    const notes = discussions.map((one) => one.parts('notes').filter((note) => !isHidden(note)))
    const conversation = await this.#conversationOf(whole, path, this.#offset + item.number('iid'))
    const isMerged = whole.text('state') === 'merged'
    const mergeTime = whole.time('merged_at')
    const merger = whole.has('merge_user') ? whole.part('merge_user') : whole.part('merged_by')
    return {
      ...conversation,
      // GitLab locks a merge request while it merges it.
      isClosed: isMerged || whole.text('state') === 'closed',
      comments: notes
        .flatMap((ofOne) => ofOne.filter((note) => !note.flag('system') && !note.has('position')))
        .map((note) => this.#commentOf(note)),
      baseBranch: whole.text('target_branch'),
      headBranch: whole.text('source_branch'),
      isHeadHere: whole.number('source_project_id') === whole.number('target_project_id'),
      headCommit: commitIn(whole.text('sha')),
      baseCommit: commitIn(whole.part('diff_refs').text('base_sha')),
      isDraft: whole.flag('draft'),
      merge: isMerged
        ? {
            commit:
              commitIn(whole.text('merge_commit_sha')) ||
              commitIn(whole.text('squash_commit_sha')) ||
              commitIn(whole.text('sha')),
            time: mergeTime ?? timesOf(whole).updateTime,
            merger: merger.id === '0' ? undefined : personOf(merger),
          }
        : undefined,
      reviews: [
        ...notes.flatMap((ofOne) => this.#reviewOf(ofOne)),
        ...(await this.#approvalsOf(path, whole)),
      ],
    }
  }

  /** A discussion of lines is a review. */
  #reviewOf(all: readonly SourceObject[]): ReviewRecord[] {
    const notes = all.filter((note) => !note.flag('system') && note.has('position'))
    const [first] = notes
    if (!first) return []
    const comments = notes.map((note) => this.#lineCommentOf(note, first))
    const [{ commit = '' } = {}] = comments
    return [
      {
        sourceId: first.id,
        author: personOf(first.part('author')),
        state: 'COMMENT',
        body: '',
        commit,
        isDismissed: false,
        ...timesOf(first),
        comments,
      },
    ]
  }

  #lineCommentOf(note: SourceObject, first: SourceObject): LineCommentRecord {
    const position = first.part('position')
    const newLine = position.number('new_line')
    const side = newLine === 0 && position.number('old_line') > 0 ? 'old' : 'new'
    return {
      sourceId: note.id,
      author: personOf(note.part('author')),
      body: this.#text(note, 'body'),
      path: position.text('new_path') || position.text('old_path'),
      side,
      line: side === 'old' ? position.number('old_line') : newLine,
      commit: commitIn(position.text('head_sha')),
      diffHunk: '',
      isResolved: note.flag('resolved'),
      ...timesOf(note),
    }
  }

  async #approvalsOf(path: string, pull: SourceObject): Promise<ReviewRecord[]> {
    const approvals = await this.#client.object(`${path}/approvals`).catch((error: unknown) => {
      if (error instanceof SourceError && error.status === 404) return undefined
      throw error
    })
    return (approvals?.parts('approved_by') ?? []).map((item) => {
      const author = personOf(item.part('user'))
      const createTime = item.time('approved_at') ?? timesOf(pull).updateTime
      return {
        sourceId: `approval ${pull.id} ${author.id}`,
        author,
        state: 'APPROVED' as const,
        body: '',
        commit: commitIn(pull.text('sha')),
        isDismissed: false,
        createTime,
        updateTime: createTime,
        comments: [],
      }
    })
  }

  #releaseOf(item: SourceObject): ReleaseRecord {
    return {
      sourceId: item.text('tag_name'),
      tag: item.text('tag_name'),
      target: item.part('commit').text('id'),
      title: item.text('name'),
      note: this.#text(item, 'description'),
      isDraft: false,
      isPrerelease: false,
      author: personOf(item.part('author')),
      createTime: item.time('released_at') ?? item.time('created_at') ?? 0,
      assets: item
        .part('assets')
        .parts('links')
        .map((link) => ({
          sourceId: link.id,
          name: link.text('name'),
          createTime: item.time('released_at') ?? 0,
          url: link.text('direct_asset_url') || link.text('url'),
        })),
    }
  }

  /** Returns a text that names merge requests by their numbers here. */
  #text(item: SourceObject, key: string): string {
    const named = (text: string) =>
      text.replace(MERGE_REQUEST, (_, number: string) => `#${this.#offset + Number(number)}`)
    return item
      .text(key)
      .split(CODE)
      .map((part, i) => (i % 2 === 0 ? named(part) : part))
      .join('')
  }
}

/** Only members of the project read such notes. */
function isHidden(note: SourceObject): boolean {
  return note.flag('internal') || note.flag('confidential')
}

function labelOf(item: SourceObject): LabelRecord {
  return {
    sourceId: item.id,
    name: item.text('name'),
    color: item.text('color').replace(/^#/, '').toLowerCase(),
    description: item.text('description'),
    // Its scopes end with `::`, and those here with a slash.
    isExclusive: false,
    isArchived: false,
  }
}

function milestoneOf(item: SourceObject): MilestoneRecord {
  const isClosed = item.text('state') === 'closed'
  const day = item.text('due_date')
  return {
    sourceId: item.id,
    title: item.text('title'),
    description: item.text('description'),
    isClosed,
    dueTime: day === '' ? null : endOf(day),
    closeTime: isClosed ? timesOf(item).updateTime : null,
    ...timesOf(item),
  }
}

/** Returns the last second of a day in Unix seconds; null for a text that is no day. */
function endOf(day: string): number | null {
  const ms = Date.parse(`${day}T23:59:59Z`)
  return ms > 0 ? Math.floor(ms / 1000) : null
}

function personOf(account: SourceObject): SourcePerson {
  return { id: account.number('id'), login: account.text('username'), name: account.text('name') }
}

function timesOf(item: SourceObject): { createTime: number; updateTime: number } {
  const createTime = item.time('created_at') ?? 0
  return { createTime, updateTime: item.time('updated_at') ?? createTime }
}

function refOf(kind: Listed, item: SourceObject): string {
  if (kind === 'issues') return `#${item.number('iid')}`
  if (kind === 'pull_requests') return `!${item.number('iid')}`
  return item.text('tag_name') || item.text('name') || item.text('title') || item.id
}

/** A project whose issues or merge requests are off answers 403 or 404. */
function noneIfOff(error: unknown) {
  const isOff = error instanceof SourceError && (error.status === 403 || error.status === 404)
  if (!isOff) throw error
  return { items: [] as readonly SourceObject[], next: undefined, total: 0 }
}
