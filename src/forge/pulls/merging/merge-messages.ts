import { type Author, listAuthors } from '../../../platform/git/history/authors.ts'
import { findMergeBase } from '../../../platform/git/history/history.ts'
import { cleanSigner, readCommit } from '../../../platform/git/objects/commits.ts'
import { readObject } from '../../../platform/git/objects/objects.ts'
import type { Signer } from '../../../platform/git/objects/signers.ts'
import { findEntry } from '../../../platform/git/objects/trees.ts'
import { readRef } from '../../../platform/git/refs/refs.ts'
import type { Owner } from '../../accounts/schema.ts'
import { findOwnerById } from '../../accounts/users/owners.rows.ts'
import { GHOST, noReplyAddress } from '../../accounts/users/owners.ts'
import { findUserById, findUsersByIds } from '../../accounts/users/users.rows.ts'
import type { SignedIn } from '../../core/access.ts'
import { nowSeconds } from '../../core/core.ts'
import { DomainError } from '../../core/errors.ts'
import type { ConversationName } from '../../core/names.ts'
import type { MergeStyle } from '../../core/schema.ts'
import {
  commitEmail,
  findAccounts,
  gitIdentity,
  publicIdentity,
} from '../../repositories/commits/commit-authors.ts'
import { allowedStyles } from '../../repositories/commits/merge-styles.ts'
import { reading } from '../../repositories/content/git-reading.ts'
import { findRepositoryById } from '../../repositories/lifecycle/repositories.rows.ts'
import type { ReposApp } from '../../repositories/ports.ts'
import { readBranch } from '../../repositories/refs/ref-index.ts'
import type { Repository } from '../../repositories/schema.ts'
import { readMergeRights } from '../heads/merge-rights.ts'
import { type OpenPull, openPull } from '../heads/open-pulls.ts'
import { prepareHead } from '../heads/pull-heads.ts'
import { countApprovals } from '../review/review-states.ts'
import type { PullRequest } from '../schema.ts'
import {
  type CheckedMerge,
  checkOpen,
  type MergeOptions,
  type OpenMerge,
  targetOf,
} from './merge-checks.ts'

/** The messages and authors of merge commits. */

type Message = Pick<MergeOptions, 'title' | 'message'>

/** Paths of the message templates on the default branch, as in compatible systems. */
const TEMPLATES: Readonly<Partial<Record<MergeStyle, string>>> = {
  merge: '.gitea/default_merge_message/MERGE_TEMPLATE.md',
  rebase: '.gitea/default_merge_message/REBASE_TEMPLATE.md',
  'rebase-merge': '.gitea/default_merge_message/REBASE-MERGE_TEMPLATE.md',
  squash: '.gitea/default_merge_message/SQUASH_TEMPLATE.md',
}

/** Longer templates are truncated. */
const MAX_TEMPLATE_BYTES = 5 * 1024

/** Authors that a squash commit names beside the poster. */
const MAX_CO_AUTHORS = 50

/** A variable in a template. */
const VARIABLE = /\$\{([A-Za-z]+)\}/g

const CO_AUTHORED = 'Co-authored-by: '

/** Trailers at the end of a message (git-interpret-trailers(1)). */
const TRAILERS = /\n\n(?:[A-Za-z0-9-]+: [^\n]*(?:\n|$))+$/

/**
 * Returns the message of the merge commit, or of the last commit of a rebase; undefined if that
 * commit keeps its own message.
 */
export async function mergeMessage(
  app: ReposApp,
  merge: CheckedMerge,
): Promise<string | undefined> {
  const { title, message } = clean(merge.options)
  const template = title === '' ? await readTemplate(app, merge) : undefined
  const given = template === undefined ? { title, message: '' } : await fill(app, merge, template)
  const body = message || given.message
  const fullTitle = given.title || (await defaultTitle(app, merge, body !== ''))
  return fullTitle === undefined
    ? undefined
    : `${[fullTitle, ...(body === '' ? [] : [body])].join('\n\n')}\n`
}

/** Removes null bytes, at which Git ends a message, and normalizes line ends. */
function clean({ title, message }: Message): Message {
  const cleaned = (text: string) => text.replaceAll('\0', '').replaceAll('\r\n', '\n').trim()
  return { title: cleaned(title), message: cleaned(message) }
}

/** @param hasBody whether the message has a body, for which a rebase rewords its last commit. */
async function defaultTitle(
  app: ReposApp,
  merge: CheckedMerge,
  hasBody: boolean,
): Promise<string | undefined> {
  const { title, number } = merge.pull
  switch (merge.style) {
    case 'merge':
    case 'rebase-merge': {
      const { text } = await headNameOf(app, merge)
      return `Merge pull request '${title}' (#${number}) from ${text} into ${targetOf(merge)}`
    }
    case 'squash':
      return `${title} (#${number})`
    case 'rebase':
      return hasBody ? await subjectOf(app, merge.repository.id, merge.head) : undefined
    case 'fast-forward-only':
      return undefined
  }
}

async function subjectOf(app: ReposApp, repositoryId: number, commitId: string): Promise<string> {
  const commit = await readCommit(app.git, repositoryId, commitId)
  return commit?.message.trim().split('\n')[0] ?? ''
}

