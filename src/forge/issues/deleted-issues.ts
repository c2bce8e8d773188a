import { findOwnerById } from '../accounts/users/owners.rows.ts'
import { GHOST } from '../accounts/users/owners.ts'
import { isLabelHere } from '../conversations/conversation-labels.ts'
import { findLabelsByIds } from '../conversations/labels.rows.ts'
import type { OpenRepository } from '../repositories/access/permissions.ts'
import type { ReposApp } from '../repositories/ports.ts'
import type { DeletedIssue } from './issue-changes.ts'
import type { IssueView } from './issue-views.ts'

/** Returns the view of a deleted issue, with the present poster and labels. It has no texts. */
export async function viewDeletedIssue(
  app: ReposApp,
  open: OpenRepository,
  id: number,
  { number, title, state, poster, labels }: DeletedIssue,
): Promise<IssueView> {
  const found = await findLabelsByIds(app.db, labels)
  return {
    open,
    issue: {
      id,
      repository_id: open.repository.id,
      is_pull: 0,
      number,
      poster_id: poster,
      title,
      content_version: 0,
      state,
      milestone_id: null,
      due_time: null,
      ref: '',
      comment_count: 0,
      reaction_count: 0,
      is_public: 1 - open.repository.private,
      change_count: 0,
      create_time: 0,
      update_time: 0,
      close_time: null,
      lock_reason: null,
      pin_order: null,
      state_reason: '',
      duplicate_of_id: null,
      original_author: '',
      original_name: '',
      original_author_id: 0,
      body: '',
    },
    poster: (poster === null ? undefined : await findOwnerById(app.db, poster)) ?? GHOST,
    labels: labels
      .flatMap((label) => found.get(label) ?? [])
      .filter((label) => isLabelHere(label, open)),
    milestone: undefined,
    assignees: [],
    duplicateOf: undefined,
    parent: undefined,
    subIssues: undefined,
    assets: [],
    isUnread: false,
  }
}
