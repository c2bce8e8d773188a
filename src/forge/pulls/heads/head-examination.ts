import { transaction } from '../../../platform/database/database.ts'
import { listRefs, updateRefs } from '../../../platform/git/refs/refs.ts'
import type { ReposApp } from '../../repositories/ports.ts'
import { type HeadRef, listHeadRefs, putHeadRef } from './pull-heads.rows.ts'
import { headRefOf, prepareHead } from './pull-heads.ts'
import { findPullRequestById } from './pull-requests.rows.ts'

/** A problem of the head ref of a pull request. */
export interface HeadProblem {
  /** Description for operators. */
  readonly text: string
  /** Makes the ref agree with the row. No other process may use the data folder meanwhile. */
  repair(): Promise<void>
}

/** Prefix of the refs. */
const PULLS = 'refs/pull/'

/** Maximum number of reported problems. */
const MAX_PROBLEMS = 100

/**
 * Compares the head refs of the pull requests of a repository with their rows. A ref that its row
 * marks as behind is not a problem, since it will be updated.
 */
export async function examineHeads(app: ReposApp, repositoryId: number): Promise<HeadProblem[]> {
  const held = new Map<string, string>()
  for await (const { name, id } of listRefs(app.git, repositoryId, [PULLS])) held.set(name, id)
  const problems: HeadProblem[] = []
  for (const head of await listHeadRefs(app.db, repositoryId)) {
    const name = headRefOf(head)
    const objectId = held.get(name)
    held.delete(name)
    if (head.head_ref_commit !== head.head_commit || objectId === head.head_commit) continue
    problems.push({
      text: `${name} is ${objectId ?? 'missing'} in Git and ${head.head_commit} in the database`,
      repair: () => remake(app, head, objectId),
    })
  }
  for (const [name, id] of held) {
    const repair = () => updateRefs(app.git, repositoryId, [{ name, from: id, to: undefined }])
    problems.push({ text: `${name} belongs to no pull request`, repair })
  }
  return problems.slice(0, MAX_PROBLEMS)
}

async function remake(app: ReposApp, { id }: HeadRef, objectId: string | undefined): Promise<void> {
  await transaction(app.db, (tx) => putHeadRef(tx, id, objectId ?? null))
  const pull = await findPullRequestById(app.db, id)
  if (pull) await prepareHead(app, pull)
}
