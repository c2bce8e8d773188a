import type { Db } from '../../platform/database/schema.ts'
import type { IssueComment, IssueReaction, Label, Milestone } from '../conversations/schema.ts'
import type { PullRequest, Review, ReviewComment } from '../pulls/schema.ts'
import type { Release, ReleaseAsset } from '../repositories/releases/schema.ts'

/** Returns the labels of a repository and of the organisation that owns it, by name. */
export function labelsOfProject(
  db: Db,
  repositoryId: number,
  organizationId: number | null,
): Promise<Label[]> {
  return (
    db
      .selectFrom('labels')
      .selectAll()
      .where((eb) =>
        eb.or([eb('repository_id', '=', repositoryId), eb('organization_id', '=', organizationId)]),
      )
      .orderBy('name')
      // A label of the repository precedes one of the organisation with the same name.
      .orderBy('organization_id', (order) => order.asc().nullsFirst())
      .orderBy('id')
      .execute()
  )
}

export function milestonesOfProject(db: Db, repositoryId: number): Promise<Milestone[]> {
  return db
    .selectFrom('milestones')
    .selectAll()
    .where('repository_id', '=', repositoryId)
    .orderBy('create_time')
    .orderBy('id')
    .execute()
}

/** Returns issues or pull requests of a repository with numbers above one, by number. */
export function conversationsAfter(
  db: Db,
  repositoryId: number,
  { isPull, after }: { readonly isPull: 0 | 1; readonly after: number },
  limit: number,
): Promise<PullRequest[]> {
  return db
    .selectFrom('issues')
    .selectAll()
    .where('repository_id', '=', repositoryId)
    .where('is_pull', '=', isPull)
    .where('number', '>', after)
    .orderBy('number')
    .limit(limit)
    .execute()
}

/** Returns the comments of conversations, oldest first. */
export function exportedComments(db: Db, ids: readonly number[]): Promise<IssueComment[]> {
  return db
    .selectFrom('issue_comments')
    .selectAll()
    .where('issue_id', 'in', ids)
    .orderBy('create_time')
    .orderBy('id')
    .execute()
}

/** Returns the reactions to conversations and to their comments, in an order that imports keep. */
export function exportedReactions(db: Db, ids: readonly number[]): Promise<IssueReaction[]> {
  return db
    .selectFrom('issue_reactions')
    .selectAll()
    .where('issue_id', 'in', ids)
    .orderBy('content')
    .orderBy('user_id')
    .execute()
}

/** Returns the numbers on which conversations depend, with the ids of those. */
export function dependenciesOf(
  db: Db,
  ids: readonly number[],
): Promise<{ issue_id: number; number: number }[]> {
  return db
    .selectFrom('issue_dependencies')
    .innerJoin('issues as other', 'other.id', 'issue_dependencies.depends_on_id')
    .innerJoin('issues as one', 'one.id', 'issue_dependencies.issue_id')
    .whereRef('other.repository_id', '=', 'one.repository_id')
    .where('issue_dependencies.issue_id', 'in', ids)
    .select(['issue_dependencies.issue_id as issue_id', 'other.number as number'])
    .orderBy('other.number')
    .execute()
}

/** Returns the submitted reviews of pull requests, oldest first. */
export function reviewsOf(db: Db, ids: readonly number[]): Promise<Review[]> {
  return db
    .selectFrom('reviews')
    .selectAll()
    .where('pull_request_id', 'in', ids)
    .where('state', 'in', ['APPROVED', 'REQUEST_CHANGES', 'COMMENT'])
    .orderBy('create_time')
    .orderBy('id')
    .execute()
}

/** Returns the comments on lines of reviews, oldest first. */
export function lineCommentsOf(db: Db, reviewIds: readonly number[]): Promise<ReviewComment[]> {
  return db
    .selectFrom('review_comments')
    .selectAll()
    .where('review_id', 'in', reviewIds)
    .orderBy('id')
    .execute()
}

/** Returns the releases of a repository, oldest first. */
export function releasesOfProject(
  db: Db,
  repositoryId: number,
  withDrafts: boolean,
): Promise<Release[]> {
  return db
    .selectFrom('releases')
    .selectAll()
    .where('repository_id', '=', repositoryId)
    .where('tag_only', '=', 0)
    .where('draft', 'in', withDrafts ? [0, 1] : [0])
    .orderBy('create_time')
    .orderBy('id')
    .execute()
}

/** Returns the files of releases, oldest first. */
export function assetsOf(db: Db, releaseIds: readonly number[]): Promise<ReleaseAsset[]> {
  return db
    .selectFrom('release_assets')
    .selectAll()
    .where('release_id', 'in', releaseIds)
    .orderBy('id')
    .execute()
}
