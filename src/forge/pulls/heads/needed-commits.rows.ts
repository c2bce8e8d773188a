import type { Db } from '../../../platform/database/schema.ts'

/**
 * Returns the commits that pull requests of a base repository name, with those of their reviews, of
 * their comments on lines, of their running merges and of the merge queues. A prune must not remove
 * them.
 */
export async function commitsOfPulls(db: Db, repositoryId: number): Promise<Set<string>> {
  const [pulls, reviews, comments, merges, groups, entries] = await Promise.all([
    db
      .selectFrom('issues')
      .select(['head_commit', 'head_ref_commit', 'merge_commit', 'merge_base', 'counted_base'])
      .where('repository_id', '=', repositoryId)
      .where('is_pull', '=', 1)
      .execute(),
    db
      .selectFrom('reviews')
      .innerJoin('issues', 'issues.id', 'reviews.pull_request_id')
      .where('issues.repository_id', '=', repositoryId)
      .select(['reviews.commit_id', 'reviews.merge_base', 'compared_head', 'compared_base'])
      .execute(),
    db
      .selectFrom('review_comments')
      .innerJoin('reviews', 'reviews.id', 'review_comments.review_id')
      .innerJoin('issues', 'issues.id', 'reviews.pull_request_id')
      .where('issues.repository_id', '=', repositoryId)
      .select(['review_comments.commit_id', 'original_commit_id'])
      .execute(),
    db
      .selectFrom('pull_merge_attempts')
      .innerJoin('issues', 'issues.id', 'pull_merge_attempts.pull_request_id')
      .where('issues.repository_id', '=', repositoryId)
      .select(['pull_merge_attempts.head_commit', 'pull_merge_attempts.merge_commit'])
      .execute(),
    db
      .selectFrom('merge_queue_groups')
      .select(['base_commit', 'head_commit'])
      .where('repository_id', '=', repositoryId)
      .where('end_time', 'is', null)
      .execute(),
    db
      .selectFrom('merge_queue_entries')
      .innerJoin('merge_queues', 'merge_queues.id', 'merge_queue_entries.queue_id')
      .where('merge_queues.repository_id', '=', repositoryId)
      .where('leave_time', 'is', null)
      .select(['head_commit', 'candidate_commit', 'merge_base'])
      .execute(),
  ])
  const ids: (string | null)[] = [pulls, reviews, comments, merges, groups, entries].flatMap(
    (rows) => rows.flatMap((row) => Object.values(row)),
  )
  return new Set(ids.flatMap((id) => id || []))
}
