import { transaction } from '../../../platform/database/database.ts'
import type { Caller, SignedIn } from '../../core/access.ts'
import { nowSeconds } from '../../core/core.ts'
import { DomainError, metadataList, metadataText } from '../../core/errors.ts'
import type { Page, RepositoryName } from '../../core/names.ts'
import { checkNotArchived, openRepository } from '../access/permissions.ts'
import type { ReposApp } from '../ports.ts'
import type { Topic as TopicRow } from '../schema.ts'
import * as rows from './topics.rows.ts'

export type Topic = TopicRow

/** The number of topics of one repository, as in compatible systems. */
const MAX_TOPICS = 25

const TOPIC = /^[a-z0-9][-.a-z0-9]{0,34}$/

/** The number of characters of a search text. Topics are shorter. */
const MAX_TEXT_CHARACTERS = 64

/** The bytes of invalid names that an error repeats. gRPC clients limit the size of metadata. */
const MAX_SHOWN_BYTES = 2048

/** A page of a list. */
interface TopicPage<T> {
  readonly topics: readonly T[]
  /** The number of topics on all pages. */
  readonly total: number
}

/** Returns a page of the topics of a repository, in alphabetical order. */
export async function listRepositoryTopics(
  app: ReposApp,
  caller: Caller,
  name: RepositoryName,
  page: Page,
): Promise<TopicPage<string>> {
  const { repository } = await openRepository(app, caller, name, 'none')
  const topics = await topicsOf(app.db, repository.id)
  return { topics: topics.slice(page.offset, page.offset + page.limit), total: topics.length }
}

/**
 * Replaces the topics of a repository.
 *
 * @param names are trimmed and converted to lower case. Empty names and duplicates are ignored.
 */
export async function replaceRepositoryTopics(
  app: ReposApp,
  caller: SignedIn,
  name: RepositoryName,
  names: readonly string[],
): Promise<void> {
  const repositoryId = await openForTopics(app, caller, name)
  const given = [...new Set(names.map(clean))].filter((topic) => topic !== '')
  const valid = new Set(given.filter(isTopic))
  if (valid.size > MAX_TOPICS)
    throw new DomainError('TOO_MANY_TOPICS', { limit: String(MAX_TOPICS) })
  const invalid = given.filter((topic) => !valid.has(topic))
  if (invalid.length > 0)
    throw new DomainError('INVALID_TOPICS', { topics: metadataList(invalid, MAX_SHOWN_BYTES) })
  await transaction(app.db, async (tx) => {
    const held = new Set(await topicsOf(tx, repositoryId))
    const added = [...valid].filter((topic) => !held.has(topic))
    const removed = [...held].filter((topic) => !valid.has(topic))
    await rows.attachTopics(tx, repositoryId, added, nowSeconds(app.clock))
    await rows.detachTopics(tx, repositoryId, removed)
  })
}

/** Adds a topic to a repository. */
export async function addRepositoryTopic(
  app: ReposApp,
  caller: SignedIn,
  name: RepositoryName,
  text: string,
): Promise<void> {
  const repositoryId = await openForTopics(app, caller, name)
  const topic = readTopic(text)
  await transaction(app.db, async (tx) => {
    const held = await topicsOf(tx, repositoryId)
    if (held.length >= MAX_TOPICS)
      throw new DomainError('TOPIC_LIMIT_REACHED', { limit: String(MAX_TOPICS) })
    if (!held.includes(topic))
      await rows.attachTopics(tx, repositoryId, [topic], nowSeconds(app.clock))
  })
}

/** Removes a topic from a repository. */
export async function removeRepositoryTopic(
  app: ReposApp,
  caller: SignedIn,
  name: RepositoryName,
  text: string,
): Promise<void> {
  const repositoryId = await openForTopics(app, caller, name)
  const topic = readTopic(text)
  await transaction(app.db, async (tx) => {
    const held = await topicsOf(tx, repositoryId)
    if (!held.includes(topic)) throw new DomainError('TOPIC_NOT_FOUND')
    await rows.detachTopics(tx, repositoryId, [topic])
  })
}

/**
 * Returns a page of the topics of public repositories that contain a text, most frequent first.
 * Case does not matter.
 *
 * @param text empty for all topics.
 */
export async function searchTopics(
  app: ReposApp,
  text: string,
  page: Page,
): Promise<TopicPage<Topic>> {
  const part = clean(text).slice(0, MAX_TEXT_CHARACTERS)
  return {
    topics: await rows.searchTopics(app.db, part, page.offset, page.limit),
    total: await rows.countTopics(app.db, part),
  }
}

async function openForTopics(
  app: ReposApp,
  caller: SignedIn,
  name: RepositoryName,
): Promise<number> {
  const { repository } = await openRepository(app, caller, name, 'admin')
  checkNotArchived(repository)
  return repository.id
}

async function topicsOf(db: ReposApp['db'], repositoryId: number): Promise<readonly string[]> {
  return (await rows.topicsOf(db, [repositoryId])).get(repositoryId) ?? []
}

function clean(text: string): string {
  return text.trim().toLowerCase()
}

function isTopic(text: string): boolean {
  return TOPIC.test(text)
}

function readTopic(text: string): string {
  const topic = clean(text)
  if (!isTopic(topic)) throw new DomainError('INVALID_TOPIC', { topic: metadataText(topic) })
  return topic
}
