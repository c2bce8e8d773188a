import { sql } from 'kysely'
import type { Db, Tx } from '../../platform/database/schema.ts'
import type { Conversation, ConversationMessage } from './schema.ts'

/** A webhook and its account. */
export interface OwnedWebhook {
  readonly id: number
  readonly user_id: number
}

/**
 * Lists the enabled webhooks of the users that a change of a conversation concerns: the owner of
 * the repository, the poster, the assignees and the requested reviewers. Each webhook is listed
 * once.
 */
export function listWebhooksAbout(
  tx: Tx,
  { id, repository_id }: Pick<Conversation, 'id' | 'repository_id'>,
): Promise<OwnedWebhook[]> {
  return tx
    .selectFrom('user_webhooks')
    .select(['id', 'user_id'])
    .where('scope', '=', 'account')
    .where('disabled', '=', 0)
    .where('user_id', 'in', (eb) =>
      eb
        .selectFrom('repositories')
        .select('owner_id as concerned_id')
        .where('id', '=', repository_id)
        .union(
          eb
            .selectFrom('issues')
            .select((of) => of.ref('poster_id').$notNull().as('concerned_id'))
            .where('id', '=', id)
            .where('poster_id', 'is not', null),
        )
        .union(
          eb
            .selectFrom('issue_assignees')
            .select('issue_assignees.user_id as concerned_id')
            .where('issue_id', '=', id),
        )
        .union(
          eb
            .selectFrom('reviews')
            .select((of) => of.ref('reviewer_id').$notNull().as('concerned_id'))
            .where('pull_request_id', '=', id)
            // A literal, because it is the condition of the partial index.
            .where(sql<boolean>`state = 'REQUEST_REVIEW'`)
            .where('reviewer_id', 'is not', null),
        ),
    )
    .orderBy('id')
    .execute()
}

/** Stores the subject of a message. */
export async function insertConversationMessage(
  tx: Tx,
  message: ConversationMessage,
): Promise<void> {
  await tx.insertInto('issue_messages').values(message).execute()
}

/** Returns the subject of a message. Undefined for a message that contains everything. */
export function findConversationMessage(
  db: Db,
  messageId: number,
): Promise<ConversationMessage | undefined> {
  return db
    .selectFrom('issue_messages')
    .selectAll()
    .where('message_id', '=', messageId)
    .executeTakeFirst()
}
