import { transaction } from '../../platform/database/database.ts'
import type { Tx } from '../../platform/database/schema.ts'
import { findUserById } from '../accounts/users/users.rows.ts'
import { findConversation } from '../conversations/conversations.rows.ts'
import type { NewTimelineEntry } from '../conversations/schema.ts'
import { recordLateReference } from '../conversations/text-references.ts'
import { insertTimelineEntries } from '../conversations/timeline.rows.ts'
import type { SignedIn } from '../core/access.ts'
import type { ReposApp } from '../repositories/ports.ts'
import type { Repository } from '../repositories/schema.ts'
import { storeLink } from './imported-links.ts'
import { deleteWait, type EndedWait, endedWaits } from './imported-waits.rows.ts'
import * as rows from './issue-exchange.rows.ts'

/** What one transaction completes. */
const BATCH = 20

/** The import that brought the issues. */
interface EndingImport {
  readonly id: number
  readonly importer: SignedIn
  readonly repository: Pick<Repository, 'id' | 'owner_id'>
}

/**
 * Completes events, links and references that waited for the issues of an import. Each is completed in the
 * transaction that forgets that it waits.
 */
export async function completeWaits(app: ReposApp, ending: EndingImport): Promise<void> {
  const completeSome = async (tx: Tx): Promise<boolean> => {
    const found = await rows.importById(tx, ending.id)
    if (!found) return false
    const waits = await endedWaits(tx, found, rows.importedIds(found), BATCH)
    for (const wait of waits)
      if (await deleteWait(tx, wait.id)) {
        await complete(app, tx, ending, wait)
        await rows.removeProblem(tx, wait.import_id, wait.problem)
      }
    return waits.length === BATCH
  }
  while (await transaction(app.db, completeSome));
}

async function complete(
  app: ReposApp,
  tx: Tx,
  { importer, repository }: EndingImport,
  wait: EndedWait,
): Promise<void> {
  const { issue_id: id, target_id, import_id } = wait
  if (wait.kind === 'event') {
    // `storeEvents` wrote the text.
    const entry = JSON.parse(wait.entry) as NewTimelineEntry
    const actor = entry.actor_id == null ? undefined : await findUserById(tx, entry.actor_id)
    const actor_id = actor?.id ?? null
    return insertTimelineEntries(tx, [{ ...entry, actor_id, source_id: target_id }])
  }
  const [conversation, target] = [
    await findConversation(tx, id),
    await findConversation(tx, target_id),
  ]
  if (!conversation || !target) return
  if (wait.kind !== 'text') {
    const problems: string[] = []
    const leftOut = (message: string) => {
      problems.push(`issue ${conversation.number}: ${message}`)
    }
    const isClosed = conversation.state === 'CLOSED'
    const here = { isPull: target.is_pull === 1, isWritable: true, ownerId: repository.owner_id }
    await storeLink(tx, { id, repository, isClosed, leftOut }, wait.kind, {
      ...here,
      id: target_id,
    })
    return rows.addProblems(tx, import_id, problems)
  }
  const comments = wait.comment_id === null ? [] : await rows.commentsOfIssues(tx, [id])
  const text =
    wait.comment_id === null ? conversation : comments.find((one) => one.id === wait.comment_id)
  if (!text) return
  const { poster_id: writer_id, create_time } = text
  const commentId = wait.comment_id ?? undefined
  const source = { conversation, ...(commentId !== undefined && { commentId }), text }
  await recordLateReference(app, tx, importer, source, { target_id, writer_id, create_time })
}
