import { insertIssueComment } from '../../src/forge/conversations/issue-comments.rows.ts'
import type { Conversation, IssueComment } from '../../src/forge/conversations/schema.ts'
import { type IssueChange, recordIssueChange } from '../../src/forge/issues/issue-changes.ts'
import { changeWatched } from '../../src/forge/repositories/activity/repository-events.ts'
import { addIssue } from './forge-rows.ts'
import { pullForge } from './pull-forge.ts'
import type { Actor, TestServer } from './server.ts'

/** What stories about that which follows a change of an issue do with a server. */
export function issueForge(server: TestServer) {
  const { app } = server
  const forge = pullForge(server)
  const idOf = async ({ username }: Pick<Actor, 'username'>): Promise<number> => {
    const { id } = await app.db
      .selectFrom('users')
      .select('id')
      .where('username', '=', username)
      .executeTakeFirstOrThrow()
    return id
  }
  /** Makes a change, and records it. */
  const change = async (
    who: Actor | undefined,
    issue: Conversation,
    told: IssueChange,
    columns: Partial<Pick<Conversation, 'title' | 'state' | 'body'>> = {},
  ): Promise<Conversation> => {
    const actorId = who && (await idOf(who))
    return changeWatched(app, async (tx) => {
      const changed =
        Object.keys(columns).length === 0
          ? issue
          : await tx
              .updateTable('issues')
              .set(columns)
              .where('id', '=', issue.id)
              .returningAll()
              .executeTakeFirstOrThrow()
      await recordIssueChange(app, tx, actorId, changed, told)
      return changed
    })
  }
  return {
    ...forge,
    /** Makes a commit on a branch. */
    commit: forge.change,
    idOf,
    change,
    /** Makes a repository with issues. */
    async repository(who: Actor, name: string, fields: object = {}) {
      const made = await forge.repository(who, name, fields)
      await forge.ask(who, 'PATCH', made.path, { has_issues: true })
      return made
    },
    /** Opens an issue. */
    async open(
      who: Actor,
      repositoryId: number,
      fields: Partial<Pick<Conversation, 'title' | 'body'>> = {},
      mentioned: readonly string[] = [],
    ): Promise<Conversation> {
      const posterId = await idOf(who)
      return changeWatched(app, async (tx) => {
        const issue = await addIssue(tx, {
          repository_id: repositoryId,
          poster_id: posterId,
          ...fields,
        })
        await tx
          .insertInto('issue_participants')
          .values({ issue_id: issue.id, user_id: posterId, seen: 0 })
          .execute()
        await recordIssueChange(app, tx, posterId, issue, {
          type: 'ISSUE_OPENED',
          told: [{ type: 'issues', action: 'opened' }],
          concerns: { everybody: true, mentioned },
        })
        return issue
      })
    },
    close: (who: Actor, issue: Conversation): Promise<Conversation> =>
      change(
        who,
        issue,
        { type: 'ISSUE_CLOSED', told: [{ type: 'issues', action: 'closed' }] },
        { state: 'CLOSED' },
      ),
    /** Adds a comment. */
    async comment(
      who: Actor,
      issue: Conversation,
      body: string,
      mentioned: readonly string[] = [],
    ): Promise<IssueComment> {
      const posterId = await idOf(who)
      return changeWatched(app, async (tx) => {
        const { id: issue_id, repository_id } = issue
        const times = { create_time: 0, update_time: 0 }
        const comment = await insertIssueComment(tx, {
          issue_id,
          repository_id,
          poster_id: posterId,
          body,
          ...times,
        })
        await recordIssueChange(app, tx, posterId, issue, {
          type: 'ISSUE_COMMENTED',
          told: [{ type: 'issue_comment', action: 'created', comment: comment.id }],
          concerns: { everybody: true, mentioned, comment: comment.id },
        })
        return comment
      })
    },
    /** Deletes an issue. */
    async remove(who: Actor, issue: Conversation): Promise<void> {
      const actorId = await idOf(who)
      await changeWatched(app, async (tx) => {
        const told = [{ type: 'issues', action: 'deleted' } as const]
        await recordIssueChange(app, tx, actorId, issue, { type: 'ISSUE_DELETED', told })
        await tx.deleteFrom('issues').where('id', '=', issue.id).execute()
      })
    },
  }
}
