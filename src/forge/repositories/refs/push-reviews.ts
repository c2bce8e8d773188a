import type { RefUpdate } from '../../../platform/git/core/ref-names.ts'
import type { PushQuestion } from '../../../platform/git/hooks/push-review.ts'
import { findLargeText, MAX_COMMIT_BYTES } from '../../../platform/git/objects/large-texts.ts'
import type { PackRequest } from '../../../platform/git/packs/pack-services.ts'
import { repositoryPath } from '../../../platform/git/repositories/repositories.ts'
import type { SignedIn } from '../../core/access.ts'
import { DomainError } from '../../core/errors.ts'
import type { ReposApp } from '../ports.ts'
import { isReserved, judgeName, reviewUpdates } from './ref-review.ts'

/**
 * The review of a push. The server refuses a push as a whole, except for refs that the client cannot
 * fix, since they are those of another server: refs in namespaces of the server, invalid names, and
 * names beside which another one exists. Git refuses these one by one, so that a mirror of any
 * repository can be pushed.
 */

/** Refusals that the output of one push shows. */
const MAX_SHOWN_REFUSALS = 50

/** Longest refused names, together. Git passes them to its hooks in a variable, quoted. */
const MAX_NAMES_BYTES = 16 * 1024

/**
 * The names that Git and the server read in the same way. Others are no valid UTF-8, or have
 * characters that divide the lines of hooks.
 */
const PLAIN = /^refs\/[^\p{Cc} \ufffd]+$/u

/** Returns the invalid names among the commands of a push, which Git must refuse one by one. */
export function refusedNames({ commands }: PackRequest): ReadonlySet<string> {
  const names = new Set<string>()
  let bytes = 0
  for (const name of commands?.names ?? []) {
    if (isReserved(name) || !PLAIN.test(name) || !judgeName(name)) continue
    bytes += Buffer.byteLength(name)
    if (bytes > MAX_NAMES_BYTES) break
    names.add(name)
  }
  return names
}

/** A push under review. */
export interface ReviewedPush {
  readonly question: PushQuestion
  /** Result of `refusedNames`. */
  readonly refused: ReadonlySet<string>
  /** Whether all refs move or none. */
  readonly isAtomic: boolean
}

/** The result of a review. */
export interface PushReview {
  /** The updates that Git may make. Undefined when the whole push is refused. */
  readonly allowed: readonly RefUpdate[] | undefined
  /** Texts of the refusals. */
  readonly texts: readonly string[]
}

/** Reviews a push by the current state and rules. */
export async function reviewPush(
  app: ReposApp,
  caller: SignedIn,
  repositoryId: number,
  { question, refused, isAtomic }: ReviewedPush,
): Promise<PushReview> {
  try {
    // A push that only deletes refs has no quarantine.
    const large =
      question.quarantine &&
      (await findLargeText(
        app.git.processes,
        repositoryPath(app.git, repositoryId),
        question.quarantine,
      ))
    if (large) return whole(`${large} is a commit or tag of more than ${MAX_COMMIT_BYTES} bytes`)
    const [single, updates] = partition(
      question.updates,
      ({ name }) => isReserved(name) || refused.has(name),
    )
    const refusals = await reviewUpdates(app, caller, repositoryId, { ...question, updates })
    // Git finds collisions itself, by the order of the commands.
    const [collisions, others] = partition(
      refusals,
      ({ reason }) => reason === 'REF_NAME_COLLISION',
    )
    const texts = shown([
      ...others.map(({ text }) => text),
      ...single.flatMap(({ name }) => judgeName(name)?.text ?? []),
      ...collisions.map(({ text }) => text),
    ])
    const isWhole = others.length > 0 || (isAtomic && texts.length > 0)
    return { allowed: isWhole ? undefined : updates, texts }
  } catch (error) {
    if (!(error instanceof DomainError)) throw error
    if (error.reason === 'SERVER_BUSY') return whole('the server is busy: push again later')
    if (error.reason === 'GIT_TIMEOUT')
      return whole('checking the push took longer than the server allows')
    // The permission of the caller has ended since the push began.
    return whole('User permission denied for writing.')
  }
}

function whole(text: string): PushReview {
  return { allowed: undefined, texts: [text] }
}

/** Returns distinct texts, and the number of those that are left out. */
function shown(refusals: readonly string[]): string[] {
  const texts = [...new Set(refusals)]
  const more = texts.length - MAX_SHOWN_REFUSALS
  return more > 0 ? [...texts.slice(0, MAX_SHOWN_REFUSALS), `and ${more} more`] : texts
}

function partition<T>(items: readonly T[], test: (item: T) => boolean): [T[], T[]] {
  const [yes, no]: [T[], T[]] = [[], []]
  for (const item of items) (test(item) ? yes : no).push(item)
  return [yes, no]
}
