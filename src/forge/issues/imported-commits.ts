import type { Tx } from '../../platform/database/schema.ts'
import { readCommits } from '../../platform/git/history/history.ts'
import { referencesByChange } from '../conversations/reference-work.rows.ts'
import { insertReferences } from '../conversations/references.rows.ts'
import { metadataText } from '../core/errors.ts'
import type { ReposApp } from '../repositories/ports.ts'
import { changeKeyOf, MAX_COMMIT_BYTES } from './commit-changes.ts'
import type { ImportRecord } from './import-records.ts'
import { accountOf, type Users } from './imported-issues.ts'
import type { ImportedIssue } from './imported-links.ts'

/** The commits of a request that are read. */
const MAX_COMMITS = 1_000

/** Bounds the memory of the commits, which are those of a client. */
const BATCH = 50
const MAX_BATCH_BYTES = 1024 * 1024

/** The keys of changes by the ids of commits that the repository has. */
export type KnownCommits = ReadonlyMap<string, string>

/** Finds the commits that the events of records name. */
export async function findNamedCommits(
  app: ReposApp,
  repositoryId: number,
  records: readonly ImportRecord[],
): Promise<KnownCommits> {
  const named = records.flatMap((record) => commitEventsOf(record).map(commitOf))
  const ids = [...new Set(named)].filter((id) => ID.test(id)).slice(0, MAX_COMMITS)
  const known = new Map<string, string>()
  for (let i = 0; i < ids.length; i += BATCH) {
    const batch = ids.slice(i, i + BATCH)
    const commits = await readCommits(app.git, repositoryId, batch, MAX_COMMIT_BYTES, {
      maxBytesTogether: MAX_BATCH_BYTES,
    })
    for (const commit of commits.values()) known.set(commit.id, changeKeyOf(commit))
  }
  return known
}

/** Stores the references of commits to an imported issue. Those of commits that are not here are left out. */
export async function storeCommitReferences(
  tx: Tx,
  { id: target_id, repository, record, leftOut }: ImportedIssue,
  users: Users,
  commits: KnownCommits,
  now: number,
): Promise<void> {
  for (const event of commitEventsOf(record)) {
    const commit_id = commitOf(event)
    const change_key = commits.get(commit_id)
    if (change_key === undefined) {
      leftOut(`commit ${metadataText(commit_id)} is not here`)
      continue
    }
    // A push may have brought the commit or a copy of it.
    const known = await referencesByChange(tx, repository.id, change_key, [target_id])
    if (known.length > 0) continue
    const reference = {
      target_id,
      type: 'commit_ref',
      repository_id: repository.id,
      source_id: null,
      comment_id: null,
      commit_id,
      change_key,
      action: 'none',
      writer_id: accountOf(users, event.part('actor')) ?? null,
      create_time: event.time('created_at') ?? now,
    } as const
    await insertReferences(tx, [reference])
  }
}

const ID = /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/

function commitEventsOf(record: ImportRecord): ImportRecord[] {
  return record.parts('timeline').filter((event) => event.text('type') === 'commit_ref')
}

const commitOf = (event: ImportRecord) => event.text('ref_commit_sha')
