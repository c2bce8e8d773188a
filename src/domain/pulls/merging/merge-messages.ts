import { type Author, listAuthors } from '../../../git/history/authors.ts'
import { cleanSigner, readCommit } from '../../../git/objects/commits.ts'
import { readObject } from '../../../git/objects/objects.ts'
import type { Signer } from '../../../git/objects/signers.ts'
import { findEntry } from '../../../git/objects/trees.ts'
import { readRef } from '../../../git/refs/refs.ts'
import { findUserById } from '../../../storage/accounts/users.ts'
import type { PullRequest } from '../../../storage/schema/pulls.ts'
import type { MergeStyle, Repository } from '../../../storage/schema/repos.ts'
import { GHOST, noReplyAddress } from '../../accounts/users/owners.ts'
import type { SignedIn } from '../../core/access.ts'
import { nowSeconds } from '../../core/core.ts'
import type { ReposApp } from '../../repos/ports.ts'
import { findAccounts } from '../../repos/reading/commit-authors.ts'
import { commitEmail, publicIdentity } from '../../repos/reading/git-identity.ts'
import { reading } from '../../repos/reading/git-reading.ts'
import type { OpenPull } from '../access/open-pulls.ts'
import { headNameOf, templateVariables } from './merge-variables.ts'

/** What commits say that come of merges. */

/** What somebody wants a commit to say, without blanks around; empty for what is the default. */
export interface WantedMessage {
  readonly title: string
  readonly message: string
}

/**
 * Where repositories keep what merges say by default, on their default branch; in the words of
 * compatible systems.
 */
const TEMPLATES: Readonly<Partial<Record<MergeStyle, string>>> = {
  merge: '.gitea/default_merge_message/MERGE_TEMPLATE.md',
  rebase: '.gitea/default_merge_message/REBASE_TEMPLATE.md',
  'rebase-merge': '.gitea/default_merge_message/REBASE-MERGE_TEMPLATE.md',
  squash: '.gitea/default_merge_message/SQUASH_TEMPLATE.md',
}

/** Read of a template. */
const MAX_TEMPLATE_BYTES = 5 * 1024

/** Authors beside the poster that a squashed commit names. */
const MAX_CO_AUTHORS = 50

/** Places in a template for what it does not know. */
const PLACES = /\$\{([A-Za-z]+)\}/g

const CO_AUTHORED = 'Co-authored-by: '

/** A last paragraph by which others are credited already (git-interpret-trailers(1)). */
const TRAILERS = /\n\n(?:[A-Za-z0-9-]+: [^\n]*(?:\n|$))+$/

/**
 * The message of the commit that a merge makes, or by which a rebase ends; undefined where that
 * keeps its own.
 *
 * @param head id of the commit that is merged.
 * @throws SERVER_BUSY, GIT_TIMEOUT
 */
export async function mergeMessage(
  app: ReposApp,
  open: OpenPull,
  style: MergeStyle,
  head: string,
  wanted: WantedMessage,
): Promise<string | undefined> {
  const { title, message } = clean(wanted)
  const template = title === '' ? await readTemplate(app, open.repository, style) : undefined
  const given =
    template === undefined ? { title, message: '' } : await filledIn(app, open, template)
  const body = message || given.message
  const ownTitle =
    given.title || (await defaultTitle(app, open, style, body === '' ? undefined : head))
  return ownTitle === undefined
    ? undefined
    : `${[ownTitle, ...(body === '' ? [] : [body])].join('\n\n')}\n`
}

/** Git ends a message where a null byte is, and ends lines in one way. */
function clean({ title, message }: WantedMessage): WantedMessage {
  const cleaned = (text: string) => text.replaceAll('\0', '').replaceAll('\r\n', '\n').trim()
  return { title: cleaned(title), message: cleaned(message) }
}

/** @param reworded the commit whose message a rebase changes, if it changes one at all. */
async function defaultTitle(
  app: ReposApp,
  open: OpenPull,
  style: MergeStyle,
  reworded: string | undefined,
): Promise<string | undefined> {
  const { title, number, base_branch } = open.pull
  switch (style) {
    case 'merge':
    case 'rebase-merge':
      return `Merge pull request '${title}' (#${number}) from ${(await headNameOf(app, open)).text} into ${base_branch}`
    case 'squash':
      return `${title} (#${number})`
    case 'rebase':
      return reworded && (await subjectOf(app, open.repository.id, reworded))
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
  { id, default_branch }: Repository,
  style: MergeStyle,
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

/** A template with what it has places for: the first line is the title. */
async function filledIn(app: ReposApp, open: OpenPull, template: string): Promise<WantedMessage> {
  const variables = await templateVariables(app, open)
  const parts: string[] = []
  let end = 0
  for (const { 0: place, 1: name = '', index } of template.matchAll(PLACES)) {
    parts.push(template.slice(end, index), (await variables.get(name)?.()) ?? '')
    end = index + place.length
  }
  const text = [...parts, template.slice(end)].join('')
  const [title = '', ...rest] = clean({ title: text, message: '' }).title.split('\n')
  return clean({ title, message: rest.join('\n') })
}

/** Who a squashed commit is by, and what it says. */
export interface SquashedText {
  readonly author: Signer
  readonly message: string
}

/** The commits that a squash combines. */
export interface Squash {
  readonly committer: Signer
  readonly range: { readonly head: string; readonly mergeBase: string }
  readonly message: string
}

/**
 * Gives credit in a squashed commit, which is by whoever has opened the pull request: to those who
 * have written commits of it beside, and to those whom these credit by `Co-authored-by` trailers;
 * each once.
 *
 * @param committer how Git is to name the caller.
 * @param range ids of commits: what is merged, and where it left the base.
 * @throws SERVER_BUSY, GIT_TIMEOUT
 */
export async function giveCredit(
  app: ReposApp,
  { user: { id: callerId } }: SignedIn,
  { repository, pull }: OpenPull,
  { committer, range, message }: Squash,
): Promise<SquashedText> {
  const { head, mergeBase } = range
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
    callerId === pull.poster_id
      ? committer
      : await posterIdentity(app, pull, authors.find(isPoster)?.email)
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

/**
 * @param address by which the poster has written a commit of the pull request; undefined for none.
 */
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
