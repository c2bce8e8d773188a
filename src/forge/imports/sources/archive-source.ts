import { createReadStream } from 'node:fs'
import { access } from 'node:fs/promises'
import { join } from 'node:path'
import { type ListName, listEntry } from '../archive-format.ts'
import { linesOf } from '../archive-lines.ts'
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
  MilestoneRecord,
  ProjectSource,
  PullRecord,
  ReactionRecord,
  RecordPage,
  ReleaseRecord,
  ReviewRecord,
  SourcePerson,
} from '../project-records.ts'
import { SourceError } from './source-client.ts'
import { commitIn, SourceObject, type SourceValue, uuidIn } from './source-values.ts'

/** Conversations of one page, which are in memory with their comments. */
const PAGE = 20

/** The lines of a list, one after the other. */
class ListReader {
  readonly #lines: AsyncGenerator<string | undefined, void, undefined>
  #next: SourceObject | undefined
  #count = 0

  constructor(folder: string, list: ListName) {
    this.#lines = linesOf(createReadStream(join(folder, listEntry(list))))
  }

  /** Returns the next line without taking it; undefined after the last one. */
  async peek(): Promise<SourceObject | undefined> {
    if (this.#next) return this.#next
    const { value } = await this.#lines.next()
    // The upload was checked.
    if (value) this.#next = SourceObject.of(JSON.parse(value) as SourceValue)
    return this.#next
  }

  /** Takes the next line, with its number. */
  async take(): Promise<{ line: SourceObject; sourceId: string } | undefined> {
    const line = await this.peek()
    this.#next = undefined
    this.#count += 1
    return line && { line, sourceId: String(this.#count) }
  }

  /** Takes the lines of a conversation, which are the next ones. */
  async takeOf(number: number): Promise<{ line: SourceObject; sourceId: string }[]> {
    const taken: { line: SourceObject; sourceId: string }[] = []
    while ((await this.peek())?.number('number') === number) {
      const next = await this.take()
      if (next) taken.push(next)
    }
    return taken
  }

  async close(): Promise<void> {
    await this.#lines.return()
  }
}

/** A line of a list with its number. */
type Line = NonNullable<Awaited<ReturnType<ListReader['take']>>>

/** A project in an archive that was unpacked. Its pages must be read one after the other. */
export class ArchiveSource implements ProjectSource {
  readonly headRefs = ''
  readonly #folder: string
  readonly #counts: Readonly<Record<ListName, number>>
  readonly #readers = new Map<ListName, ListReader>()

  constructor(folder: string, counts: Readonly<Record<ListName, number>>) {
    this.#folder = folder
    this.#counts = counts
  }

  async check(): Promise<void> {}

  async page<K extends Listed>(kind: K): Promise<RecordPage<ListedRecords[K]>> {
    const reader = this.#reader(kind)
    const records: { ref: string; sourceId: string; load: () => Promise<ListedRecords[K]> }[] = []
    while (records.length < PAGE) {
      const taken = await reader.take()
      if (!taken) break
      const record = await this.#records[kind](taken)
      records.push({ ref: refOf(taken), sourceId: taken.sourceId, load: async () => record })
    }
    const isLast = (await reader.peek()) === undefined
    return { records, next: isLast ? undefined : 'next', total: this.#counts[kind] }
  }

  async asset({ url }: AssetRecord): Promise<AsyncIterable<Uint8Array>> {
    // The folder has files of the archive only.
    const path = /^(?:assets|attachments)\/\d+$/.test(url) ? join(this.#folder, url) : ''
    const isThere = path !== '' && (await access(path).then(...YES_OR_NO))
    if (!isThere) throw new SourceError('the archive does not have the file')
    return createReadStream(path)
  }

  /** Closes the files. */
  async close(): Promise<void> {
    for (const reader of this.#readers.values()) await reader.close()
  }

  #reader(list: ListName): ListReader {
    const reader = this.#readers.get(list) ?? new ListReader(this.#folder, list)
    this.#readers.set(list, reader)
    return reader
  }

  readonly #records: { readonly [K in Listed]: (line: Line) => Promise<ListedRecords[K]> } = {
    labels: async (line) => labelOf(line),
    milestones: async (line) => milestoneOf(line),
    issues: (line) => this.#issueOf(line),
    pull_requests: (line) => this.#pullOf(line),
    releases: async (line) => releaseOf(line),
  }

  async #issueOf(taken: Line): Promise<IssueRecord> {
    const { line } = taken
    const conversation = await this.#conversationOf(taken)
    return { ...conversation, ref: line.text('ref'), stateReason: line.text('state_reason') }
  }

  async #conversationOf({ line, sourceId }: Line): Promise<ConversationRecord> {
    const number = line.number('number')
    const isClosed = line.text('state') === 'closed'
    const comments = await this.#reader('comments').takeOf(number)
    return {
      sourceId,
      number,
      author: personOf(line.part('user')),
      title: line.text('title'),
      body: line.text('body'),
      ...timesOf(line),
      isClosed,
      closeTime: isClosed ? line.time('closed_at') : null,
      dueTime: line.time('due_date'),
      lockReason: line.flag('is_locked') ? line.text('lock_reason') : undefined,
      pinOrder: line.number('pin_order'),
      labels: line.texts('labels'),
      milestone: line.text('milestone'),
      assignees: line.parts('assignees').map(personOf),
      reactions: reactionsOf(line),
      attachments: attachmentsOf(line),
      comments: comments.map(commentOf),
      dependsOn: line.numbers('dependencies'),
    }
  }

  async #pullOf(taken: Line): Promise<PullRecord> {
    const { line } = taken
    const head = line.part('head')
    const conversation = await this.#conversationOf(taken)
    const reviews = await this.#reader('reviews').takeOf(conversation.number)
    return {
      ...conversation,
      baseBranch: line.text('base'),
      headBranch: head.text('branch'),
      isHeadHere: head.flag('is_here'),
      headCommit: commitIn(head.text('sha')),
      baseCommit: commitIn(line.text('merge_base')),
      // The title says that a pull request is a draft.
      isDraft: false,
      merge: line.flag('merged')
        ? {
            commit: commitIn(line.text('merge_commit_sha')),
            time: line.time('merged_at') ?? conversation.updateTime,
            merger: line.has('merged_by') ? personOf(line.part('merged_by')) : undefined,
          }
        : undefined,
      reviews: reviews.flatMap(reviewOf),
    }
  }
}

const YES_OR_NO = [() => true, () => false] as const

function labelOf({ line, sourceId }: Line): LabelRecord {
  return {
    sourceId,
    name: line.text('name'),
    color: line.text('color'),
    description: line.text('description'),
    isExclusive: line.flag('exclusive'),
    isArchived: line.flag('is_archived'),
  }
}

function milestoneOf({ line, sourceId }: Line): MilestoneRecord {
  const isClosed = line.text('state') === 'closed'
  return {
    sourceId,
    title: line.text('title'),
    description: line.text('description'),
    isClosed,
    dueTime: line.time('due_on'),
    closeTime: isClosed ? line.time('closed_at') : null,
    ...timesOf(line),
  }
}

function commentOf({ line, sourceId }: Line): CommentRecord {
  return {
    sourceId,
    author: personOf(line.part('user')),
    body: line.text('body'),
    ...timesOf(line),
    reactions: reactionsOf(line),
    attachments: attachmentsOf(line),
  }
}

const STATES = ['APPROVED', 'REQUEST_CHANGES', 'COMMENT'] as const

function reviewOf({ line, sourceId }: Line): ReviewRecord[] {
  const state = STATES.find((known) => known === line.text('state'))
  if (!state) return []
  const createTime = line.time('submitted_at') ?? 0
  return [
    {
      sourceId,
      author: personOf(line.part('user')),
      state,
      body: line.text('body'),
      commit: commitIn(line.text('commit_id')),
      isDismissed: line.flag('dismissed'),
      createTime,
      updateTime: line.time('updated_at') ?? createTime,
      comments: line.parts('comments').map(lineCommentOf),
    },
  ]
}

function lineCommentOf(line: SourceObject, index: number): LineCommentRecord {
  return {
    sourceId: String(index),
    author: personOf(line.part('user')),
    body: line.text('body'),
    path: line.text('path'),
    side: line.text('side') === 'old' ? 'old' : 'new',
    line: line.number('line'),
    commit: commitIn(line.text('commit_id')),
    diffHunk: line.text('diff_hunk'),
    isResolved: line.flag('resolved'),
    ...timesOf(line),
  }
}

function releaseOf({ line, sourceId }: Line): ReleaseRecord {
  return {
    sourceId,
    tag: line.text('tag_name'),
    target: line.text('target_commitish'),
    title: line.text('name'),
    note: line.text('body'),
    isDraft: line.flag('draft'),
    isPrerelease: line.flag('prerelease'),
    author: personOf(line.part('author')),
    createTime: line.time('published_at') ?? 0,
    assets: line.parts('assets').map(assetOf),
  }
}

function assetOf(asset: SourceObject, index: number): AssetRecord {
  return {
    sourceId: String(index),
    name: asset.text('name'),
    createTime: asset.time('created_at') ?? 0,
    url: asset.text('file'),
  }
}

function attachmentsOf(line: SourceObject): AttachmentRecord[] {
  return line.parts('attachments').map((file, index) => ({
    ...assetOf(file, index),
    uuid: uuidIn(file.text('uuid')),
    link: file.text('url'),
  }))
}

function reactionsOf(line: SourceObject): ReactionRecord[] {
  return line.parts('reactions').map((reaction) => ({
    person: personOf(reaction.part('user')),
    content: reaction.text('content'),
  }))
}

function personOf(person: SourceObject): SourcePerson {
  return { id: person.number('id'), login: person.text('login'), name: person.text('name') }
}

function timesOf(line: SourceObject): { createTime: number; updateTime: number } {
  const createTime = line.time('created_at') ?? 0
  return { createTime, updateTime: line.time('updated_at') ?? createTime }
}

/** Returns how the list of errors names a record. */
function refOf({ line, sourceId }: Line): string {
  const number = line.number('number')
  return number > 0
    ? `#${number}`
    : line.text('tag_name') || line.text('name') || line.text('title') || sourceId
}
