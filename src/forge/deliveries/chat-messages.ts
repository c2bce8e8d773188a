/** A message about an event to people in a chat: plain text without any markup. */
export interface ChatMessage {
  readonly title: string
  /** The page of the subject; empty for none. */
  readonly url: string
  /** Lines below the title; may be empty. */
  readonly text: string
  /** 0xRRGGBB. */
  readonly color: number
  /** The name of the account that caused the event. */
  readonly author: string
}

/** The members of payloads that messages show. Each event has some of them. */
interface Payload {
  readonly action?: string
  readonly repository: { readonly full_name: string; readonly html_url?: string }
  readonly sender: { readonly login: string }
  readonly ref?: string
  readonly ref_type?: string
  readonly compare_url?: string
  readonly total_commits?: number
  readonly commits?: readonly CommitLine[]
  readonly forkee?: { readonly full_name: string }
  readonly issue?: Titled & { readonly number: number }
  readonly pull_request?: Titled & { readonly number: number; readonly merged?: boolean }
  readonly requested_reviewer?: { readonly login: string } | null
  readonly review?: { readonly content: string } | null
  readonly comment?: { readonly body: string; readonly html_url?: string }
  readonly release?: {
    readonly tag_name: string
    readonly name?: string
    readonly html_url?: string
  }
  readonly merge_group?: { readonly base_ref: string }
  readonly sha?: string
  readonly state?: string
  readonly context?: string
  readonly description?: string
}

interface Titled {
  readonly title: string
  /** A deleted issue has none. */
  readonly html_url?: string
}

interface CommitLine {
  readonly id: string
  readonly message: string
  readonly author: { readonly name: string }
}

/** The part of an event besides repository and account. */
type Said = Pick<ChatMessage, 'title'> & Partial<Pick<ChatMessage, 'url' | 'text' | 'color'>>

const GREEN = 0x1aab63
const RED = 0xd0352f
const BLUE = 0x1d7fd0
const GREY = 0x7d8590

/** The length of an abbreviated commit id. */
const SHORT_ID = 10

const REVIEWS: Readonly<Record<string, readonly [words: string, color: number]>> = {
  pull_request_review_approved: ['approved', GREEN],
  pull_request_review_rejected: ['requested changes to', RED],
  pull_request_review_comment: ['reviewed', BLUE],
}

/** The colours of the states of commits. */
const STATES: Readonly<Record<string, number>> = { success: GREEN, error: RED, failure: RED }

/**
 * Returns the message about an event.
 *
 * @param type the type of the event.
 */
export function chatMessageOf(type: string, payload: Payload): ChatMessage {
  const { repository, sender } = payload
  const { title, url = repository.html_url ?? '', text = '', color = BLUE } = say(type, payload)
  return {
    title: `[${repository.full_name}] ${sender.login} ${title}`,
    url,
    text,
    color,
    author: sender.login,
  }
}

function say(type: string, payload: Payload): Said {
  if (type === 'push') return push(payload)
  if (type === 'create') return { title: `created ${refOf(payload)}`, color: GREEN }
  if (type === 'delete') return { title: `deleted ${refOf(payload)}`, color: RED }
  if (type === 'fork') return { title: `forked ${payload.forkee?.full_name ?? ''}` }
  if (type === 'repository')
    return {
      title: `${payload.action} the repository`,
      color: payload.action === 'created' ? GREEN : RED,
    }
  if (type === 'release') return release(payload)
  if (type === 'status') return status(payload)
  if (type === 'merge_group') return mergeGroup(payload)
  if (type === 'issues' || type.startsWith('issue_')) return issue(payload)
  return pullRequest(type, payload)
}

function push({ ref = '', compare_url, commits = [], total_commits = 0 }: Payload): Said {
  const branch = ref.replace(/^refs\/(heads|tags)\//, '')
  const lines = commits.map(
    ({ id, message, author }) => `${id.slice(0, SHORT_ID)} ${firstLine(message)} - ${author.name}`,
  )
  const title = `pushed ${total_commits} ${total_commits === 1 ? 'commit' : 'commits'} to ${branch}`
  return { title, text: lines.join('\n'), ...(compare_url && { url: compare_url }) }
}

function refOf({ ref_type = '', ref = '' }: Payload): string {
  return `the ${ref_type} ${ref}`
}

function release({ action = '', release }: Payload): Said {
  const name = release?.name || release?.tag_name
  const url = release?.html_url
  return { title: `${action} the release ${name}`, ...(url !== undefined && { url }) }
}

function status({ sha = '', state = '', context = '', description = '' }: Payload): Said {
  const title = `set ${context} of ${sha.slice(0, SHORT_ID)} to ${state}`
  return { title, text: description, color: STATES[state] ?? GREY }
}

function mergeGroup({ action = '', merge_group: group }: Payload): Said {
  const branch = group?.base_ref.replace('refs/heads/', '') ?? ''
  const what = action === 'destroyed' ? 'ended a group' : 'requested checks of a group'
  return { title: `${what} of the merge queue of ${branch}` }
}

function issue({ action = '', issue, comment }: Payload): Said {
  const name = `issue #${issue?.number ?? 0} ${issue?.title ?? ''}`
  const url = comment?.html_url ?? issue?.html_url
  const place = url === undefined ? {} : { url }
  if (comment) return { title: `${commentVerb(action)} ${name}`, text: comment.body, ...place }
  return { title: `${action.replaceAll('_', ' ')} ${name}`, ...place }
}

function pullRequest(type: string, payload: Payload): Said {
  const { pull_request: pull, review, comment, requested_reviewer: reviewer } = payload
  const name = `pull request #${pull?.number ?? 0} ${pull?.title ?? ''}`
  const url = pull?.html_url ?? ''
  const [verb, color] = REVIEWS[type] ?? []
  if (verb !== undefined && color !== undefined)
    return { title: `${verb} ${name}`, url, text: review?.content ?? '', color }
  if (comment) {
    const [title, text] = [`${commentVerb(payload.action)} ${name}`, comment.body]
    return { title, url: comment.html_url ?? url, text }
  }
  const target = reviewer ? `the review of ${reviewer.login} for ${name}` : name
  return { title: `${pullVerb(payload)} ${target}`, url }
}

function commentVerb(action: string | undefined): string {
  if (action === 'created') return 'commented on'
  return `${action} a comment on`
}

function pullVerb({ action = '', pull_request: pull }: Payload): string {
  if (action === 'closed' && pull?.merged) return 'merged'
  return action.replaceAll('_', ' ')
}

function firstLine(text: string): string {
  return text.split('\n', 1)[0] ?? ''
}
