import { sql } from 'kysely'
import type { Db } from '../../../platform/database/schema.ts'
import type { PullRequest } from '../schema.ts'

/** What identifies the pull request of a topic. */
interface TopicName {
  readonly repositoryId: number
  readonly posterId: number
  readonly base: string
  readonly topic: string
}

/** Returns the latest open pull request of a topic. */
export function findOpenTopic(
  db: Db,
  { repositoryId, posterId, base, topic }: TopicName,
): Promise<PullRequest | undefined> {
  return db
    .selectFrom('issues')
    .selectAll()
    .where('repository_id', '=', repositoryId)
    .where('poster_id', '=', posterId)
    .where('agit_topic', '=', topic)
    .where('base_branch', '=', base)
    .where('state', '=', sql.lit('OPEN' as const))
    .orderBy('id', 'desc')
    .limit(1)
    .executeTakeFirst()
}