async function readTemplate(
  app: ReposApp,
  { repository: { id, default_branch }, style }: CheckedMerge,
): Promise<string | undefined> {
  const path = TEMPLATES[style]
  const tip =
    path === undefined ? undefined : await readRef(app.git, id, `refs/heads/${default_branch}`)
  const commit = tip === undefined ? undefined : await readCommit(app.git, id, tip)
  if (path === undefined || !commit) return undefined
  const entry = await findEntry(app.git, id, commit.treeId, path)
  if (entry?.kind !== 'file') return undefined
  const file = await reading(readObject(app.git, id, entry.id, MAX_TEMPLATE_BYTES))
  return file?.content.toString()
}

/** Replaces the variables in a template. The first line of the result is the title. */
async function fill(app: ReposApp, merge: OpenMerge, template: string): Promise<Message> {
  const variables = await templateVariables(app, merge)
  const parts: string[] = []
  let end = 0
  for (const { 0: variable, 1: name = '', index } of template.matchAll(VARIABLE)) {
    parts.push(template.slice(end, index), (await variables.get(name)?.()) ?? '')
    end = index + variable.length
  }
  const text = [...parts, template.slice(end)].join('')
  const [title = '', ...rest] = clean({ title: text, message: '' }).title.split('\n')
  return clean({ title, message: rest.join('\n') })
}

/** The author and message of a squash commit. */
interface SquashText {
  readonly author: Signer
  readonly message: string
}

/**
 * Makes the poster the author of a squash commit. A default message credits the other authors of its
 * commits and their co-authors by `Co-authored-by` trailers, each once. A message of the caller is
 * the whole message.
 *
 * @param committer the Git identity of the caller.
 */
export async function creditAuthors(
  app: ReposApp,
  { caller, repository, pull, head, mergeBase, options }: CheckedMerge,
  committer: Signer,
  message: string,
): Promise<SquashText> {
  const { authors, coAuthors } = await reading(
    listAuthors(app.git, repository.id, head, mergeBase, MAX_CO_AUTHORS),
  )
  const written = new Set(authors.map(({ email }) => email.toLowerCase()))
  const people = [...authors, ...coAuthors.filter(({ email }) => !written.has(email.toLowerCase()))]
  const accounts = await findAccounts(
    app,
    people.map(({ email }) => email),
  )
  const isPoster = ({ email }: Author) => accounts.get(email)?.id === pull.poster_id
  const author =
    caller.user.id === pull.poster_id
      ? committer
      : await posterIdentity(app, pull, authors.find(isPoster)?.email)
  const given = clean(options)
  if (given.title !== '' || given.message !== '') return { author, message }
  const own = author.email.toLowerCase()
  const said = message.toLowerCase()
  const trailers = people.slice(0, MAX_CO_AUTHORS).flatMap((credited) => {
    const account = accounts.get(credited.email)
    const person =
      account?.keep_email_private === 1
        ? { ...credited, email: commitEmail(app, account) }
        : credited
    if (person.email.toLowerCase() === own || isPoster(credited)) return []
    if (said.includes(`<${person.email.toLowerCase()}>`)) return []
    const { name, email } = cleanSigner({ ...author, ...person })
    return `${CO_AUTHORED}${name} <${email}>\n`
  })
  if (trailers.length === 0) return { author, message }
  return { author, message: `${message}${TRAILERS.test(message) ? '' : '\n'}${trailers.join('')}` }
}

/** @param address of the poster as author of one of the commits; undefined for none. */
async function posterIdentity(
  app: ReposApp,
  { poster_id }: PullRequest,
  address: string | undefined,
): Promise<Signer> {
  const user = poster_id === null ? undefined : await findUserById(app.db, poster_id)
  const isShown = address !== undefined && user?.keep_email_private === 0
  if (user) return { ...publicIdentity(app, user), ...(isShown && { email: address }) }
  return {
    name: GHOST.name,
    email: noReplyAddress(app, GHOST),
    time: nowSeconds(app.clock),
    offsetMinutes: 0,
  }
}

/** The head of a pull request, without what only some users may read. */
interface TemplateHead {
  /** Undefined for the base repository, a deleted repository and a private one; so is `owner`. */
  readonly repository: Repository | undefined
  readonly owner: Owner | undefined
  readonly text: string
}

/** Approvers that a message names. */
const MAX_APPROVERS = 10

/** Returns the public name of the head of a pull request. */
async function headNameOf(
  app: ReposApp,
  { repository: base, pull }: OpenPull,
): Promise<TemplateHead> {
  const { head_repository_id: id, head_branch: branch } = pull
  const nameless = { repository: undefined, owner: undefined }
  if (pull.agit_topic !== null) {
    const poster = await findOwnerById(app.db, pull.poster_id ?? 0)
    return { ...nameless, text: `${poster?.name ?? GHOST.name}/${pull.agit_topic}` }
  }
  if (id === base.id) return { ...nameless, text: branch }
  const repository = id === null ? undefined : await findRepositoryById(app.db, id)
  const owner = repository && (await findOwnerById(app.db, repository.owner_id))
  if (!repository || !owner) return { ...nameless, text: `<deleted>:${branch}` }
  if (repository.private === 1 || owner.visibility !== 'public')
    return { ...nameless, text: branch }
  return { repository, owner, text: `${owner.name}/${repository.name}:${branch}` }
}

/**
 * Returns the variables of templates by name, as in compatible systems. A value is computed when
 * the template asks for it. `ClosingIssues` is always empty because there are no issues.
 */
async function templateVariables(
  app: ReposApp,
  merge: OpenMerge,
): Promise<ReadonlyMap<string, () => Promise<string> | string>> {
  const { repository, owner, pull } = merge
  const head = await headNameOf(app, merge)
  const isOfBase = pull.head_repository_id === repository.id
  return new Map<string, () => Promise<string> | string>([
    ['BaseRepoOwnerName', () => owner.name],
    ['BaseRepoName', () => repository.name],
    ['BaseBranch', () => targetOf(merge)],
    ['HeadRepoOwnerName', () => (isOfBase ? owner : head.owner)?.name ?? ''],
    ['HeadRepoName', () => (isOfBase ? repository : head.repository)?.name ?? ''],
    ['HeadBranch', () => (pull.agit_topic === null ? pull.head_branch : head.text)],
    ['PullRequestTitle', () => pull.title],
    ['PullRequestDescription', () => pull.body],
    ['PullRequestPosterName', () => posterName(app, merge)],
    ['PullRequestIndex', () => String(pull.number)],
    ['PullRequestReference', () => `#${pull.number}`],
    [
      'ReviewedOn',
      () => `Reviewed-on: ${app.publicUrl()}/${owner.name}/${repository.name}/pulls/${pull.number}`,
    ],
    ['ReviewedBy', () => reviewedBy(app, merge)],
    ['ClosingIssues', () => ''],
  ])
}

async function posterName({ db }: ReposApp, { pull }: OpenPull): Promise<string> {
  const poster = pull.poster_id === null ? undefined : await findOwnerById(db, pull.poster_id)
  return (poster ?? GHOST).name
}

/** Returns a line for each user whose approval counts. */
async function reviewedBy(app: ReposApp, merge: OpenMerge): Promise<string> {
  const rule = merge.rights.inForce?.rule
  const { approverIds } = await countApprovals(app, merge, merge.pull, rule)
  const users = await findUsersByIds(app.db, approverIds.slice(0, MAX_APPROVERS))
  const lines = approverIds.flatMap((id) => {
    const user = users.get(id)
    if (!user) return []
    const { name, email } = cleanSigner(publicIdentity(app, user))
    return `Reviewed-by: ${name} <${email}>`
  })
  return lines.join('\n')
}

/** The message that a merge in a style would write. */
interface ProposedMessage {
  readonly style: MergeStyle
  /** Empty if the commits keep their messages. */
  readonly title: string
  readonly message: string
}

/** The messages for the commits that a pull request has now. */
interface ProposedMessages {
  readonly head: string
  /** One for each style that the repository allows. */
  readonly messages: readonly ProposedMessage[]
}

/** Returns the messages that a merge by the caller would write if the caller gave none. */
export async function proposeMessages(
  app: ReposApp,
  caller: SignedIn,
  name: ConversationName,
): Promise<ProposedMessages> {
  const open = await openPull(app, caller, name, 'read')
  const { repository, pull } = open
  checkOpen(pull)
  const rights = await readMergeRights(app, caller, open, pull.base_branch)
  if (!rights.mayMerge) throw new DomainError('MERGE_DENIED')
  const base = (await readBranch(app, repository, pull.base_branch))?.commit_id
  if (base === undefined) throw notMergeable('ERROR')
  const head = await prepareHead(app, pull)
  const mergeBase = await reading(findMergeBase(app.git, repository.id, base, head))
  if (mergeBase === undefined) throw notMergeable('CONFLICT')
  const merge = { ...open, caller, rights, base, head, mergeBase, mustWait: false }
  const messages: ProposedMessage[] = []
  for (const style of allowedStyles(repository))
    messages.push(await proposeMessage(app, { ...merge, style, options: optionsOf(style) }))
  return { head, messages }
}

function notMergeable(mergeability: string): DomainError {
  return new DomainError('PULL_REQUEST_NOT_MERGEABLE', { mergeability })
}

/** A merge of which the caller has said nothing but the style. */
function optionsOf(style: MergeStyle): CheckedMerge['options'] {
  return {
    style,
    title: '',
    message: '',
    mergeCommitId: '',
    headCommitId: '',
    force: false,
    whenChecksSucceed: false,
    deleteBranch: undefined,
  }
}

async function proposeMessage(app: ReposApp, merge: CheckedMerge): Promise<ProposedMessage> {
  const { style, caller } = merge
  const own = (await mergeMessage(app, merge)) ?? ''
  const text =
    style === 'squash'
      ? (await creditAuthors(app, merge, gitIdentity(app, caller), own)).message
      : own
  const [title = '', ...rest] = text.split('\n')
  return { style, title, message: rest.join('\n').trim() }
}
